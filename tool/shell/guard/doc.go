// Package guard puts back what a command changed in places that run code later.
//
// Holds: Guard, the guarded places of one work tree and what stood there when the
// first command began; Change, one file that differs since.
//
// Guarantees: while a command runs, what stood before is on disk too, so a process
// that dies loses it not: the next one puts back first. A person's file is never
// lost: what is put aside stays in Config.Aside. Links are not followed. What is made
// again has the content, the mode and the target that it had.
//
// Does not: keep a command from writing (nothing on Linux closes a place below an
// open one), judge (the caller does), or look at other places. Two processes that run
// commands in one work tree share what stood before.
package guard
