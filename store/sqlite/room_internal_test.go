package sqlite

import (
	"testing"
	"time"

	"github.com/tenonrun/tenon/internal/lock"
)

// TestRoomWaits: the log gets its size only when no other process writes: what that
// one appends between the look at the size and the end would be overwritten.
func TestRoomWaits(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other, err := lock.OpenGate(s.path("db.w"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		s.write.mu.Lock()
		defer s.write.mu.Unlock()
		done <- s.write.room()
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	other.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
