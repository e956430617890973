package workspace

import "fmt"

// SpawnError says that a command was not started.
type SpawnError struct {
	Program string // argv[0], or the shell of a command line
	Dir     string // absolute working directory
	Hint    string // what to do next
	Err     error  // cause
}

// Error implements error.
func (e *SpawnError) Error() string {
	msg := fmt.Sprintf("starting %q in %s: %v", e.Program, e.Dir, e.Err)
	if e.Hint != "" {
		msg += ": " + e.Hint
	}
	return msg
}

// Unwrap returns the cause.
func (e *SpawnError) Unwrap() error { return e.Err }
