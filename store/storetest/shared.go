package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func fork(t *testing.T, s store.Store, run, parent workflow.RunID, cut int64, texts ...string) {
	t.Helper()
	must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, After: cut, Create: &store.Create{Parent: parent, Cut: cut},
		Events: note(cut, 1, texts...), Head: &store.Head{}}))
}

func forks(t *testing.T, s store.Store) {
	begin(t, s, "a", "a1", "a2", "a3", "a4")
	fork(t, s, "b", "a", 3, "b4", "b5")
	fork(t, s, "c", "b", 5, "c6") // at the very end of b
	fork(t, s, "d", "b", 2, "d3") // at an event of a
	fork(t, s, "e", "c", 4)       // nothing of its own, shares one event of b
	fork(t, s, "f", "e", 4, "f5") // at the cut of e
	fork(t, s, "g", "a", 4)       // nothing yet
	more(t, s, "a", 1, 4, "a5")   // the parent goes on
	more(t, s, "b", 2, 5, "b6")   // under a new owner
	more(t, s, "g", 1, 4, "g5")   // the first of its own
	more(t, s, "c", 1, 6, "c7")   // goes on
	says(t, s, "a", 0, "a1", "a2", "a3", "a4", "a5")
	says(t, s, "b", 0, "a1", "a2", "a3", "b4", "b5", "b6")
	says(t, s, "c", 0, "a1", "a2", "a3", "b4", "b5", "c6", "c7")
	says(t, s, "d", 0, "a1", "a2", "d3")
	says(t, s, "e", 0, "a1", "a2", "a3", "b4")
	says(t, s, "f", 0, "a1", "a2", "a3", "b4", "f5")
	says(t, s, "g", 0, "a1", "a2", "a3", "a4", "g5")
	for after := range int64(8) {
		says(t, s, "c", after, []string{"a1", "a2", "a3", "b4", "b5", "c6", "c7"}[min(after, 7):]...)
	}
	if h := head(t, s, "c"); h.ForkOf != "b" || h.Cut != 5 || h.Last != 7 || h.Root != "c" {
		t.Errorf("the head of a fork is %+v", h)
	}
	if h := head(t, s, "e"); h.Last != 4 {
		t.Errorf("a fork without events ends at %d", h.Last)
	}
	fails(t, s.Append(t.Context(), store.Append{Run: "g", Epoch: 1, After: 4, Events: note(4, 1, "again")}), workflow.CodeRunStale)
}

func badForks(t *testing.T, s store.Store) {
	begin(t, s, "a", "a1", "a2")
	try := func(parent workflow.RunID, cut int64, code workflow.Code) {
		t.Helper()
		fails(t, s.Append(t.Context(), store.Append{Run: "f", Epoch: 1, After: cut, Create: &store.Create{Parent: parent, Cut: cut}, Events: note(cut, 1, "x")}), code)
	}
	try("none", 1, workflow.CodeRunNotFound)
	try("a", 3, workflow.CodeForkNotFound)
	if all, err := s.Runs(t.Context(), store.Query{}); err != nil || len(all) != 1 {
		t.Errorf("after refused forks there are %d runs (%v)", len(all), err)
	}
}

func snapshots(t *testing.T, s store.Store) {
	snap := func(run workflow.RunID, after, seq int64, state string) {
		t.Helper()
		must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, After: after, Events: note(after, 1, "x"), Snapshot: &store.Snapshot{Seq: seq, State: []byte(state)}}))
	}
	want := func(run workflow.RunID, upTo, seq int64, state string) {
		t.Helper()
		got, err := s.Snapshot(t.Context(), run, upTo)
		must(t, err)
		if got.Seq != seq || string(got.State) != state {
			t.Errorf("up to %d, %s has the snapshot %d %q, want %d %q", upTo, run, got.Seq, got.State, seq, state)
		}
	}
	begin(t, s, "a", "1", "2", "3")
	want("a", 0, 0, "")
	snap("a", 3, 2, "a2") // of an earlier event
	snap("a", 4, 5, "a5")
	want("a", 0, 5, "a5")
	want("a", 5, 5, "a5")
	want("a", 4, 2, "a2")
	want("a", 1, 0, "")
	fork(t, s, "b", "a", 4, "b5", "b6")
	want("b", 0, 2, "a2") // a5 is behind the cut
	snap("b", 6, 7, "b7")
	want("b", 0, 7, "b7")
	want("b", 6, 2, "a2")
	fork(t, s, "c", "b", 7)
	want("c", 0, 7, "b7")
	want("c", 6, 2, "a2")
	snap("a", 5, 5, "again") // the same seq twice
	want("a", 0, 5, "again")
}

func blobs(t *testing.T, s store.Store) {
	all := []store.Blob{blob(""), blob("small"), blob(strings.Repeat("a", 64<<10)), blob(strings.Repeat("b", 64<<10+1)), blob(strings.Repeat("c", 3<<20))}
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, Create: &store.Create{}, Blobs: all}))
	for i := range 3 { // the same again, from other runs too
		run := workflow.RunID(fmt.Sprintf("r%d", i))
		must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, Create: &store.Create{}, Blobs: all[i : i+2]}))
	}
	for _, b := range all {
		got, err := s.Blob(t.Context(), b.Digest)
		must(t, err)
		if string(got) != string(b.Data) || got == nil {
			t.Errorf("a blob of %d bytes came back with %d", len(b.Data), len(got))
		}
	}
	for _, d := range []workflow.Digest{blob("other").Digest, "", "zz", "../../etc/passwd"} {
		_, err := s.Blob(t.Context(), d)
		fails(t, err, workflow.CodeNotFound)
	}
}
