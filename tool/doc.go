// Package tool is the contract of the tools that a model may call.
//
// Holds: Tool, what a tool declares and does; Call, Result and Change, what goes
// in and what comes out; Fence, all that a tool may ask about files; Set, the
// closed registry that runs calls; the errors that a model or a person can act on.
//
// Guarantees: a Set runs a call in one order only: arguments are read as the tool
// reads them, checked against its closed schema, judged by the fence, and then the
// tool runs with the place that was judged. A tool that writes announces each
// Change, with the digests before and after, before anything of it can be seen.
// Text for the model is bounded and says the true sizes.
//
// Does not: decide about paths (the Fence does), keep a journal, or ask a person:
// it gives the engine what it needs for that.
package tool
