package lock

import "errors"

// mode says with whom a lock may be shared. The functions of lock_unix.go and
// lock_windows.go take and give the one lock of a whole file; it belongs to
// the open file, and the kernel lets it go when its process dies.
type mode int

const (
	shared    mode = iota // with others who have it shared
	exclusive             // with nobody
)

// errTaken is the answer of tryLock when somebody else has the lock.
var errTaken = errors.New("the lock is taken")
