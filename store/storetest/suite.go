// Package storetest is the suite that every Store must pass.
//
// Holds: the tests of the contract in package store, and the small histories
// they are made of.
//
// Guarantees: a store that passes Run behaves like every other that does; one
// that passes Durable keeps what it took when it is opened again.
//
// Does not: belong into a product. Only tests import it.
package storetest

import (
	"errors"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Run tests a kind of store. open returns an empty one and closes it when the
// test ends.
func Run(t *testing.T, open func(*testing.T) store.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, store.Store)
	}{
		{"every payload comes back", everyPayload},
		{"batches do not matter", batches},
		{"nothing of a refused append stays", refused},
		{"an append must follow", stale},
		{"bad appends are refused", bad},
		{"runs are apart", concurrent},
		{"a refused append harms no other", mates},
		{"a large batch", large},
		{"a cancelled append is definite", cancelled},
		{"reading can be stopped", stopped},
		{"reading a run that is not there", absent},
		{"forks share history", forks},
		{"forks need an event to fork from", badForks},
		{"snapshots up to", snapshots},
		{"blobs", blobs},
		{"inbox", inbox},
		{"inbox is bounded", inboxBound},
		{"a run has one owner", owners},
		{"owners race", ownersRace},
		{"looking disturbs no owner", looking},
		{"heads", heads},
		{"queries", queries},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// Durable tests a kind of store that lives in a directory. open opens the store
// of a directory; close is called before it is opened again.
func Durable(t *testing.T, open func(t *testing.T, dir string) (s store.Store, close func())) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, func() (store.Store, func()))
	}{
		{"all is there when it is opened again", reopened},
		{"two stores of one directory", beside},
		{"a hold ends with its store", holdEnds},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			test.run(t, func() (store.Store, func()) { return open(t, dir) })
		})
	}
}

// note returns events after a seq that each say one thing.
func note(after, epoch int64, texts ...string) []workflow.Event {
	out := make([]workflow.Event, len(texts))
	for i, text := range texts {
		out[i] = workflow.Event{
			Seq: after + int64(i) + 1, At: workflow.Time(1_700_000_000_000_000 + after), Epoch: epoch,
			ID: "work#1", Node: "work", Visit: 1, Attempt: 1,
			Payload: &workflow.Progress{Kind: "note", Message: text},
		}
	}
	return out
}

// begin creates a run with events that say the texts.
func begin(t *testing.T, s store.Store, run workflow.RunID, texts ...string) {
	t.Helper()
	must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, Create: &store.Create{},
		Events: note(0, 1, texts...), Head: &store.Head{Status: workflow.StatusRunning}}))
}

// more appends events that say the texts.
func more(t *testing.T, s store.Store, run workflow.RunID, epoch, after int64, texts ...string) {
	t.Helper()
	must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: epoch, After: after, Events: note(after, epoch, texts...)}))
}

// history reads the events after a seq; it checks that their numbers are right.
func history(t *testing.T, s store.Store, run workflow.RunID, after int64) []workflow.Event {
	t.Helper()
	var out []workflow.Event
	must(t, s.Events(t.Context(), run, after, func(e workflow.Event) error {
		if want := after + int64(len(out)) + 1; e.Seq != want {
			t.Errorf("event %d of %s comes where %d belongs", e.Seq, run, want)
		}
		out = append(out, e)
		return nil
	}))
	return out
}

// says checks what the events after a seq say.
func says(t *testing.T, s store.Store, run workflow.RunID, after int64, texts ...string) {
	t.Helper()
	got := history(t, s, run, after)
	if len(got) != len(texts) {
		t.Fatalf("%s has %d events after %d, want %d", run, len(got), after, len(texts))
	}
	for i, e := range got {
		if p, ok := e.Payload.(*workflow.Progress); !ok || p.Message != texts[i] {
			t.Errorf("event %d of %s is %+v, want %q", e.Seq, run, e.Payload, texts[i])
		}
	}
}

// head returns the head of a run.
func head(t *testing.T, s store.Store, run workflow.RunID) store.Head {
	t.Helper()
	got, err := s.Runs(t.Context(), store.Query{Run: run})
	must(t, err)
	if len(got) != 1 {
		t.Fatalf("there are %d heads of run %s", len(got), run)
	}
	return got[0]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails checks that err has the code.
func fails(t *testing.T, err error, code workflow.Code) {
	t.Helper()
	if !errors.Is(err, &workflow.Error{Code: code}) {
		t.Errorf("error %v, want one with code %s", err, code)
	}
}

func blob(text string) store.Blob {
	return store.Blob{Digest: store.DigestOf([]byte(text)), Data: []byte(text)}
}
