package command

import (
	"fmt"
	"slices"
	"strings"
)

// maxString is the largest argument or variable, in bytes, that Linux hands to a
// new process, its final zero included.
const maxString = 128 << 10

// checkSizes refuses what no process can be started with.
func checkSizes(w Wish) error {
	if len(w.Line) >= maxString {
		return fmt.Errorf("the command line has %d bytes, and a process takes at most %d; write the data to a file or to stdin", len(w.Line), maxString-1)
	}
	for i, arg := range w.Argv {
		if len(arg) >= maxString {
			return fmt.Errorf("argument %d has %d bytes, and a process takes at most %d; pass the data through stdin or a file", i, len(arg), maxString-1)
		}
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("argument %d holds a NUL byte; pass the data through stdin or a file", i)
		}
	}
	names := make([]string, 0, len(w.Env))
	for name := range w.Env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := w.Env[name]
		switch size := len(name) + 1 + len(value); {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("%q cannot be the name of an environment variable", name)
		case size >= maxString:
			return fmt.Errorf("environment variable %s has %d bytes, and a process takes at most %d; pass the data through stdin or a file", name, size, maxString-1)
		case strings.ContainsRune(value, 0):
			return fmt.Errorf("environment variable %s holds a NUL byte; pass the data through stdin or a file", name)
		}
	}
	return nil
}
