package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
)

// disk mounts a small disk of its own, where the test may.
func disk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk fills the disk: the error has its code, nothing is lost, and the
// store goes on when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := disk(t, "16m")
	spare := filepath.Join(dir, "spare") // so much that the write-ahead log finds room in the database
	must(t, os.WriteFile(spare, make([]byte, 7<<20), 0o600))
	s := opened(t, filepath.Join(dir, "state"))
	must(t, s.Append(t.Context(), created("r")))
	n, long := int64(2), strings.Repeat("long", 20_000)
	var err error
	for err == nil {
		if err = s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, After: n, Events: said(n, long)}); err == nil {
			n++
		}
		if n > 1000 {
			t.Fatal("the disk does not get full")
		}
	}
	full := func(err error) {
		t.Helper()
		fails(t, err, workflow.CodeStoreFull)
		if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "free some space") {
			t.Errorf("the error says %q", err)
		}
	}
	full(err)
	big := text2blob(strings.Repeat("big", 1<<20))
	full(s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, After: n, Blobs: []store.Blob{big}}))
	count := func() (got int64) {
		t.Helper()
		must(t, s.Events(t.Context(), "r", 0, func(workflow.Event) error { got++; return nil }))
		return got
	}
	if got := count(); got != n {
		t.Errorf("%d events are there, %d were acknowledged", got, n)
	}
	must(t, os.Remove(spare))
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, After: n, Events: said(n, long)}))
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, After: n + 1, Events: said(n+1, "again")}))
	if got := count(); got != n+2 {
		t.Errorf("%d events are there, %d were acknowledged", got, n+2)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	dir := disk(t, "16m")
	filled(t, filepath.Join(dir, "state"), 1, 3)
	err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
	for deadline := time.Now().Add(10 * time.Second); errors.Is(err, unix.EBUSY) && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		err = unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "") // a process that is being started has copies of descriptors
	}
	must(t, err)
	for _, name := range []string{"state", "new"} {
		_, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(dir, name)})
		fails(t, err, workflow.CodeStoreUnavailable)
		if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "--state") {
			t.Errorf("the error says %q", err)
		}
	}
}
