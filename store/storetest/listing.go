package storetest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func heads(t *testing.T, s store.Store) {
	want := store.Head{
		Run: "r", Workflow: "release", Digest: blob("doc").Digest, Kind: workflow.KindGraph, Status: workflow.StatusWaiting,
		Started: 1_700_000_000_000_001, Updated: 1_700_000_000_000_002, Root: "top", ChildOf: "mid", Questions: []string{"q1", "q2"},
		Node: "work/fix", Until: 9, Totals: workflow.Totals{Calls: 3, Input: 5, CostUSD: 0.25}, Detail: json.RawMessage(`{"a":1}`),
	}
	given := want
	given.ForkOf, given.Cut, given.Last, given.Epoch, given.Owner = "lie", 9, 9, 9, &store.Holder{} // the store knows better
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 2, Create: &store.Create{}, Events: note(0, 2, "x"), Head: &given}))
	given.Questions[0], want.Questions = "changed", []string{"q1", "q2"}
	want.Last, want.Epoch = 1, 2
	if got := head(t, s, "r"); !reflect.DeepEqual(got, want) {
		t.Errorf("the head is\n%+v, want\n%+v", got, want)
	}
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 2, After: 1, Events: note(1, 2, "y")})) // no new head
	want.Last = 2
	if got := head(t, s, "r"); !reflect.DeepEqual(got, want) {
		t.Errorf("the head is\n%+v, want\n%+v", got, want)
	}
	must(t, s.Append(t.Context(), store.Append{Run: "bare", Epoch: 1, Create: &store.Create{}}))
	if got := head(t, s, "bare"); got.Root != "bare" || got.Last != 0 || got.Epoch != 1 {
		t.Errorf("a run without a head has %+v", got)
	}
}

func queries(t *testing.T, s store.Store) {
	add := func(run workflow.RunID, started workflow.Time, h store.Head, c store.Create) {
		t.Helper()
		h.Started = started
		must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, After: c.Cut, Create: &c, Events: note(c.Cut, 1, "x"), Head: &h}))
	}
	add("ab-1", 10, store.Head{Questions: []string{"q1", "q2"}}, store.Create{})
	add("ab-2", 30, store.Head{ChildOf: "ab-1", Root: "ab-1"}, store.Create{})
	add("ab_3", 20, store.Head{Questions: []string{"q3"}}, store.Create{Parent: "ab-1", Cut: 1})
	add("b.4", 20, store.Head{}, store.Create{})
	wants(t, s, store.Query{}, "ab-2", "b.4", "ab_3", "ab-1")
	wants(t, s, store.Query{Limit: 2}, "ab-2", "b.4")
	wants(t, s, store.Query{Limit: 9, Roots: true}, "b.4", "ab_3", "ab-1")
	wants(t, s, store.Query{Run: "ab-1"}, "ab-1")
	wants(t, s, store.Query{Run: "ab"})
	wants(t, s, store.Query{Prefix: "ab"}, "ab-2", "ab_3", "ab-1")
	wants(t, s, store.Query{Prefix: "ab_"}, "ab_3") // not a pattern
	wants(t, s, store.Query{Prefix: "ab-1"}, "ab-1")
	wants(t, s, store.Query{Prefix: "AB"})
	wants(t, s, store.Query{Prefix: "%"})
	wants(t, s, store.Query{Question: "q2"}, "ab-1")
	wants(t, s, store.Query{Question: "q"})
	wants(t, s, store.Query{ChildOf: "ab-1"}, "ab-2")
	wants(t, s, store.Query{ForkOf: "ab-1"}, "ab_3")
	wants(t, s, store.Query{ForkOf: "ab-1", Question: "q1"})
	more := func(after int64, asked ...string) {
		t.Helper()
		must(t, s.Append(t.Context(), store.Append{Run: "ab-1", Epoch: 1, After: after, Events: note(after, 1, "x"), Head: &store.Head{Started: 10, Questions: asked}}))
	}
	more(1, "q2", "q5")
	wants(t, s, store.Query{Question: "q1"})
	wants(t, s, store.Query{Question: "q2"}, "ab-1")
	wants(t, s, store.Query{Question: "q5"}, "ab-1")
	more(2)
	wants(t, s, store.Query{Question: "q2"})
	wants(t, s, store.Query{Question: "q3"}, "ab_3")
}

// wants checks the runs of a query, in order.
func wants(t *testing.T, s store.Store, q store.Query, runs ...workflow.RunID) {
	t.Helper()
	got, err := s.Runs(t.Context(), q)
	must(t, err)
	var have []workflow.RunID
	for _, h := range got {
		have = append(have, h.Run)
	}
	if !slices.Equal(have, runs) {
		t.Errorf("%+v gives %v, want %v", q, have, runs)
	}
}
