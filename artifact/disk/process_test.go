package disk_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/disk"
)

const childPuts = 20

// child is a process of its own that writes into the collection of its parent.
func child() {
	all, err := disk.Open(disk.Config{Dir: os.Getenv("ARTIFACT_DIR")})
	exitOn(err)
	c, err := all.Open(context.Background(), "c")
	exitOn(err)
	for i := range childPuts {
		_, err := c.Put(context.Background(), artifact.Draft{ID: "a", Content: fmt.Sprint(os.Getenv("ARTIFACT_CHILD"), "/", i)})
		exitOn(err)
	}
	exitOn(all.Close())
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestProcesses: several processes write at once, and every text is there under a
// number of its own.
func TestProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const children = 3
	var running []*exec.Cmd
	for i := range children {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprint("ARTIFACT_CHILD=", i+1), "ARTIFACT_DIR="+dir)
		cmd.Stderr = os.Stderr
		must(t, cmd.Start())
		running = append(running, cmd)
	}
	all := open(t, disk.Config{Dir: dir})
	c := collection(t, all, "c")
	for i := range childPuts {
		put(t, c, "a", fmt.Sprint("0/", i))
	}
	for _, cmd := range running {
		must(t, cmd.Wait())
	}
	seen := map[string]bool{}
	for _, content := range texts(t, c, "a") {
		seen[content] = true
	}
	a, err := c.Get(t.Context(), "a")
	must(t, err)
	if want := (children + 1) * childPuts; len(seen) != want || a.Current().Version != int64(want) || len(a.Twins()) > 0 {
		t.Errorf("%d texts and %d versions are there, twins %v", len(seen), a.Current().Version, a.Twins())
	}
	if _, damage, err := all.Check(t.Context()); len(damage) > 0 || err != nil {
		t.Errorf("damage %v, %v", damage, err)
	}
}
