//go:build unix

package crash_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/cli"
	"github.com/tenonrun/tenon/history"
)

// cli runs the command line in this process, and returns what it printed:
// standard output, and after it standard error.
func (s *scene) cli(args ...string) (out string, code int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(s.t.Context(), append(s.flags(), args...), cli.Stdio{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" },
	})
	return stdout.String() + "\x00" + stderr.String(), code
}

// printed returns standard output and standard error of a command.
func printed(out string) (stdout, stderr string) {
	stdout, stderr, _ = strings.Cut(out, "\x00")
	return stdout, stderr
}

// result reads the document of --json.
func result(t *testing.T, out string) history.Result {
	t.Helper()
	var res history.Result
	stdout, stderr := printed(out)
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatalf("no result in %s%s (%v)", stdout, stderr, err)
	}
	return res
}
