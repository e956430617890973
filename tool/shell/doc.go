// Package shell is the tool bash: command lines that are read, judged, confined and
// run.
//
// Holds: Shell, the commands of one agent, with its working directory and what it
// runs in the background; the tool and its schema.
//
// Guarantees: nothing runs before the Fence has judged every simple command, every
// path and every working directory that the text shows, and has been told what the
// text does not show and what the operating system confines. A command ends with all
// that it started; its exit code is its own. Output is bounded and its true size
// told. A working directory that a command leaves is kept only if the Fence lets the
// agent enter it. Close ends what runs in the background.
//
// Does not: decide (the Fence does), keep background commands over a restart, or
// show what a command changed. The files that a pattern matches are listed when it is
// judged; another process may change them before it runs.
package shell
