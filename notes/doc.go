// Package notes is the memory of a project: short texts that outlive a run.
//
// Holds: the Store of notes, in two namespaces. Notes are what agents and people
// write down, as Markdown files with front matter. Reviews are what a role said
// about one state of the files; only the host writes them, and no name of a note
// leads there.
//
// Guarantees: a file is whole or not there, whatever stops the process, and two
// processes may write at once: the last one wins. Names of files are safe on
// every file system. Sizes and numbers are bounded; a file that is damaged is told
// and does not hide the others.
//
// Does not: prove anything. It is advice from earlier, and a caller goes on
// without it: nothing in here is worth a repeated call. Texts are what somebody
// wrote; Text shows them as data, but whoever puts one into a prompt says so.
package notes
