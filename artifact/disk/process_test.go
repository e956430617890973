package disk_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/disk"
)

const childPuts = 20

// endless makes a child write until it is killed, and say what was answered.
const endless = "endless"

// child is a process of its own that writes into the collection of its parent.
func child() {
	all, err := disk.Open(disk.Config{Dir: os.Getenv("ARTIFACT_DIR")})
	exitOn(err)
	c, err := all.Open(context.Background(), "c")
	exitOn(err)
	who := os.Getenv("ARTIFACT_CHILD")
	for i := 0; i < childPuts || who == endless; i++ {
		r, err := c.Put(context.Background(), artifact.Draft{ID: "a", Content: strings.Repeat(fmt.Sprint(who, "/", i, "\n"), 1+i%1000)})
		exitOn(err)
		if who == endless {
			fmt.Println(r.Descriptor.Version, r.Descriptor.Digest)
		}
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
		first, _, _ := strings.Cut(content, "\n")
		seen[first] = true
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

// TestKilled: a process that is killed at any moment loses nothing that it
// answered, and leaves nothing half done.
func TestKilled(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		dir := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "ARTIFACT_CHILD="+endless, "ARTIFACT_DIR="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		answered := map[int64]string{}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var version int64
			var digest string
			if n, _ := fmt.Sscan(lines.Text(), &version, &digest); n == 2 {
				answered[version] = digest
			}
			if len(answered) == 5+7*round {
				must(t, cmd.Process.Kill())
			}
		}
		cmd.Wait()
		all := open(t, disk.Config{Dir: dir})
		c := collection(t, all, "c")
		for version, digest := range answered {
			if r, _, err := c.Read(t.Context(), "a", version); err != nil || r.Digest != digest {
				t.Errorf("version %d is %+v (%v)", version, r, err)
			}
		}
		a, err := c.Get(t.Context(), "a")
		must(t, err)
		if d := put(t, c, "a", "next"); d.Version != a.Current().Version+1 || d.VersionCount != len(a.Versions)+1 {
			t.Errorf("it goes on as %+v", d)
		}
		if _, damage, err := all.Check(t.Context()); len(damage) > 0 || err != nil {
			t.Errorf("damage %v, %v", damage, err)
		}
	}
}
