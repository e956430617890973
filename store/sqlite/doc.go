// Package sqlite is the durable Store: one directory with a SQLite database,
// big blobs as files, and a lock file per run.
//
// Holds: tenon.db (WAL, synchronous=FULL), blobs/ for texts over 64 KiB,
// locks/ with one file per run, and db.w, the turnstile of writing processes.
// The locks are those of room lock, the rows of the log those of room entry.
//
// Guarantees: an Append is on disk when it returns. One goroutine writes; the
// appends that wait while it syncs share the next transaction, and one that
// fails does not take the others with it. A run is held by a file lock (flock,
// on Windows LockFileEx), which the kernel lets go at the death of its process;
// the epoch of the hold fences the appends. Every read verifies checksums;
// damage is confined to its run.
//
// The log has a row per Append, in the order of the commits, with its events in
// one value. There is no index of it: a span says from which row on the rows of
// a run stand together, so that a lone run writes one page per Append. An Append
// that is one such row is a statement without a transaction around it, when the
// turnstile tells that nobody else wrote since: whoever writes the database
// must come through it.
//
// Its tests run on Linux. For macOS and Windows the code compiles, and nothing
// more is known: fewer network file systems and full disks are recognised
// there, and on Windows what this user may not write is found at its first use.
//
// Side effect: Open switches the SQLite library of this process to fdatasync,
// where the platform has it; it is as durable as fsync and faster.
//
// Does not: work on a network file system, where neither locks nor the
// database can be trusted; Open refuses. It removes no lock file, ever: a new
// file under the name of a held one would have a second owner.
package sqlite
