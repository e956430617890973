// Package export takes artifacts out of their collection: as files, as pages that
// anybody can open, as differences, and through a directory that devices share.
//
// Holds: Write, which makes files of a collection; Publish, which makes a page that
// needs nothing else; Diff; Sync; Transcript, which reads what an agent wrote out
// of the transcripts of several programs.
//
// Guarantees: names of files are made of ids and numbers, are safe on every file
// system and apart on those that fold case. Nothing is written outside of the
// directory that was given, also not through links in it. A published page cannot
// read what else its host serves: what an artifact runs, it runs in a sandbox
// without an origin. Devices that sync through a directory need no lock there, and
// what a half copied file lacks is taken the next time.
//
// Does not: upload anything, keep the record of a publication anywhere but in the
// collection, or promise that a page with scripts cannot send a network packet.
package export
