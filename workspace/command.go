package workspace

import (
	"context"
	"time"
)

// Environment variables that a Runner sets for every command.
const (
	// EnvRun carries Command.Marker when it is not empty.
	EnvRun = "TENON_RUN"
	// EnvHome carries the state directory in which that run is recorded: ids of
	// runs are unique only there.
	EnvHome = "TENON_HOME"
	// EnvCommand carries the ids of the enclosing commands, outermost first,
	// joined by "/"; the last one is unique to this command.
	EnvCommand = "TENON_COMMAND"
)

// DefaultOutputCap is the number of bytes kept per stream when
// Command.OutputCap is 0; MinOutputCap is the smallest cap that is honoured.
const (
	DefaultOutputCap = 256 << 10
	MinOutputCap     = 128
)

// Runner runs one host command to its end.
type Runner interface {
	// Run starts the command and returns when it has ended. A command that
	// fails, is killed or runs into a limit is an Exit, not an error. The error
	// is a *SpawnError when nothing was started, or wraps ctx.Err() when ctx
	// ended first; the Exit then holds what was captured until the kill.
	Run(ctx context.Context, c Command) (Exit, error)
}

// Stream names one output of a command.
type Stream string

// The two output streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Command is what to run, where, and within which limits.
type Command struct {
	// Argv is a program and its arguments, started without a shell. Exactly one
	// of Argv and Line is set.
	Argv []string
	// Line is a shell string. The Runner picks the shell; see Exit.Shell.
	Line string
	// Dir is the working directory; empty means that of this process.
	Dir string
	// Env is added to the inherited environment and wins over it.
	Env map[string]string
	// Unset names inherited variables that the command must not see.
	Unset []string
	// Stdin is given to the command and then closed; nil is an empty input.
	Stdin []byte
	// Timeout bounds the whole run, Idle the time without a byte of output.
	// 0 means no bound.
	Timeout, Idle time.Duration
	// OutputCap is the number of bytes kept per stream, the omission marker
	// included. 0 means DefaultOutputCap; less than MinOutputCap is raised.
	OutputCap int
	// Marker is the id of the run. It is put into EnvRun, and the home of the
	// Runner into EnvHome, where the processes of a run are found after a crash.
	Marker string
	// KillRest ends whatever the command left running when it exits by itself.
	// Without it a background process outlives the command.
	KillRest bool
	// OnOutput sees every chunk as it arrives, one call at a time. The bytes are
	// valid during the call only; a slow callback slows the command down.
	OnOutput func(Stream, []byte)
}

// Exit is what the host saw of a command.
type Exit struct {
	// Code is the exit code, -1 when a signal ended the command or when it could
	// not be killed. Signal is that signal's name ("SIGKILL"), else empty.
	Code   int
	Signal string
	// TimedOut and IdleOut say which limit ended the command.
	TimedOut, IdleOut bool
	// Stdout and Stderr hold the whole stream, or its head and tail around a
	// line that says how many bytes are missing. They may hold NUL and invalid
	// UTF-8. StdoutBytes and StderrBytes are the true sizes; Truncated says that
	// at least one stream was cut.
	Stdout, Stderr           []byte
	StdoutBytes, StderrBytes int64
	Truncated                bool
	// PipeHeld says that a process outlived the command and kept its output
	// open; what that process wrote later is not in the streams.
	PipeHeld bool
	// Start and End come from the Runner's clock.
	Start, End time.Time
	// Shell is "bash -o pipefail" or "/bin/sh" for a Line, empty for an Argv.
	Shell string
	// OutputDigest is "sha256:" and the hex SHA-256 of the two SHA-256 sums (32
	// raw bytes each) of the full stdout and the full stderr, in this order.
	OutputDigest string
	// Dir is the absolute working directory.
	Dir string
	// EnvKeys lists the names of the environment that the command saw, sorted;
	// EnvDigest is "sha256:" and the hex digest of the names and values. Both
	// leave out EnvRun, EnvHome and EnvCommand, which differ from run to run.
	EnvKeys   []string
	EnvDigest string
}

// OK reports whether the command ended by itself with exit code 0.
func (e Exit) OK() bool {
	return e.Code == 0 && e.Signal == "" && !e.TimedOut && !e.IdleOut
}
