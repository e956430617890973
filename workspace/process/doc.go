// Package process runs host commands: the Runner of the workspace contract.
//
// Holds: start in an own process group, the environment a command sees, bounded
// capture of its output, limits, and the end of a command together with what it
// left behind.
//
// Guarantees: when a limit or the context ends a command, its process group gets
// TERM, then KILL after the grace period. On Linux the same happens to processes
// that left the group, as long as they carry the command's marker in their
// environment or descend from one that does. A process that keeps an output pipe
// open never holds up a command that has exited, and what the command wrote
// before its exit is kept. Output may have lines of any length and any bytes.
//
// Does not: judge commands, redact, confine, or retry. A process that has left
// the group, dropped its environment and lost its parent escapes; off Linux, leaving the process
// group is enough to escape. A process that this user may not kill is given up
// after a short wait and left to itself.
package process
