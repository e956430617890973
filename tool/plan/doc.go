// Package plan holds the tools that change no file of the work: todo_write,
// memory, ask, submit, task and workflow.
//
// Holds: the tools; the list of an agent's own tasks; how a schema of an answer
// becomes the arguments of submit.
//
// Guarantees: what a person answers fits the question; an answer of submit fits
// its schema; running a call again after a crash does no harm.
//
// Does not: keep the list (it is in the result, and the journal keeps that), decide
// when a turn ends, or how often an answer is asked for again.
package plan
