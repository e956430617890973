package text_test

import (
	"sync"
	"testing"

	"github.com/tenonrun/tenon/internal/text"
)

func TestMustPattern(t *testing.T) {
	t.Parallel()
	digits := text.MustPattern(`^\d+$`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if p := digits(); p != digits() || !p.MatchString("17") || p.MatchString("x") {
				t.Error("not one and the same pattern")
			}
		})
	}
	wg.Wait()
	wrong := text.MustPattern(`(`) // tells nothing yet
	defer func() {
		if recover() == nil {
			t.Error("a wrong pattern was compiled")
		}
	}()
	wrong()
}
