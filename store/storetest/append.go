package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// batches: however a history is cut into appends, it reads the same.
func batches(t *testing.T, s store.Store) {
	var n atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringN(0, 40, 200), 1, 30).Draw(rt, "texts")
		run := workflow.RunID(fmt.Sprintf("law-%d", n.Add(1)))
		begin(t, s, run)
		for after := 0; after < len(texts); {
			end := rapid.IntRange(after, len(texts)).Draw(rt, "end")
			more(t, s, run, 1, int64(after), texts[after:end]...)
			after = end
		}
		from := rapid.IntRange(0, len(texts)).Draw(rt, "from")
		says(t, s, run, int64(from), texts[from:]...)
	})
}

func refused(t *testing.T, s store.Store) {
	begin(t, s, "r", "one")
	must(t, s.Post(t.Context(), store.Control{ID: "c", Run: "r", Kind: store.ControlSteer}))
	b := blob("never there")
	try := func(change func(*store.Append), code workflow.Code) {
		t.Helper()
		a := store.Append{Run: "r", Epoch: 1, After: 1, Events: note(1, 1, "two"), Blobs: []store.Blob{b},
			Head: &store.Head{Status: workflow.StatusFailed}, Snapshot: &store.Snapshot{Seq: 2, State: []byte("x")}, Taken: []string{"c"}}
		change(&a)
		fails(t, s.Append(t.Context(), a), code)
		says(t, s, "r", 0, "one")
		if h := head(t, s, "r"); h.Status != workflow.StatusRunning || h.Last != 1 {
			t.Errorf("the head changed to %+v", h)
		}
		if _, err := s.Blob(t.Context(), b.Digest); err == nil {
			t.Error("a blob of a refused append is there")
		}
		snap, err := s.Snapshot(t.Context(), "r", 0)
		must(t, err)
		if snap.Seq != 0 {
			t.Error("a snapshot of a refused append is there")
		}
		left, err := s.Inbox(t.Context(), "r")
		must(t, err)
		if len(left) != 1 {
			t.Error("a refused append took a control")
		}
	}
	try(func(a *store.Append) { a.After, a.Events = 0, note(0, 1, "two"); a.Snapshot.Seq = 1 }, workflow.CodeRunStale)
	try(func(a *store.Append) { a.After, a.Events = 2, note(2, 1, "two") }, workflow.CodeRunStale)
	try(func(a *store.Append) { a.Taken = []string{"c", "other"} }, workflow.CodeNotFound)
	try(func(a *store.Append) { a.Taken = []string{"c", "c"} }, workflow.CodeNotFound)
	try(func(a *store.Append) {
		a.After, a.Create, a.Snapshot = 0, &store.Create{}, nil
		a.Events = note(0, 1, "two")
	}, workflow.CodeRunExists)
	try(func(a *store.Append) { a.Events = note(1, 1, strings.Repeat("x", store.MaxEventBytes)) }, workflow.CodeInvalidArguments)
	try(func(a *store.Append) { a.Blobs[0].Data = []byte("other") }, workflow.CodeInvalidArguments)
}

func stale(t *testing.T, s store.Store) {
	begin(t, s, "r", "one")
	more(t, s, "r", 3, 1, "two") // another owner
	err := s.Append(t.Context(), store.Append{Run: "r", Epoch: 2, After: 2, Events: note(2, 2, "late")})
	var st *store.Stale
	if !errors.As(err, &st) || st.Run != "r" {
		t.Errorf("an append of an old epoch gives %v", err)
	}
	err = s.Append(t.Context(), store.Append{Run: "r", Epoch: 2, After: 2, Head: &store.Head{}})
	fails(t, err, workflow.CodeRunStale)
	err = s.Append(t.Context(), store.Append{Run: "r", Epoch: 3, After: 1, Events: note(1, 3, "again")})
	fails(t, err, workflow.CodeRunStale)
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 4, After: 2, Head: &store.Head{Status: workflow.StatusFailed}})) // no events
	fails(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 3, After: 2, Events: note(2, 3, "late")}), workflow.CodeRunStale)
	if h := head(t, s, "r"); h.Epoch != 4 || h.Last != 2 {
		t.Errorf("the head says epoch %d and last %d", h.Epoch, h.Last)
	}
	says(t, s, "r", 0, "one", "two")
	fails(t, s.Append(t.Context(), store.Append{Run: "none", Epoch: 1, Events: note(0, 1, "x")}), workflow.CodeRunNotFound)
}

func bad(t *testing.T, s store.Store) {
	begin(t, s, "r", "one")
	for name, a := range map[string]store.Append{
		"no run":           {Epoch: 1},
		"a path as run":    {Run: "../r", Epoch: 1},
		"a hidden run":     {Run: ".r", Epoch: 1},
		"no epoch":         {Run: "r", After: 1, Events: note(1, 0, "x")},
		"a gap":            {Run: "r", Epoch: 1, After: 1, Events: note(2, 1, "x")},
		"another epoch":    {Run: "r", Epoch: 2, After: 1, Events: note(1, 1, "x")},
		"no payload":       {Run: "r", Epoch: 1, After: 1, Events: []workflow.Event{{Seq: 2, Epoch: 1}}},
		"before the start": {Run: "r", Epoch: 1, After: -1},
		"another's head":   {Run: "r", Epoch: 1, After: 1, Head: &store.Head{Run: "q"}},
		"early snapshot":   {Run: "r", Epoch: 1, After: 1, Snapshot: &store.Snapshot{Seq: 2}},
		"fork of itself":   {Run: "r", Epoch: 1, After: 1, Create: &store.Create{Parent: "r", Cut: 1}},
		"fork elsewhere":   {Run: "f", Epoch: 1, After: 2, Create: &store.Create{Parent: "r", Cut: 1}},
		"late start":       {Run: "n", Epoch: 1, After: 2, Create: &store.Create{}},
	} {
		if err := s.Append(t.Context(), a); workflow.CodeOf(err) != workflow.CodeInvalidArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
	says(t, s, "r", 0, "one")
}

func concurrent(t *testing.T, s store.Store) {
	const runs, steps = 64, 20
	var wg sync.WaitGroup
	for r := range runs {
		wg.Go(func() {
			run := workflow.RunID(fmt.Sprintf("run-%d", r))
			if err := s.Append(t.Context(), store.Append{Run: run, Epoch: 1, Create: &store.Create{}, Events: note(0, 1, "start")}); err != nil {
				t.Error(err)
				return
			}
			for i := range steps {
				after := int64(1 + 2*i)
				text := fmt.Sprintf("%s %d", run, i)
				err := s.Append(t.Context(), store.Append{Run: run, Epoch: 1, After: after, Events: note(after, 1, text, text)})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for r := range runs {
		run := workflow.RunID(fmt.Sprintf("run-%d", r))
		want := []string{"start"}
		for i := range steps {
			text := fmt.Sprintf("%s %d", run, i)
			want = append(want, text, text)
		}
		says(t, s, run, 0, want...)
	}
}

// mates: of appends that are written together, the wrong ones fail alone.
func mates(t *testing.T, s store.Store) {
	const runs, steps = 40, 10
	for r := range runs {
		begin(t, s, workflow.RunID(fmt.Sprintf("m-%d", r)), "start")
	}
	var wg sync.WaitGroup
	for r := range runs {
		run := workflow.RunID(fmt.Sprintf("m-%d", r))
		wg.Go(func() {
			for i := range steps {
				a := store.Append{Run: run, Epoch: 1, After: int64(1 + i), Events: note(int64(1+i), 1, "ok")}
				if r%4 == 0 { // always behind
					a.After, a.Events = 0, note(0, 1, "wrong")
				}
				if err := s.Append(t.Context(), a); (err != nil) != (r%4 == 0) {
					t.Errorf("%s: %v", run, err)
				}
			}
		})
	}
	wg.Wait()
	for r := range runs {
		want := 1 + steps
		if r%4 == 0 {
			want = 1
		}
		if got := len(history(t, s, workflow.RunID(fmt.Sprintf("m-%d", r)), 0)); got != want {
			t.Errorf("m-%d has %d events, want %d", r, got, want)
		}
	}
}

func large(t *testing.T, s store.Store) {
	texts := make([]string, 5000)
	for i := range texts {
		texts[i] = fmt.Sprintf("event %d", i+1)
	}
	begin(t, s, "large", texts...)
	more(t, s, "large", 1, 5000, strings.Repeat("long ", 200_000))
	says(t, s, "large", 0, append(texts, strings.Repeat("long ", 200_000))...)
	for _, after := range []int64{511, 512, 513, 4999} {
		if got := history(t, s, "large", after); int64(len(got)) != 5001-after {
			t.Errorf("%d events after %d", len(got), after)
		}
	}
}

// cancelled: an append whose context ends is there or not there, as it says.
func cancelled(t *testing.T, s store.Store) {
	begin(t, s, "r", "one")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(gone, store.Append{Run: "r", Epoch: 1, After: 1, Events: note(1, 1, "two")}); !errors.Is(err, context.Canceled) {
		t.Errorf("an append after the end of its context gives %v", err)
	}
	says(t, s, "r", 0, "one")
	var wg sync.WaitGroup
	for r := range 50 {
		wg.Go(func() {
			run := workflow.RunID(fmt.Sprintf("c-%d", r))
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(cancel)
			err := s.Append(ctx, store.Append{Run: run, Epoch: 1, Create: &store.Create{}, Events: note(0, 1, "x")})
			heads, e := s.Runs(t.Context(), store.Query{Run: run})
			if e != nil || (err == nil) != (len(heads) == 1) {
				t.Errorf("append says %v, and there are %d runs (%v)", err, len(heads), e)
			}
		})
	}
	wg.Wait()
}

func stopped(t *testing.T, s store.Store) {
	begin(t, s, "r", make([]string, 2000)...)
	enough, n := errors.New("enough"), 0
	err := s.Events(t.Context(), "r", 0, func(workflow.Event) error {
		if n++; n == 700 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 700 {
		t.Errorf("reading ended after %d events with %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = s.Events(ctx, "r", 0, func(workflow.Event) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("reading under an ended context gives %v", err)
	}
	if got := history(t, s, "r", 5000); got != nil {
		t.Errorf("%d events beyond the end", len(got))
	}
}

func absent(t *testing.T, s store.Store) {
	fails(t, s.Events(t.Context(), "none", 0, func(workflow.Event) error { return nil }), workflow.CodeRunNotFound)
	_, err := s.Snapshot(t.Context(), "none", 0)
	fails(t, err, workflow.CodeRunNotFound)
	_, err = s.Inbox(t.Context(), "none")
	fails(t, err, workflow.CodeRunNotFound)
	fails(t, s.Post(t.Context(), store.Control{ID: "x", Run: "none", Kind: store.ControlSteer}), workflow.CodeRunNotFound)
}
