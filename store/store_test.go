package store_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func record() store.Record {
	return store.Record{
		Event: workflow.Event{Seq: 1, At: 2, Epoch: 3, ID: "work#1", Node: "work", Visit: 4, Attempt: 5, Invocation: 6},
		Type:  workflow.TypeProgress, Data: []byte(`{"kind":"k","message":"m"}`),
	}
}

// TestSealIsStable: sums are on disk for ever.
func TestSealIsStable(t *testing.T) {
	t.Parallel()
	sum := store.Seal(store.Origin("run-1"), record())
	if got := hex.EncodeToString(sum[:]); got != "99227c25bbfc6b97e51a19b28848d308" {
		t.Errorf("the sum is %s", got)
	}
}

func TestChainFindsEveryChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*store.Record){
		"seq":        func(r *store.Record) { r.Event.Seq++ },
		"at":         func(r *store.Record) { r.Event.At++ },
		"epoch":      func(r *store.Record) { r.Event.Epoch++ },
		"id":         func(r *store.Record) { r.Event.ID += "x" },
		"node":       func(r *store.Record) { r.Event.Node += "x" },
		"id to node": func(r *store.Record) { r.Event.ID, r.Event.Node = r.Event.ID+"w", r.Event.Node[1:] },
		"visit":      func(r *store.Record) { r.Event.Visit++ },
		"attempt":    func(r *store.Record) { r.Event.Attempt++ },
		"invocation": func(r *store.Record) { r.Event.Invocation++ },
		"type":       func(r *store.Record) { r.Type = workflow.TypeLost },
		"data":       func(r *store.Record) { r.Data = append(r.Data, ' ') },
		"sum":        func(r *store.Record) { r.Sum[15] ^= 1 },
	} {
		all := []store.Record{record()}
		store.SealAll(store.Origin("r"), all)
		chain := store.Chain{Run: "r", Sum: store.Origin("r")}
		good := chain
		if err := good.Next(all[0]); err != nil || good.Seq != 1 || good.Sum != all[0].Sum {
			t.Fatalf("an unchanged record gives %v", err)
		}
		change(&all[0])
		var d *store.Damaged
		if err := chain.Next(all[0]); !errors.As(err, &d) || d.Seq != 1 || d.LastGood != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChainFindsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "n")
		all := make([]store.Record, n)
		for i := range all {
			all[i] = record()
			all[i].Event.Seq = int64(i) + 1
		}
		store.SealAll(store.Origin("r"), all)
		lost := rapid.IntRange(0, n-2).Draw(t, "lost")
		all = slices.Delete(all, lost, lost+1)
		if rapid.Bool().Draw(t, "renumbered") {
			for i := range all {
				all[i].Event.Seq = int64(i) + 1
			}
		}
		chain := store.Chain{Run: "r", Sum: store.Origin("r")}
		var err error
		for i := 0; i < len(all) && err == nil; i++ {
			err = chain.Next(all[i])
		}
		var d *store.Damaged
		if !errors.As(err, &d) || d.LastGood != int64(lost) {
			t.Fatalf("without record %d: %v", lost+1, err)
		}
	})
}

func TestUnknownType(t *testing.T) {
	t.Parallel()
	r := record()
	r.Type = "from_the_future"
	if _, err := r.Decode("r"); workflow.CodeOf(err) != workflow.CodeStoreNewer || !strings.Contains(err.Error(), "from_the_future") {
		t.Errorf("decoding an unknown type gives %v", err)
	}
}

func TestErrorsHaveCodes(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]workflow.Code{
		store.StaleAfter("r", 3, 4):                             workflow.CodeRunStale,
		store.StaleEpoch("r", 3, 4):                             workflow.CodeRunStale,
		&store.Held{Run: "r", Holder: store.Holder{PID: 7}}:     workflow.CodeRunHeld,
		&store.Damaged{Run: "r", Seq: 5, LastGood: 4, Why: "x"}: workflow.CodeStoreDamaged,
	} {
		if !errors.Is(fmt.Errorf("doing: %w", err), &workflow.Error{Code: code}) || errors.Is(err, &workflow.Error{Code: workflow.CodeInternal}) {
			t.Errorf("%v has not the code %s", err, code)
		}
		if !strings.Contains(err.Error(), "run r ") {
			t.Errorf("%q does not name the run", err)
		}
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	done, waits := workflow.StatusSucceeded, workflow.StatusWaiting
	for name, test := range map[string]struct {
		heads []store.Head
		gone  string
	}{
		"none":             {nil, "[]"},
		"ended":            {[]store.Head{{Run: "a", Status: done, Updated: 4}}, "[[a]]"},
		"too recent":       {[]store.Head{{Run: "a", Status: done, Updated: 5}}, "[]"},
		"not ended":        {[]store.Head{{Run: "a", Status: waits}}, "[]"},
		"owned":            {[]store.Head{{Run: "a", Status: done, Owner: &store.Holder{}}}, "[]"},
		"a chain of forks": {[]store.Head{{Run: "a", Status: done}, {Run: "b", Status: done, ForkOf: "a"}, {Run: "c", Status: waits, ForkOf: "b"}}, "[]"},
		"a tree":           {[]store.Head{{Run: "a", Status: done, Root: "a"}, {Run: "b", Status: done, Root: "a", ChildOf: "a"}}, "[[a b]]"},
		"a fork of a child": {[]store.Head{{Run: "a", Status: done}, {Run: "b", Status: done, ChildOf: "a"}, {Run: "f", Status: waits, ForkOf: "b"},
			{Run: "z", Status: done}}, "[[z]]"},
		"parents that are gone": {[]store.Head{{Run: "a", Status: done, ChildOf: "x", Root: "y", ForkOf: "z"}}, "[[a]]"},
	} {
		groups, kept := store.Garbage(test.heads, 5)
		if fmt.Sprint(groups) != test.gone {
			t.Errorf("%s: %v goes, want %s", name, groups, test.gone)
		}
		if n := len(slices.Concat(groups...)); n+len(kept) != len(test.heads) {
			t.Errorf("%s: %d of %d runs are accounted for", name, n+len(kept), len(test.heads))
		}
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()
	a, b := store.DigestOf([]byte("a")), store.DigestOf([]byte("b"))
	for text, want := range map[string][]workflow.Digest{
		"":            nil,
		string(a):     {a},
		string(a[1:]): nil,
		`{"blob":"` + string(a) + `","b":"c1:` + string(b) + `"}`: {a, b},
		strings.ToUpper(string(a)):                                nil,
		"x" + string(a) + "g":                                     {a},
	} {
		var got []workflow.Digest
		store.Digests([]byte(text), func(d workflow.Digest) { got = append(got, d) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q holds %v, want %v", text, got, want)
		}
	}
	found := false
	store.Digests([]byte("ab"+string(a)), func(d workflow.Digest) { found = found || d == a }) // behind other hex digits
	if !found {
		t.Error("a digest behind hex digits is overlooked")
	}
}

func FuzzRecord(f *testing.F) {
	f.Add("progress", []byte(`{"kind":"k"}`))
	f.Add("settled", []byte(`{"output":{"json":null}}`))
	f.Add("run_started", []byte(`{"inputs":{"blob":"x"}}`))
	f.Add("", []byte{0})
	f.Fuzz(func(t *testing.T, typ string, data []byte) {
		e, err := store.Record{Type: workflow.EventType(typ), Data: data}.Decode("r")
		if err != nil {
			return
		}
		again, err := store.Encode([]workflow.Event{e})
		if err != nil {
			t.Skip() // what JSON cannot hold, an event cannot either
		}
		if _, err := again[0].Decode("r"); err != nil {
			t.Errorf("%s decodes once only: %v", data, err)
		}
	})
}
