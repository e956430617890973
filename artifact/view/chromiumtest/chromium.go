// Package chromiumtest finds the browser that tests run.
//
// Holds: Command, Find, Required.
//
// Guarantees: a test that cannot have the browser is skipped with the reason, and
// fails where TENON_REQUIRE_CHROMIUM is set.
//
// Does not: install anything: the Debian package is chromium.
package chromiumtest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Command returns the path of the browser.
func Command(t testing.TB) string {
	t.Helper()
	path, err := Find()
	switch {
	case err == nil:
	case Required():
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return path
}

// Find returns the path of the browser, or why there is none and what to do.
func Find() (string, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return "", fmt.Errorf("this test runs a browser: %w; install the package chromium", err)
	}
	return path, nil
}

// Required tells that a test may not be skipped for want of the browser.
func Required() bool { return os.Getenv("TENON_REQUIRE_CHROMIUM") != "" }
