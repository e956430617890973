// Package native is the Executor that works with tools: an agent loop over a
// provider.
//
// Holds: Executor, which sends the conversation, runs the tools that the model
// calls, gives the results back, and goes on until the model answers; compaction
// of a conversation that outgrows its model; the questions about calls that a
// person has to allow or that a crash left open.
//
// Guarantees: each response is the memo of a call and each result of a tool the
// memo of a step, so a turn that is run again goes on where it was: nothing settled
// is sent or done twice, and the same turn makes byte-identical requests. Read tools
// that stand beside each other in a response run at the same time, everything else
// one after the other; results are given back in the order of the calls. A write
// that a crash left open is decided by the files, and by a person where they do not
// tell. Nothing runs on when Execute has returned.
//
// Does not: keep sessions, honour Turn.Thinking, or retry a call that failed. Tools
// end when their context does: one that does not delays the end of the turn.
package native
