package storetest

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func reopened(t *testing.T, open func() (store.Store, func())) {
	s, done := open()
	o := own(t, s, "r")
	begin(t, s, "r", "one")
	big := blob(strings.Repeat("big", 50_000))
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: o.Epoch(), After: 1, Events: note(1, o.Epoch(), "two"), Blobs: []store.Blob{big, blob("small")},
		Head: &store.Head{Status: workflow.StatusWaiting, Questions: []string{"q"}}, Snapshot: &store.Snapshot{Seq: 2, State: []byte("state")}}))
	must(t, s.Post(t.Context(), store.Control{ID: "c", Run: "r", Kind: store.ControlAnswer}))
	fork(t, s, "f", "r", 1, "f2")
	done()

	s, done = open()
	defer done()
	says(t, s, "r", 0, "one", "two")
	says(t, s, "f", 0, "one", "f2")
	for _, b := range []store.Blob{big, blob("small")} {
		if got, err := s.Blob(t.Context(), b.Digest); err != nil || string(got) != string(b.Data) {
			t.Errorf("a blob came back as %d bytes (%v)", len(got), err)
		}
	}
	wants(t, s, store.Query{Question: "q"}, "r")
	if h := head(t, s, "r"); h.Owner != nil || h.Last != 2 || h.Status != workflow.StatusWaiting {
		t.Errorf("the head is %+v", h)
	}
	snap, err := s.Snapshot(t.Context(), "r", 0)
	must(t, err)
	if snap.Seq != 2 || string(snap.State) != "state" {
		t.Errorf("the snapshot is %+v", snap)
	}
	again := own(t, s, "r")
	if again.Epoch() <= o.Epoch() {
		t.Errorf("the epoch after %d is %d", o.Epoch(), again.Epoch())
	}
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: again.Epoch(), After: 2, Events: note(2, again.Epoch(), "three"), Taken: []string{"c"}}))
	more(t, s, "f", 1, 2, "f3")
	says(t, s, "r", 0, "one", "two", "three")
	says(t, s, "f", 0, "one", "f2", "f3")
}

// beside: what one store writes, the other sees at once, and is fenced by.
func beside(t *testing.T, open func() (store.Store, func())) {
	a, doneA := open()
	defer doneA()
	b, doneB := open()
	defer doneB()
	o := own(t, a, "r")
	if _, err := b.Own(t.Context(), "r"); err == nil {
		t.Error("the run has two owners")
	}
	must(t, a.Append(t.Context(), store.Append{Run: "r", Epoch: o.Epoch(), Create: &store.Create{}, Events: note(0, o.Epoch(), "one")}))
	says(t, b, "r", 0, "one")
	if h := head(t, b, "r"); h.Owner == nil {
		t.Error("the other store sees no owner")
	}
	must(t, o.Release())
	p := own(t, b, "r")
	must(t, b.Append(t.Context(), store.Append{Run: "r", Epoch: p.Epoch(), After: 1, Events: note(1, p.Epoch(), "two")}))
	fails(t, a.Append(t.Context(), store.Append{Run: "r", Epoch: o.Epoch(), After: 1, Events: note(1, o.Epoch(), "late")}), workflow.CodeRunStale)
	fails(t, a.Append(t.Context(), store.Append{Run: "r", Epoch: o.Epoch(), After: 2, Events: note(2, o.Epoch(), "late")}), workflow.CodeRunStale)
	for i := range int64(20) { // taking turns
		s := []store.Store{a, b}[i%2]
		must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: p.Epoch(), After: 2 + i, Events: note(2+i, p.Epoch(), "turn")}))
	}
	if n := len(history(t, a, "r", 0)); n != 22 {
		t.Errorf("there are %d events", n)
	}
	must(t, a.Post(t.Context(), store.Control{ID: "c", Run: "r", Kind: store.ControlPause}))
	fails(t, b.Post(t.Context(), store.Control{ID: "c", Run: "r", Kind: store.ControlCancel}), workflow.CodeControlConflict)
}

func holdEnds(t *testing.T, open func() (store.Store, func())) {
	a, done := open()
	begin(t, a, "r", "one")
	own(t, a, "r")
	done()
	b, done := open()
	defer done()
	must(t, own(t, b, "r").Release())
}
