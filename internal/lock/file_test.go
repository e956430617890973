package lock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/internal/lock"
)

const host = "here"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTake: a file is held by one, who is named to the next one, and it keeps the
// record of the last one.
func TestTake(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
	if by, held, err := lock.Look(path); held || err != nil || by != (lock.Record{}) {
		t.Errorf("a file that is not there is held (%v) by %+v (%v)", held, by, err)
	}
	f, err := lock.Take(t.Context(), path, host)
	must(t, err)
	if f.Record() != (lock.Record{}) {
		t.Errorf("a new file has the record %+v", f.Record())
	}
	me := lock.Record{PID: os.Getpid(), Host: host, Epoch: 1 << 40}
	must(t, f.Sign(me))
	me.Epoch = 3 // shorter, and whole
	must(t, f.Sign(me))
	var taken *lock.Taken
	if _, err := lock.Take(t.Context(), path, host); !errors.As(err, &taken) || taken.By != me {
		t.Errorf("taking it twice gives %v", err)
	}
	must(t, f.Release())
	if err := f.Release(); err == nil {
		t.Error("a file that was given back can be given back again")
	}
	if by, held, err := lock.Look(path); held || err != nil {
		t.Errorf("a file that was given back is held (%v) by %+v (%v)", held, by, err)
	}
	if f, err = lock.Take(t.Context(), path, host); err != nil || f.Record() != me {
		t.Fatalf("after it was given back: %v", err)
	}
	must(t, f.Release())
}

// TestRecords: what is no record reads as the zero one, and can be replaced.
func TestRecords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want lock.Record
	}{
		"empty":    {"", lock.Record{}},
		"no JSON":  {"a text", lock.Record{}},
		"cut":      {`{"pid":1,"host":"a","ep`, lock.Record{}},
		"its type": {`{"pid":"one","epoch":4}`, lock.Record{}},
		"short":    {`{"pid":1,"host":"a","epoch":4}`, lock.Record{PID: 1, Host: "a", Epoch: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "r")
			must(t, os.WriteFile(path, []byte(test.text), 0o600))
			f, err := lock.Take(t.Context(), path, host)
			must(t, err)
			if got := f.Record(); got != test.want {
				t.Errorf("the record is %+v", got)
			}
			want := lock.Record{PID: 2, Host: "b", Epoch: 5}
			must(t, f.Sign(want))
			if got := f.Record(); got != want {
				t.Errorf("the new record is %+v", got)
			}
			must(t, f.Release())
		})
	}
}

// TestLookers: those who look never keep an owner out, and never see one where
// there is none.
func TestLookers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r")
	me := lock.Record{PID: os.Getpid(), Host: host, Epoch: 1}
	f, err := lock.Take(t.Context(), path, host)
	must(t, err)
	must(t, errors.Join(f.Sign(me), f.Release()))
	done := make(chan struct{})
	var looking sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if by, held, err := lock.Look(path); err != nil || held && by != me {
					t.Errorf("held (%v) by %+v (%v)", held, by, err)
					return
				}
			}
		})
	}
	for i := range 200 {
		f, err := lock.Take(t.Context(), path, host)
		if err == nil {
			err = f.Release()
		}
		if err != nil {
			t.Errorf("round %d: %v", i, err)
			break
		}
	}
	close(done)
	looking.Wait()
}

// TestUnusable: errors of the file and of the context come as they are.
func TestUnusable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := lock.Take(t.Context(), filepath.Join(dir, "none", "r"), host); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
	if _, err := lock.OpenGate(filepath.Join(dir, "none", "r")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
	path := filepath.Join(dir, "r")
	f, err := lock.Take(t.Context(), path, host)
	must(t, err)
	// Its owner is, as far as the record tells, no longer there.
	must(t, f.Sign(lock.Record{PID: 1<<31 - 1, Host: host}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lock.Take(ctx, path, host); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a dead owner without a context: %v", err)
	}
	must(t, f.Release())
}

func TestNetworkKind(t *testing.T) {
	t.Parallel()
	if kind, err := lock.NetworkKind(t.TempDir()); kind != "" || err != nil {
		t.Errorf("the directory of the test is on %q (%v)", kind, err)
	}
}
