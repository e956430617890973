package memory_test

import (
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/memory"
	"github.com/tenonrun/tenon/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}

func TestKeeper(t *testing.T) {
	t.Parallel()
	storetest.Keep(t, func(*testing.T) store.Store { return memory.New() })
}
