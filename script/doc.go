// Package script decides runs of workflow scripts.
//
// Holds: the Factory and the Program of scripts; Check and Arguments, which judge
// a script and its args before a run; Carry and Foresee, with which a run of an
// edited script takes over what an earlier run settled; the type declarations of
// the dialect for editors.
//
// Guarantees: a Program is pure and is replayed from its history; the id of a call
// is structural (see package vm); each settled result reaches the script in
// recorded order, one before the next begins; a call that the history has and the
// script does not make ends the replay with an error that names both; a call that
// is refused because of its options, the number of agents or the budget is never
// given as a command.
//
// Does not: run agents or commands, find workflows by name, or keep snapshots.
package script
