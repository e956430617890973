// Package builtin holds the workflow scripts that every Tenon brings along.
//
// Holds: their sources, by name, and the names under which some were known
// before.
//
// Guarantees: the scripts use only what other hosts of the dialect know, too, so
// that they can be copied and changed; none needs a configuration.
//
// Does not: run or judge scripts. A workflow of the same name in a project or
// among the user's own hides a built-in one; that is decided by who looks names
// up.
package builtin
