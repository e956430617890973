// Package store keeps workflow scripts: one file for each run, in the partition
// of the scope it belongs to, and saved scripts that have a name.
//
// Holds: the Store contract with its optional parts Resolver and Lister, the file
// store, the adapter for stores of other programs, the arguments of a call (Merge,
// Normalize), and Prepare, which turns a call into the script and arguments to run.
//
// Guarantees: a scope reads only its own partition; what lies elsewhere, behind a
// link, in another partition or among the saved names is refused with the same
// error. The directory of a scope is as distinct as the scope itself, also on a
// disk that folds case or normal forms. A file is replaced whole or not at all.
//
// Does not: parse or run scripts, or look for the workflows of a project. A hard
// link that was planted inside a partition cannot be told from a script.
package store
