package disk_test

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/disk"
	"github.com/tenonrun/tenon/workflow"
)

// TestFileLimit: where the system really lets a file grow no further, in the middle
// of a write, nothing that was kept is lost, and what fits is taken again.
func TestFileLimit(t *testing.T) {
	t.Parallel()
	if os.Getenv("ARTIFACT_LIMIT") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFileLimit$")
		cmd.Env = append(os.Environ(), "ARTIFACT_LIMIT=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	all := open(t, disk.Config{Dir: dir})
	c := collection(t, all, "c")
	put(t, c, "a", "one")

	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	limit := before
	limit.Cur = 8 << 10
	signal.Ignore(syscall.SIGXFSZ)
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	_, big := c.Put(t.Context(), artifact.Draft{ID: "a", Content: strings.Repeat("x", 9<<10)})
	kept := []string{"one"}
	var full error
	for range 1000 { // until the log is full, in the middle of a line
		if _, full = c.Put(t.Context(), artifact.Draft{ID: "a", Content: "two", Title: strings.Repeat("t", 100)}); full != nil {
			break
		}
		kept = append(kept, "two")
	}
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))

	wantCode(t, big, workflow.CodeStoreFull)
	wantCode(t, full, workflow.CodeStoreFull)
	if len(kept) < 5 {
		t.Errorf("only %d fitted", len(kept))
	}
	for _, place := range []*disk.Collections{all, open(t, disk.Config{Dir: dir})} {
		c := collection(t, place, "c")
		if got := texts(t, c, "a"); !slices.Equal(got, kept) {
			t.Errorf("there are %d versions, not %d", len(got), len(kept))
		}
		kept = append(kept, "three")
		put(t, c, "a", "three")
		if n, damage, err := place.Check(t.Context()); n != len(kept) || len(damage) > 0 || err != nil {
			t.Errorf("%d revisions, %v, %v", n, damage, err)
		}
	}
}
