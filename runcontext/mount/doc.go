// Package mount makes the workspace of a turn on this machine, as a plan says.
//
// Holds: the survey of sources, staging, the swap into place, and the check that a
// workspace is still what it was.
//
// Guarantees: a workspace is there wholly or not at all, whenever the process
// ends. What is digested is what was written. A source is read through its own
// directory, so that no link leads out of it; what is no regular file is refused
// before it is opened. Read-only slots have no write bit, and their paths are
// reported for the fence. What an agent delivered is carried over when a workspace
// is made anew.
//
// Does not: hold off a process with the rights of the owner by itself (mode bits
// are advice to it; the fence and confinement hold it), lock a workspace against
// another process (the run's lock does), or sync to disk: after a power cut Check
// tells what is missing.
package mount
