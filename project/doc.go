// Package project knows where a project is, what is configured for it, and
// whom it trusts.
//
// Holds: the root, identity and state directory of a project; the layers of its
// configuration with the origin of every setting; the look-up of workflows by
// name; trust in what a repository configures; and the first files of a project.
//
// Guarantees: the state directory does not depend on the directory or worktree
// a command is typed in; a repository that is not trusted gains no command, no
// right and no address for keys; keys themselves are never read.
//
// Does not: run anything, call git (the git common directory is told to it), or
// judge workflows.
package project
