package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Keep tests a store that looks after itself. open returns an empty one, which
// must be a Keeper.
func Keep(t *testing.T, open func(*testing.T) store.Store) {
	t.Run("groups", func(t *testing.T) { t.Parallel(); collectGroups(t, open(t)) })
	t.Run("blobs", func(t *testing.T) { t.Parallel(); collectBlobs(t, open(t)) })
	t.Run("owned", func(t *testing.T) { t.Parallel(); collectOwned(t, open(t)) })
}

const old, recent = workflow.Time(1_000_000), workflow.Time(9_000_000)

var cutoff = time.UnixMicro(5_000_000)

func keeper(t *testing.T, s store.Store) store.Keeper {
	t.Helper()
	k, ok := s.(store.Keeper)
	if !ok {
		t.Fatal("the store is no keeper")
	}
	return k
}

func ended(t *testing.T, s store.Store, run workflow.RunID, h store.Head, blobs ...store.Blob) {
	t.Helper()
	if h.Status == "" {
		h.Status = workflow.StatusSucceeded
	}
	var texts []string
	for _, b := range blobs {
		texts = append(texts, "see "+string(b.Digest)+"!")
	}
	must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, Create: &store.Create{}, Events: note(0, 1, append(texts, "end")...), Head: &h, Blobs: blobs}))
}

func collectGroups(t *testing.T, s store.Store) {
	ended(t, s, "done", store.Head{Updated: old})
	ended(t, s, "recent", store.Head{Updated: recent})
	ended(t, s, "waiting", store.Head{Updated: old, Status: workflow.StatusWaiting})
	ended(t, s, "parent", store.Head{Updated: old})
	ended(t, s, "child", store.Head{Updated: recent, ChildOf: "parent", Root: "parent"})
	ended(t, s, "shared", store.Head{Updated: old})
	fork(t, s, "fork", "shared", 1, "on") // has not ended
	ended(t, s, "top", store.Head{Updated: old})
	ended(t, s, "leaf", store.Head{Updated: old, ChildOf: "top", Root: "top"})
	k := keeper(t, s)
	dry, err := k.Collect(t.Context(), cutoff, true)
	must(t, err)
	if all, err := s.Runs(t.Context(), store.Query{}); err != nil || len(all) != 9 {
		t.Errorf("a dry collection leaves %d runs (%v)", len(all), err)
	}
	rep, err := k.Collect(t.Context(), cutoff, false)
	must(t, err)
	for name, r := range map[string]store.Report{"dry": dry, "real": rep} {
		slices.Sort(r.Removed)
		if fmt.Sprint(r.Removed) != "[done leaf top]" || r.Runs != 3 || r.Events != 3 || r.Bytes == 0 {
			t.Errorf("the %s collection reports %+v", name, r)
		}
		if len(r.Kept) != 6 || !slices.ContainsFunc(r.Kept, func(l string) bool { return strings.HasPrefix(l, "shared: ") && strings.Contains(l, "fork") }) {
			t.Errorf("the %s collection keeps %q", name, r.Kept)
		}
	}
	for _, run := range []workflow.RunID{"done", "leaf", "top"} {
		fails(t, s.Events(t.Context(), run, 0, func(workflow.Event) error { return nil }), workflow.CodeRunNotFound)
	}
	says(t, s, "fork", 0, "end", "on")
	begin(t, s, "done", "a new one") // the name is free again
	says(t, s, "done", 0, "a new one")
	if check, err := k.Check(t.Context()); err != nil || len(check.Problems) > 0 || check.Runs != 7 {
		t.Errorf("after a collection the check reports %+v (%v)", check, err)
	}
}

func collectBlobs(t *testing.T, s store.Store) {
	only, shared, inner := blob("only"), blob(strings.Repeat("shared", 20_000)), blob(strings.Repeat("inner", 20_000))
	outer := blob(`{"leads to":"` + string(inner.Digest) + `"}`)
	ended(t, s, "done", store.Head{Updated: old}, only, shared, inner)
	ended(t, s, "stays", store.Head{Updated: recent}, shared, outer)
	inHead, inState := blob("in a head"), blob("in a snapshot")
	ended(t, s, "done2", store.Head{Updated: old}, inHead, inState)
	must(t, s.Append(t.Context(), store.Append{Run: "stays", Epoch: 1, After: 3,
		Head:     &store.Head{Status: workflow.StatusSucceeded, Updated: recent, Detail: []byte(`"` + inHead.Digest + `"`)},
		Snapshot: &store.Snapshot{Seq: 3, State: []byte("x" + inState.Digest)}}))
	k := keeper(t, s)
	for _, dry := range []bool{true, false} {
		rep, err := k.Collect(t.Context(), cutoff, dry)
		must(t, err)
		if rep.Runs != 2 || rep.Blobs != 1 {
			t.Errorf("dry=%v removes %d runs and %d blobs", dry, rep.Runs, rep.Blobs)
		}
	}
	for _, b := range []store.Blob{shared, inner, outer, inHead, inState} {
		if got, err := s.Blob(t.Context(), b.Digest); err != nil || string(got) != string(b.Data) {
			t.Errorf("a blob in use is %d bytes (%v)", len(got), err)
		}
	}
	_, err := s.Blob(t.Context(), only.Digest)
	fails(t, err, workflow.CodeNotFound)
	rep, err := k.Check(t.Context())
	must(t, err)
	if rep.Blobs != 5 || len(rep.Problems) > 0 {
		t.Errorf("the check reports %+v", rep)
	}
}

func collectOwned(t *testing.T, s store.Store) {
	ended(t, s, "r", store.Head{Updated: old})
	o := own(t, s, "r")
	rep, err := keeper(t, s).Collect(t.Context(), cutoff, false)
	must(t, err)
	if rep.Runs != 0 || len(rep.Kept) != 1 {
		t.Errorf("the report on an owned run is %+v", rep)
	}
	must(t, o.Release())
	rep, err = keeper(t, s).Collect(t.Context(), cutoff, false)
	must(t, err)
	if rep.Runs != 1 {
		t.Errorf("the report on a free run is %+v", rep)
	}
}
