// Package engine drives Programs over a Store: the local driver.
//
// Holds: the Engine with its doors (Start, Drive, Send, Fork, Inspect), the
// loop of one owned run, the pieces' Context, and the execution of calls.
//
// Guarantees: one goroutine at a time folds a run; what a batch of results leads
// to is one append; effects start only after the append that admits them (a turn
// that only reads begins before it, and waits for it with its first call); a
// settled call is never sent again; an append that fails throws the run's memory
// away, never its history.
//
// Does not: decide what follows (Programs), when it may start (admission),
// where it is kept (store), or what a piece does.
package engine
