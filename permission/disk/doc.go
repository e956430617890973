// Package disk is the fence on this machine: it answers where paths lead, and
// opens exactly what was judged.
//
// Holds: Env, which follows links as the system does, and Fence, through which
// tools reach files.
//
// Guarantees: a read opens the file whose own path, asked from its handle, is the
// path that was judged. A write is made under another name in the directory that
// was judged, held by its handle, and renamed there; nothing is truncated before.
// A walk goes from handle to handle, and every entry is judged. An Env that does
// not answer in time leaves a path unread: denials still hold, allows do not.
//
// Does not: decide (package permission does), nor confine processes: a program
// that a tool starts is not held by it.
package disk
