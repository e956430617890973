// Package harvest takes in the files that a turn left in its workspace.
//
// Holds: Take, which reads the index and the files that a spec or the index name,
// with sizes and digests.
//
// Guarantees: nothing outside of the slot is read, whatever links are in it or
// come up meanwhile; only regular files are opened for reading; a file that is too
// large is refused by its size; Data is what Digest is of. What the turn did wrong
// is a Refusal or a fault of the contract, what the machine did wrong is a
// HARVEST_ERROR, so that only the first costs a correction.
//
// Does not: judge, store or change files; tell a hard link from a file.
package harvest
