// Package disk keeps collections of artifacts in a directory.
//
// Holds: Collections, one directory each with a log, a lock and a record of what is
// published; and the contents of all of them, one file each by digest.
//
// Guarantees: what was answered is on the disk. A line of the log is written after
// the content that it names, carries a checksum, and is whole or left out; a line
// that a crash cut off is removed before anything is appended. Several processes
// may write at once, one after the other. A disk that fills up, or a process that
// is killed, loses nothing that was answered. Equal contents are kept once, over
// all collections. A content is checked against its digest when it is read.
//
// Does not: work on a network file system, where locks cannot be trusted; mend a
// damaged line or content; keep a content that no revision names once Sweep ran.
//
// The directory holds:
//
//	NAME/log                one revision a line: checksum, space, JSON
//	NAME/lock               whose turn it is to write
//	NAME/publications.json  what is out, by the ids of the artifacts
//	.blobs/ab/cdef…         a content under its SHA-256
//	.device                 the id of this place
//	.lock                   the turn of who makes, removes or sweeps
//
// Capital letters in a NAME are written "=a", for file systems that do not tell
// them apart.
package disk
