package process_test

import (
	"testing"

	"github.com/tenonrun/tenon/workspace"
)

// The command has its whole input from the start: the death of this process
// cannot cut it.
func TestInputIsWhole(t *testing.T) {
	t.Parallel()
	exit := run(t, workspace.Command{Line: "stat -L -c %s /proc/self/fd/0", Stdin: make([]byte, 1<<20)})
	if got := string(exit.Stdout); got != "1048576\n" {
		t.Errorf("the input of the command has %q bytes: %s", got, exit.Stderr)
	}
}
