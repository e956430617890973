// Package lock is the locks of files that processes take against each other.
//
// Holds: File, a lock file with a Record of its owner; Gate, the turnstile of
// those who write something in turn; NetworkKind, which knows where no lock can
// be trusted.
//
// Guarantees: a lock belongs to one open file (flock, on Windows LockFileEx), and
// the kernel lets it go at the death of its process. Who looks for the owner of
// a File never makes a Take fail. A File that a dead owner has not let go of yet
// is waited for, a living owner is named at once.
//
// Does not: remove a lock file, ever: a new file under the name of a held one
// would have a second owner. It does not work on a network file system, and on
// other platforms than Linux it recognises none.
package lock
