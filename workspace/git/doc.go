// Package git tells the content of work trees and where a repository is.
//
// Holds: the Candidate of the workspace contract over git work trees and plain
// directories, its stat cache, the facts Root, Common and Version, and
// SamePrograms, which compares configurations by what they make git run.
//
// Guarantees: a digest covers every tracked file and every untracked file that
// no .gitignore hides, by slash-separated relative path, kind, executable bit and
// raw bytes; symbolic links by their text; submodules by commit and, when dirty,
// by content. It names repositories by id, so the same content has the same
// digest in every checkout and at every path. Variables named GIT_*, a person's
// own excludes file, .git/info/exclude and settings that make git trust a file mode or time less do
// not change it. Files are read, never written: git runs without optional locks.
// What cannot be read, or does not hold still, is an error that names it. With a
// cache, an unchanged file is not read again, and the digest is the one without.
//
// The cache relies on the change time that the kernel gives a file at each write.
// It is not told of bytes that a program writes later through a memory map of a
// page that was already changed and not yet on disk, of files on a network file
// system whose clock is seconds behind, or of who sets a clock back and forth to
// hit the same nanosecond.
//
// Does not: watch, follow symbolic links, or freeze the tree: what changes while
// it is read may be seen before or after the change. Whether a submodule is dirty
// is git's word, filters included. Untracked pipes, sockets and devices are not
// content. On a file system that folds case, a path is what git calls it.
package git
