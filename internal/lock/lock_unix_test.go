//go:build unix

package lock_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/internal/lock"
)

// TestLockOfTheDead: what a dead owner was starting may hold its lock for a
// moment longer; that is no owner. A live owner is named at once, and so is one
// of another machine, of whose processes nothing is known.
func TestLockOfTheDead(t *testing.T) {
	t.Parallel()
	dead := exec.CommandContext(t.Context(), "true")
	must(t, dead.Run())
	gone := dead.ProcessState.Pid()
	for name, test := range map[string]struct {
		by   lock.Record
		free bool
	}{
		"dead":            {lock.Record{PID: gone, Host: host, Epoch: 7}, true},
		"alive":           {lock.Record{PID: os.Getppid(), Host: host, Epoch: 7}, false},
		"another machine": {lock.Record{PID: gone, Host: "elsewhere", Epoch: 7}, false},
		"nobody":          {lock.Record{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "r")
			f, err := os.Create(path)
			must(t, err)
			fmt.Fprintf(f, `{"pid":%d,"host":%q,"epoch":%d}`, test.by.PID, test.by.Host, test.by.Epoch)
			must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
			if test.free {
				time.AfterFunc(20*time.Millisecond, func() { f.Close() })
			} else {
				defer f.Close()
			}
			got, err := lock.Take(t.Context(), path, host)
			if !test.free {
				var taken *lock.Taken
				if !errors.As(err, &taken) || taken.By != test.by {
					t.Errorf("taking it gives %v", err)
				}
				return
			}
			must(t, err)
			if got.Record() != test.by {
				t.Errorf("the record of the dead owner is %+v", got.Record())
			}
			must(t, got.Release())
		})
	}
}

// TestReleaseWhileStarting: a lock that is given back is free, also when commands
// are being started at that moment: they hold a copy of every descriptor.
func TestReleaseWhileStarting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
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
		// It looks like one of a living owner while it is held.
		f, err := lock.Take(t.Context(), path, host)
		if err == nil {
			err = errors.Join(f.Sign(lock.Record{PID: os.Getpid(), Host: host}), f.Release())
		}
		if err != nil {
			t.Errorf("round %d: %v", i, err)
			break
		}
	}
	close(done)
	starting.Wait()
}
