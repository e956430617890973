package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	driver "modernc.org/sqlite"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
)

// step is what one sequential visit writes: a result and the next admission.
func step(run workflow.RunID, epoch, after int64) store.Append {
	visit := int(after/2) + 1
	id := fmt.Sprintf("work#1/fix#%d", visit)
	at := workflow.Time(1_700_000_000_000_000 + after)
	return store.Append{Run: run, Epoch: epoch, After: after, Events: []workflow.Event{
		{Seq: after + 1, At: at, Epoch: epoch, ID: id, Node: "work/fix", Visit: visit, Attempt: 1, Payload: &workflow.Settled{
			Outcome: "next", Output: workflow.Inline([]byte(`{"exit":0,"text":"a short result"}`)), History: "fixed"}},
		{Seq: after + 2, At: at, Epoch: epoch, ID: id, Node: "work/fix", Visit: visit + 1, Attempt: 1, Payload: &workflow.Admitted{
			Kind: "shell", Effect: workflow.EffectWrite, Params: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
	}}
}

func created(run workflow.RunID) store.Append {
	a := step(run, 1, 0)
	a.Create = &store.Create{}
	return a
}

// bare is a loop of prepared autocommit inserts of one row of 300 bytes, with
// the same settings.
func bare(tb testing.TB, dir string, n int) time.Duration {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, data BLOB)"); err != nil {
		tb.Fatal(err)
	}
	st, err := db.Prepare("INSERT INTO t (run, seq, data) VALUES (?, ?, ?)")
	if err != nil {
		tb.Fatal(err)
	}
	defer st.Close()
	data := make([]byte, 300)
	start := time.Now()
	for i := range n {
		if _, err := st.Exec(1, i, data); err != nil {
			tb.Fatal(err)
		}
	}
	return time.Since(start)
}

func sequential(tb testing.TB, s store.Store, run workflow.RunID, n int) time.Duration {
	ctx := tb.Context()
	if err := s.Append(ctx, created(run)); err != nil {
		tb.Fatal(err)
	}
	start := time.Now()
	for i := range n {
		if err := s.Append(ctx, step(run, 1, int64(2*i+2))); err != nil {
			tb.Fatal(err)
		}
	}
	return time.Since(start)
}

func concurrent(tb testing.TB, s store.Store, prefix string, runs, n int) time.Duration {
	ctx := tb.Context()
	var wg sync.WaitGroup
	start := time.Now()
	for r := range runs {
		wg.Go(func() {
			run := workflow.RunID(fmt.Sprintf("%s-%04d", prefix, r))
			if err := s.Append(ctx, created(run)); err != nil {
				tb.Error(err)
				return
			}
			for i := 1; i < n; i++ {
				if err := s.Append(ctx, step(run, 1, int64(2*i))); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func opened(tb testing.TB, dir string) *sqlite.Store {
	s, err := sqlite.Open(tb.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// BenchmarkAgainstBareLoop interleaves rounds of the bare loop with rounds of
// the store on the same disk and reports the ratios: appends of one run, and
// events of 1,000 runs, to bare commits.
func BenchmarkAgainstBareLoop(b *testing.B) {
	const n = 1000
	for _, sync := range []bool{false, true} {
		name := "bare=fsync"
		if sync {
			name = "bare=fdatasync"
		}
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			s := opened(b, filepath.Join(dir, "state"))
			var bares, seqs, manys []float64 // per second, by round
			for b.Loop() {
				if _, err := driver.Fdatasync(sync); err != nil {
					b.Fatal(err)
				}
				bares = append(bares, n/bare(b, dir, n).Seconds())
				if _, err := driver.Fdatasync(true); err != nil {
					b.Fatal(err)
				}
				seqs = append(seqs, n/sequential(b, s, workflow.RunID(fmt.Sprintf("one-%d", len(seqs))), n).Seconds())
				manys = append(manys, 1000*10*2/concurrent(b, s, fmt.Sprintf("many-%d", len(manys)), 1000, 10).Seconds())
			}
			b.ReportMetric(median(bares), "bare/s")
			b.ReportMetric(median(seqs), "appends/s")
			b.ReportMetric(median(ratios(seqs, bares)), "seq-ratio")
			b.ReportMetric(median(manys), "events/s")
			b.ReportMetric(median(ratios(manys, bares)), "many-ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// BenchmarkFork forks a run in its middle and reads what a driver needs to go
// on: the cost must not grow with the history.
func BenchmarkFork(b *testing.B) {
	for _, n := range []int64{1000, 10_000} {
		b.Run(fmt.Sprintf("steps=%d", n), func(b *testing.B) {
			s := opened(b, b.TempDir())
			for i := range n {
				a := step("r", 1, 2*i)
				if i == 0 {
					a.Create = &store.Create{}
				}
				if i%500 == 499 {
					a.Snapshot = &store.Snapshot{Seq: 2*i + 2, State: make([]byte, 10_000)}
				}
				if err := s.Append(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
			forks := 0
			for b.Loop() {
				forks++
				run := workflow.RunID(fmt.Sprintf("f-%d", forks))
				a := step(run, 1, n-100)
				a.Create = &store.Create{Parent: "r", Cut: n - 100}
				if err := s.Append(b.Context(), a); err != nil {
					b.Fatal(err)
				}
				snap, err := s.Snapshot(b.Context(), run, 0)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Events(b.Context(), run, snap.Seq, func(workflow.Event) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEvents reads histories, verified and decoded: one that was written at
// once, one that was written step by step, and one of ten that took turns.
func BenchmarkEvents(b *testing.B) {
	const n = 5000 // steps
	for name, write := range map[string]func(b *testing.B, s store.Store){
		"at once": func(b *testing.B, s store.Store) {
			a := store.Append{Run: "r-0", Epoch: 1, Create: &store.Create{}}
			for i := range int64(n) {
				a.Events = append(a.Events, step("r-0", 1, 2*i).Events...)
			}
			if err := s.Append(b.Context(), a); err != nil {
				b.Fatal(err)
			}
		},
		"in steps": func(b *testing.B, s store.Store) { sequential(b, s, "r-0", n-1) },
		"in turn": func(b *testing.B, s store.Store) {
			for i := range int64(n) {
				for r := range 10 {
					a := step(workflow.RunID(fmt.Sprint("r-", r)), 1, 2*i)
					if i == 0 {
						a.Create = &store.Create{}
					}
					if err := s.Append(b.Context(), a); err != nil {
						b.Fatal(err)
					}
				}
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			s := opened(b, b.TempDir())
			write(b, s)
			for b.Loop() {
				if err := s.Events(b.Context(), "r-0", 0, func(workflow.Event) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(2*n*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkRuns lists 1,000 runs of 40 steps.
func BenchmarkRuns(b *testing.B) {
	s := opened(b, b.TempDir())
	for r := range 1000 {
		sequential(b, s, workflow.RunID(fmt.Sprint("r-", r)), 39)
	}
	for b.Loop() {
		if _, err := s.Runs(b.Context(), store.Query{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen opens and closes a store that is there.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s, err := sqlite.Open(b.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	sequential(b, s, "run", 100)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), sqlite.Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Runs(b.Context(), store.Query{Limit: 1}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
