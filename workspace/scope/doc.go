// Package scope keeps an agent's turn inside the directories that it may change.
//
// Holds: the Guard, which records what lies outside of the scopes of a
// repository before a turn and puts back what the turn changed there; the
// Capture in between; and the Report of what was done.
//
// Guarantees: what the turn did not change stays as it is, whatever state it was
// in. What the turn wrote outside is kept beside the capture before anything is
// put back. A capture is durable before the turn starts: a turn that is repeated
// after a crash is measured against the first capture, and a turn that was
// finished once is not measured again. Nothing is written through a symbolic
// link, and nothing outside of the repository. What cannot be put back is told,
// never dropped. Variables named GIT_*, a person's own excludes file, and index
// flags that hide changes do not blind it.
//
// Does not: guard git's own data (commits, the index, .git/config), files that
// git ignores, or empty directories; tell a turn's change from one that somebody
// else made at the same time; or stop a write before it happens.
package scope
