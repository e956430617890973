// Package workspace is the contract for work on a machine's work trees: host
// commands, the repositories they touch, and the digest of what lies in them.
//
// Holds: the Runner and Candidate interfaces, the values that cross them, and
// the error of a command that could not be started.
//
// Guarantees: an Exit states what the host saw, never what the command said
// about itself; a Candidate digest names its format and holds no absolute path,
// so equal content has an equal digest in every checkout.
//
// Does not: start processes, read disks, judge whether a command may run, or
// redact output. The standard library is all it imports.
package workspace
