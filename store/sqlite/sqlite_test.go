package sqlite_test

import (
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return opened(t, t.TempDir()) })
}

func TestDurable(t *testing.T) {
	t.Parallel()
	storetest.Durable(t, func(t *testing.T, dir string) (store.Store, func()) {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s, func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestKeeper(t *testing.T) {
	t.Parallel()
	storetest.Keep(t, func(t *testing.T) store.Store { return opened(t, t.TempDir()) })
}
