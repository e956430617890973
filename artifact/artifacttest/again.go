package artifacttest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// keyed is a draft of a write that has a name.
func keyed(id, content, key string) artifact.Draft {
	d := draft(id, content)
	d.Key = key
	return d
}

// again tests that a write with a key happens once, and is answered as it was.
func again(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, draft("a", "1"))
	edit(t, c, "a", "2")
	first := put(t, c, keyed("a", "3", "k1"))
	if !first.OverwrotePerson || first.Descriptor.Version != 3 {
		t.Errorf("the receipt is %+v", first)
	}
	if second := put(t, c, keyed("a", "3", "k1")); !reflect.DeepEqual(first, second) {
		t.Errorf("the receipt was %+v\nand is %+v", first, second)
	}
	edit(t, c, "a", "4")
	third := put(t, c, keyed("a", "3", "k1"))
	if want := first.Descriptor; third.Descriptor.Version != 3 || third.Descriptor.Digest != want.Digest || !slices.Equal(third.PersonVersions, []int64{2}) {
		t.Errorf("after another write it is %+v", third)
	}
	if next := put(t, c, keyed("a", "3", "k2")); next.Descriptor.Version != 5 || !slices.Equal(next.PersonVersions, []int64{4}) {
		t.Errorf("the next one is %+v", next)
	}
	check(t, c.Delete(t.Context(), "a"))
	if gone := put(t, c, keyed("a", "3", "k1")); gone.Descriptor.Version != 3 {
		t.Errorf("after a deletion it is %+v", gone)
	}
	if list, err := c.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("it came back: %+v (%v)", list, err)
	}
	lines := 0
	for _, err := range c.Export(t.Context()) {
		check(t, err)
		lines++
	}
	if lines != 1 {
		t.Errorf("the log has %d lines beside the deletion", lines-1)
	}
	_, err := c.Put(t.Context(), keyed("a", "1", "k\x01"))
	wantCode(t, err, workflow.CodeInvalidArtifact)
	_, err = c.Put(t.Context(), artifact.Draft{ID: "a", Title: "two\nlines", Mime: "text/plain"})
	wantCode(t, err, workflow.CodeInvalidArtifact)
}
