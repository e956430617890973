//go:build unix

package files_test

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestSpecial holds that nothing waits for the other end of a pipe, a socket or a
// device.
func TestSpecial(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := syscall.Mkfifo(b.Path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Put(t, "a.txt", "pipe\n")
	if err := os.Symlink("pipe", b.Path("link")); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, path := range []string{"pipe", "link"} {
			b.fails("read", m{"path": path}, "no regular file but a fifo")
			b.fails("write", m{"path": path, "content": "x", "overwrite": true}, "no regular file but a fifo")
			b.fails("edit", m{"path": path, "old_string": "x", "new_string": "y"}, "no regular file but a fifo")
			b.fails("grep", m{"path": path, "pattern": "x"}, "no regular file but a fifo")
			b.fails("ls", m{"path": path}, "no regular file but a fifo")
		}
		b.want("grep", m{"pattern": "pipe", "mode": "files"}, "a.txt")
		b.want("ls", m{}, "a.txt  5 bytes\nlink -> pipe\npipe  (fifo)")
		b.ok("glob", m{"pattern": "**"})
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a call hangs")
	}
}
