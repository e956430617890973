// Package permission judges what a call may do, above all about paths.
//
// Holds: what a call is about (Target, Reading), rules and their grammar, the
// compiled Set of rules, the Judge, what holds when no rule speaks (Defaults),
// and a Verdict that explains itself.
//
// Guarantees: deny comes before ask and ask before allow, whatever the order of
// the rules. A deny or ask holds if any view of the path is reached: as written,
// where it leads, and every link passed on the way. An allow holds only if one
// rule admits every view and nothing was left unread. A path that cannot be
// located is asked about and never guessed. A Judge made by Narrow never allows
// what its parent does not.
//
// Does not: touch a disk. An Env answers for the machine on which tools run; what
// opens files must open what was judged (permission/disk does).
package permission
