// Package load reads workflow definitions: the one loader behind every command.
//
// Holds: Load for formats 1 and 2 in JSON and YAML, the closed schemas of both
// formats, every check of a document, the rules that a definition leaves to
// their defaults, and the description of its nodes.
//
// Guarantees: a document without error Issues is one the engine can run as far
// as a document can tell; all issues come at once, in the order of the file,
// each with its line, column and pointer; one document in JSON and in YAML has
// one digest. Load is pure.
//
// Does not: read files, look names up on disk, or know any piece: kinds come
// with the Config.
package load
