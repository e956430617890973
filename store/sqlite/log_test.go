package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
)

// TestSpans counts the rows of the index: a lone run needs one for 64 appends.
func TestSpans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	sequential(t, s, "lone", 199)
	if rows, spans := ask(t, dir, "SELECT count(*) FROM log"), ask(t, dir, "SELECT count(*) FROM spans"); rows != 200 || spans != 4 {
		t.Errorf("a lone run has %d rows and %d spans", rows, spans)
	}
	must(t, s.Append(t.Context(), created("left")))
	must(t, s.Append(t.Context(), created("right")))
	for i := range int64(10) {
		must(t, s.Append(t.Context(), step("left", 1, 2+2*i)))
		must(t, s.Append(t.Context(), step("right", 1, 2+2*i)))
	}
	if spans := ask(t, dir, "SELECT count(*) FROM spans"); spans != 4+22 {
		t.Errorf("beside two runs that take turns there are %d spans", spans)
	}
	for run, want := range map[workflow.RunID]int64{"lone": 400, "left": 22, "right": 22} {
		for after := range want {
			n := after
			must(t, s.Events(t.Context(), run, after, func(e workflow.Event) error {
				if n++; e.Seq != n {
					t.Errorf("%s: event %d stands where %d belongs", run, e.Seq, n)
				}
				return nil
			}))
			if n != want {
				t.Errorf("%s: after event %d there are %d", run, after, n-after)
			}
		}
	}
}

// TestAnyOrder writes batches of any size of several runs and forks through two
// stores on one directory, and removes some; what is read is what was written.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		stores := []*sqlite.Store{opened(t, dir), opened(t, dir)}
		want := make(map[workflow.RunID][]string)
		var names []workflow.RunID
		write := func(a store.Append, text string, n int) {
			for i := range n {
				a.Events = append(a.Events, said(a.After+int64(i), fmt.Sprint(text, " ", i))...)
			}
			if err := stores[rapid.IntRange(0, 1).Draw(rt, "store")].Append(t.Context(), a); err != nil {
				rt.Fatal(err)
			}
			for i := range n {
				want[a.Run] = append(want[a.Run], fmt.Sprint(text, " ", i))
			}
		}
		for i := range rapid.IntRange(1, 200).Draw(rt, "appends") {
			n := rapid.IntRange(0, 3).Draw(rt, "events")
			what := rapid.IntRange(0, 19).Draw(rt, "what")
			if len(names) == 0 || what == 0 {
				names = append(names, workflow.RunID(fmt.Sprint("run-", i)))
				write(store.Append{Run: names[len(names)-1], Epoch: 1, Create: &store.Create{}, Head: ended()}, fmt.Sprint(i), n)
				continue
			}
			run := names[min(rapid.IntRange(0, 2*len(names)).Draw(rt, "run"), len(names)-1)]
			switch have := want[run]; {
			case what == 1 && len(have) > 0:
				cut := rapid.IntRange(1, len(have)).Draw(rt, "cut")
				fork := workflow.RunID(fmt.Sprint("fork-", i))
				names, want[fork] = append(names, fork), append([]string{}, have[:cut]...)
				write(store.Append{Run: fork, Epoch: 1, After: int64(cut), Create: &store.Create{Parent: run, Cut: int64(cut)}, Head: ended()}, fmt.Sprint(i), n)
			case what == 2 && i%10 == 0:
				if _, err := stores[i%2].Collect(t.Context(), time.Now(), false); err != nil {
					rt.Fatal(err)
				}
				names = nil
				clear(want)
			default:
				write(store.Append{Run: run, Epoch: 1, After: int64(len(have))}, fmt.Sprint(i), n)
			}
		}
		for _, s := range append(stores, opened(t, dir)) {
			for _, run := range names {
				lines := want[run]
				if got, err := texts(t, s, run); err != nil || fmt.Sprint(got) != fmt.Sprint(lines) {
					rt.Errorf("%s says %v (%v), want %v", run, got, err, lines)
				}
				n := int64(rapid.IntRange(0, len(lines)).Draw(rt, "after"))
				if err := s.Events(t.Context(), run, n, func(workflow.Event) error { n++; return nil }); err != nil || n != int64(len(lines)) {
					rt.Errorf("the rest of %s ends with event %d (%v)", run, n, err)
				}
			}
		}
		if rep, err := stores[0].Check(t.Context()); err != nil || len(rep.Problems) > 0 || rep.Runs != len(names) {
			rt.Errorf("the check reports %+v (%v)", rep, err)
		}
		for _, s := range stores {
			must(t, s.Close())
		}
	})
}

// ended is a head of a run that may be collected.
func ended() *store.Head { return &store.Head{Status: workflow.StatusSucceeded} }

// TestManyRows writes a batch that one row does not take, and cuts it anywhere.
func TestManyRows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	a := store.Append{Run: "r", Epoch: 1, Create: &store.Create{}}
	var want []string
	for i := range int64(1100) {
		text := fmt.Sprint(i)
		if i%100 == 0 {
			text += strings.Repeat("long", 40_000)
		}
		want = append(want, text)
		a.Events = append(a.Events, said(i, text)...)
	}
	must(t, s.Append(t.Context(), created("before")))
	must(t, s.Append(t.Context(), a))
	if n := ask(t, dir, "SELECT count(*) FROM log WHERE run = 2"); n < 3 {
		t.Errorf("the batch has %d rows", n)
	}
	for _, cut := range []int64{1, 100, 101, 511, 512, 513, 1099, 1100} {
		run := workflow.RunID(fmt.Sprint("fork-", cut))
		must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, After: cut, Create: &store.Create{Parent: "r", Cut: cut}, Events: said(cut, "forked")}))
		got, err := texts(t, s, run)
		must(t, err)
		if lines := append(append([]string{}, want[:cut]...), "forked"); fmt.Sprint(got) != fmt.Sprint(lines) {
			t.Errorf("a fork at event %d reads %d events", cut, len(got))
		}
	}
}

// TestTwoWriters lets two stores on one directory write in turn: each sees what
// the other did before it writes.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := []*sqlite.Store{opened(t, dir), opened(t, dir)}
	must(t, s[0].Append(t.Context(), created("a")))
	must(t, s[1].Append(t.Context(), created("b")))
	after := int64(2)
	for i := range 50 {
		for range 1 + i%3 { // the next ones need no look into the database
			must(t, s[i%2].Append(t.Context(), step("a", 1, after)))
			after += 2
		}
		var stale *store.Stale
		if err := s[1-i%2].Append(t.Context(), step("a", 1, after-2)); !errors.As(err, &stale) {
			t.Fatalf("writing event %d twice gives %v", after-1, err)
		}
	}
	// A hold that is over writes nothing, however much its process remembers.
	must(t, s[0].Append(t.Context(), step("a", 1, after)))
	must(t, s[1].Append(t.Context(), store.Append{Run: "a", Epoch: 2, After: after + 2}))
	var stale *store.Stale
	if err := s[0].Append(t.Context(), step("a", 1, after+2)); !errors.As(err, &stale) {
		t.Errorf("writing under an old hold gives %v", err)
	}
	// Nor does one whose run was removed.
	must(t, s[0].Append(t.Context(), step("b", 1, 2)))
	must(t, s[1].Append(t.Context(), store.Append{Run: "b", Epoch: 1, After: 4, Head: ended()}))
	must(t, s[0].Append(t.Context(), step("b", 1, 4)))
	rep, err := s[1].Collect(t.Context(), time.Now(), false)
	must(t, err)
	if fmt.Sprint(rep.Removed) != "[b]" || rep.Events != 6 {
		t.Errorf("removed was %+v", rep)
	}
	fails(t, s[0].Append(t.Context(), step("b", 1, 6)), workflow.CodeRunNotFound)
	if rep, err = s[0].Check(t.Context()); err != nil || len(rep.Problems) > 0 || rep.Events != after+2 {
		t.Errorf("the check reports %+v (%v)", rep, err)
	}
}

// TestIDsGrow: the id of a row that was removed is not given again.
func TestIDsGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	for i := range 5 {
		run := workflow.RunID(fmt.Sprint("r-", i))
		a := created(run)
		a.Head = ended()
		must(t, s.Append(t.Context(), a))
		must(t, s.Append(t.Context(), step(run, 1, 2)))
		_, err := s.Collect(t.Context(), time.Now(), false)
		must(t, err)
		must(t, s.Close())
		if last := ask(t, dir, "SELECT max(id) FROM log"); last != int64(2*i+2) {
			t.Errorf("after %d runs the last id is %d", i+1, last)
		}
		s = opened(t, dir)
	}
}

// TestDamagedEnd damages the last row of a run, and what stands behind it: no
// history becomes shorter without a word, and no other run is harmed.
func TestDamagedEnd(t *testing.T) {
	t.Parallel()
	const last = " WHERE id = (SELECT max(id) FROM log WHERE run = 1)"
	for name, test := range map[string]struct{ statement, harmed string }{
		"run":       {"UPDATE log SET run = 2" + last, "run-0"},
		"no run":    {"UPDATE log SET run = 77" + last, "run-0"},
		"text":      {"UPDATE log SET run = 'one'" + last, "run-0"},
		"first":     {"UPDATE log SET first = first + 1" + last, "run-0"},
		"n":         {"UPDATE log SET n = 3" + last, "run-0"},
		"next":      {"UPDATE log SET run = 1 WHERE id = 1 + (SELECT max(id) FROM log WHERE run = 1)", "run-1"},
		"next text": {"UPDATE log SET run = 'one', first = 'two', data = 3 WHERE id = 1 + (SELECT max(id) FROM log WHERE run = 1)", "run-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
			must(t, err)
			for r := range 3 {
				run := workflow.RunID(fmt.Sprint("run-", r))
				must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, Create: &store.Create{}, Events: said(0, "0")}))
				for i := range int64(5) {
					must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, After: 1 + i, Events: said(1+i, "more")}))
				}
			}
			must(t, s.Close())
			tamper(t, dir, test.statement)
			s = opened(t, dir)
			for _, run := range []workflow.RunID{"run-0", "run-1", "run-2"} {
				got, err := texts(t, s, run)
				var d *store.Damaged
				switch harmed := string(run) == test.harmed; {
				case harmed && (!errors.As(err, &d) || d.Run != run):
					t.Errorf("the damaged run reads %v (%v)", got, err)
				case !harmed && (err != nil || len(got) != 6):
					t.Errorf("%s reads %v (%v)", run, got, err)
				case harmed:
					fails(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, After: 5, Events: said(5, "instead")}), workflow.CodeStoreDamaged, workflow.CodeRunStale)
				default:
					must(t, s.Append(t.Context(), store.Append{Run: run, Epoch: 1, After: 6, Events: said(6, "on")}))
				}
			}
			rep, err := s.Check(t.Context())
			must(t, err)
			if len(rep.Problems) == 0 || string(rep.Problems[0].Run) != test.harmed {
				t.Errorf("the check reports %+v", rep.Problems)
			}
		})
	}
}
