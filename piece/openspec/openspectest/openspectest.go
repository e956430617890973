// Package openspectest finds the OpenSpec command line that tests run.
//
// Holds: Command, Find, Required.
//
// Guarantees: a test that cannot have the command line is skipped with the
// reason, and fails where TENON_REQUIRE_OPENSPEC is set.
//
// Does not: install anything. `make components` does.
package openspectest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Command returns the program of the pinned installation below tools/openspec.
func Command(t testing.TB) []string {
	t.Helper()
	program, err := Find()
	switch {
	case err == nil:
		return []string{program}
	case Required():
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return nil
}

// Find returns the path of that program, or why there is none and what to do.
func Find() (string, error) {
	_, here, _, _ := runtime.Caller(0)
	program := filepath.Join(filepath.Dir(here), "..", "..", "..", "tools", "openspec", "node_modules", ".bin", "openspec")
	_, err := os.Stat(program)
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		return "", fmt.Errorf("this test runs the OpenSpec command line: %w; run `make components` (needs node 20.19 and npm)", err)
	}
	return program, nil
}

// Required tells that a test may not be skipped for want of the command line.
func Required() bool { return os.Getenv("TENON_REQUIRE_OPENSPEC") != "" }
