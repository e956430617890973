package artifacttest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/artifact"
)

func apart(t *testing.T, all artifact.Collections) {
	for _, name := range []string{"two", "one"} {
		put(t, collection(t, all, name), draft("a", name))
	}
	for _, name := range []string{"one", "two"} {
		if _, content, err := collection(t, all, name).Read(t.Context(), "a", 1); err != nil || content != name {
			t.Errorf("in %s it is %q (%v)", name, content, err)
		}
	}
	names, err := all.Names(t.Context())
	if err != nil || !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("the names are %q (%v)", names, err)
	}
}

func fork(t *testing.T, all artifact.Collections) {
	parent, child, whole := collection(t, all, "parent"), collection(t, all, "child"), collection(t, all, "whole")
	cut := put(t, parent, draft("a", "1")).Descriptor.Seq
	put(t, parent, draft("a", "2"))
	m, err := artifact.Fork(t.Context(), child, parent, cut)
	if err != nil || m.Added != 1 {
		t.Errorf("the fork took %+v (%v)", m, err)
	}
	if d := put(t, child, draft("a", "other")).Descriptor; d.Version != 2 {
		t.Errorf("the child goes on as %+v", d)
	}
	if _, content, err := parent.Read(t.Context(), "a", 2); err != nil || content != "2" {
		t.Errorf("the parent changed: %q (%v)", content, err)
	}
	if m, err := artifact.Fork(t.Context(), whole, parent, 0); err != nil || m.Added != 2 {
		t.Errorf("the whole fork took %+v (%v)", m, err)
	}
}

func merge(t *testing.T, all artifact.Collections) {
	a, b, c := collection(t, all, "a"), collection(t, all, "b"), collection(t, all, "c")
	put(t, a, draft("x", "1"))
	_, err := b.Merge(t.Context(), a.Export(t.Context()))
	check(t, err)
	put(t, a, draft("x", "from a"))
	edit(t, b, "x", "from b")
	put(t, b, draft("y", "only b"))
	for _, pair := range [][2]artifact.Collection{{a, b}, {b, a}, {c, b}, {a, c}, {b, c}} {
		_, err := pair[0].Merge(t.Context(), pair[1].Export(t.Context()))
		check(t, err)
	}
	one, two, three := state(t, a), state(t, b), state(t, c)
	if !reflect.DeepEqual(one, two) || !reflect.DeepEqual(two, three) {
		t.Errorf("they differ:\n%+v\n%+v\n%+v", one, two, three)
	}
	x, err := a.Get(t.Context(), "x")
	if check(t, err); len(x.Versions) != 3 || !slices.Equal(x.Twins(), []int64{2}) {
		t.Errorf("the twins are %v in %+v", x.Twins(), x)
	}
	m, err := a.Merge(t.Context(), b.Export(t.Context()))
	if err != nil || m.Added != 0 || m.Known != 4 {
		t.Errorf("the same again: %+v (%v)", m, err)
	}
	if d := put(t, a, draft("x", "next")).Descriptor; d.Version != 3 || d.VersionCount != 4 {
		t.Errorf("it goes on as %+v", d)
	}
}

func mergeRefuses(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, draft("a", "mine"))
	good := artifact.Revision{ID: "r1", Seq: 1, Device: "d", Artifact: "a", Mime: "text/plain", Version: 1, Digest: artifact.Digest("theirs"), Bytes: 6}
	bad := func(id string, change func(*artifact.Revision)) artifact.Revision {
		r := good
		r.ID = id
		change(&r)
		return r
	}
	clash := bad("r1", func(r *artifact.Revision) { r.Title = "another" })
	long := strings.Repeat("x", MaxBytes+1)
	content := map[string]string{"r9": long}
	offered := []artifact.Revision{
		good, good, clash,
		bad("r2", func(r *artifact.Revision) { r.Artifact = "../x" }),
		bad("r3", func(r *artifact.Revision) { r.Seq = artifact.MaxSeq + 1 }),
		bad("r4", func(r *artifact.Revision) { r.Digest = artifact.Digest("something else") }),
		bad("r5", func(r *artifact.Revision) { r.Digest = "../../etc/passwd" }),
		bad("r6", func(r *artifact.Revision) { r.Version = 0 }),
		bad("r9", func(r *artifact.Revision) { r.Digest, r.Bytes = artifact.Digest(long), int64(len(long)) }),
	}
	m, err := c.Merge(t.Context(), func(yield func(artifact.Copy, error) bool) {
		for _, r := range offered {
			text := content[r.ID]
			if text == "" {
				text = "theirs"
			}
			if !yield(artifact.Copy{Revision: r, Content: func(context.Context) (string, error) { return text, nil }}, nil) {
				return
			}
		}
	})
	if err != nil || m.Added != 1 || m.Known != 1 || !slices.Equal(m.Clashes, []string{"r1"}) || len(m.Refused) != 6 {
		t.Errorf("the merge is %+v (%v)", m, err)
	}
	if s := state(t, c); len(s.lines) != 2 {
		t.Errorf("it holds %+v", s.lines)
	}
	failure := errors.New("the other side fell silent")
	_, err = c.Merge(t.Context(), func(yield func(artifact.Copy, error) bool) { yield(artifact.Copy{}, failure) })
	if !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
}

func cancelled(t *testing.T, all artifact.Collections) {
	c := collection(t, all, "c")
	put(t, c, draft("a", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Put(ctx, draft("a", "2"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if s := state(t, c); len(s.lines) != 1 {
		t.Errorf("a cancelled put happened: %+v", s.lines)
	}
}
