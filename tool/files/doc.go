// Package files holds the tools for files: read, write, edit, grep, glob and ls.
//
// Holds: the tools, and what they share: telling text from other content, its
// encoding and line endings, ignore files, and the search.
//
// Guarantees: files are reached through the fence of the call only, at the place
// that was judged. Nothing waits for another process: what is no regular file is
// refused. Memory and output are bounded whatever the size of a file or of a
// directory, and what was left out is counted. A file is written whole or not at
// all, and keeps its encoding, byte order mark and line endings in an edit. A
// search gives the same result with and without the help of ripgrep.
//
// Does not: judge paths, follow links in a search, or show content that is no text.
package files
