// Package openspectest finds the OpenSpec command line that tests run.
//
// Holds: Command.
//
// Guarantees: a test that cannot have the command line is skipped with the
// reason, and fails where TENON_REQUIRE_OPENSPEC is set.
//
// Does not: install anything. `make components` does.
package openspectest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Command returns the program of the pinned installation below tools/openspec.
func Command(t testing.TB) []string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	program := filepath.Join(filepath.Dir(here), "..", "..", "..", "tools", "openspec", "node_modules", ".bin", "openspec")
	_, err := os.Stat(program)
	if err == nil {
		_, err = exec.LookPath("node")
	}
	switch {
	case err == nil:
		return []string{program}
	case os.Getenv("TENON_REQUIRE_OPENSPEC") != "":
		t.Fatalf("this test runs the OpenSpec command line: %v; run `make components`", err)
	default:
		t.Skipf("this test runs the OpenSpec command line: %v; run `make components` (needs node 20.19 and npm)", err)
	}
	return nil
}
