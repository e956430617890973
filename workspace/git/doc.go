// Package git tells the content of work trees and where a repository is.
//
// Holds: the Candidate of the workspace contract over git work trees and plain
// directories, and the facts Root, Common and Version.
//
// Guarantees: a digest covers every tracked file and every untracked file that
// git does not ignore, by slash-separated relative path, kind, executable bit and
// raw bytes; symbolic links by their text; submodules by commit and, when dirty,
// by content. It names repositories by id, so the same content has the same
// digest in every checkout and at every path. Variables named GIT_* and a
// person's own excludes file do not change it. Files are read, never written:
// git runs without optional locks.
//
// Does not: cache, watch, follow symbolic links, or freeze the tree: what changes
// while it is read may be seen before or after the change.
package git
