//go:build unix

package sqlite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/workflow"
)

// TestLockOfTheDead: what a dead owner was starting may hold its lock for a
// moment longer; that is no owner. A live owner is named at once.
func TestLockOfTheDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	gone := exec.CommandContext(t.Context(), "true")
	must(t, gone.Run())
	host, err := os.Hostname()
	must(t, err)
	for pid, free := range map[int]bool{gone.ProcessState.Pid(): true, os.Getppid(): false} {
		f, err := os.Create(filepath.Join(dir, "locks", "r"))
		must(t, err)
		fmt.Fprintf(f, `{"pid":%d,"host":%q,"epoch":7}`, pid, host)
		must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
		straggler := time.AfterFunc(20*time.Millisecond, func() { f.Close() })
		o, err := s.Own(t.Context(), "r")
		if !free {
			straggler.Stop()
			fails(t, err, workflow.CodeRunHeld)
			must(t, f.Close())
			continue
		}
		must(t, err)
		if o.Epoch() != 8 {
			t.Errorf("the epoch after that of the dead owner is %d", o.Epoch())
		}
		must(t, o.Release())
	}
}

// TestReleaseWhileStarting: a run that is given back is free, also when commands
// are being started at that moment: they hold a copy of every descriptor.
func TestReleaseWhileStarting(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir())
	done := make(chan struct{})
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if err := exec.CommandContext(t.Context(), "true").Run(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for i := range 400 {
		o, err := s.Own(t.Context(), "r")
		if err != nil {
			t.Errorf("round %d: %v", i, err)
			break
		}
		must(t, o.Release())
	}
	close(done)
	starting.Wait()
}
