package scope

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestNameKeepsItsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := name(rapid.SliceOf(rapid.Byte()).Draw(t, "name"))
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got name
		if err := json.Unmarshal(raw, &got); err != nil || got != want {
			t.Errorf("%q became %q, %v", want, got, err)
		}
	})
}
