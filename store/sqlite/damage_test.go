package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
)

// filled makes a closed store with runs of many events, and returns what each
// run says.
func filled(t *testing.T, dir string, runs, events int) map[workflow.RunID][]string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	must(t, err)
	want := make(map[workflow.RunID][]string)
	for i := range events {
		for r := range runs {
			run := workflow.RunID(fmt.Sprintf("run-%d", r))
			text := fmt.Sprintf("%s says %d %s", run, i, strings.Repeat("x", 100))
			a := store.Append{Run: run, Epoch: 1, After: int64(i), Events: said(int64(i), text)}
			if i == 0 {
				a.Create, a.Head = &store.Create{}, &store.Head{Workflow: "w", Questions: []string{"q-" + string(run)}}
				a.Blobs = []store.Blob{text2blob(text), text2blob(strings.Repeat(text, 1000))}
			}
			must(t, s.Append(t.Context(), a))
			want[run] = append(want[run], text)
		}
	}
	must(t, s.Append(t.Context(), store.Append{Run: "fork", Epoch: 1, After: 2, Create: &store.Create{Parent: "run-0", Cut: 2}, Events: said(2, "forked")}))
	want["fork"] = append(append([]string{}, want["run-0"][:2]...), "forked")
	must(t, s.Close())
	return want
}

func text2blob(text string) store.Blob {
	return store.Blob{Digest: store.DigestOf([]byte(text)), Data: []byte(text)}
}

func said(after int64, text string) []workflow.Event {
	return []workflow.Event{{Seq: after + 1, At: 1, Epoch: 1, ID: "v", Node: "n", Payload: &workflow.Progress{Message: text}}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fails(t *testing.T, err error, codes ...workflow.Code) {
	t.Helper()
	if !slices.Contains(codes, workflow.CodeOf(err)) {
		t.Errorf("error %v, want one with a code of %v", err, codes)
	}
}

func texts(t *testing.T, s store.Store, run workflow.RunID) (out []string, err error) {
	err = s.Events(t.Context(), run, 0, func(e workflow.Event) error {
		p, ok := e.Payload.(*workflow.Progress)
		if !ok {
			return fmt.Errorf("event %d is %T", e.Seq, e.Payload)
		}
		out = append(out, p.Message)
		return nil
	})
	return out, err
}

// tamper changes the database behind the store's back.
func tamper(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "tenon.db"))
	must(t, err)
	defer db.Close()
	_, err = db.Exec(statement)
	must(t, err)
}

func TestChangedEvents(t *testing.T) {
	t.Parallel()
	const row = "(SELECT key FROM runs WHERE run = 'run-1') AND first = 7"
	swap := func(from, to string) string {
		return "UPDATE log SET data = CAST(replace(CAST(data AS TEXT), '" + from + "', '" + to + "') AS BLOB) WHERE run = " + row
	}
	for name, test := range map[string]struct {
		statement string
		seq       int64
	}{
		"data":       {swap("says", "sais"), 7},
		"not JSON":   {"UPDATE log SET data = x'00' WHERE run = " + row, 7},
		"no data":    {"UPDATE log SET data = x'' WHERE run = " + row, 7},
		"text":       {"UPDATE log SET data = 'text' WHERE run = " + row, 7},
		"cut":        {"UPDATE log SET data = substr(data, 1, length(data) - 1) WHERE run = " + row, 7},
		"more":       {"UPDATE log SET data = data || x'00' WHERE run = " + row, 7},
		"sum":        {"UPDATE log SET data = CAST(substr(data, 1, length(data) - 16) || x'00112233445566778899aabbccddeeff' AS BLOB) WHERE run = " + row, 7},
		"node":       {swap("n", "m"), 7},
		"type":       {swap("progress", "retrying"), 7},
		"a gap":      {"DELETE FROM log WHERE run = " + row, 7},
		"n":          {"UPDATE log SET n = 2 WHERE run = " + row, 8},
		"no n":       {"UPDATE log SET n = 0 WHERE run = " + row, 7},
		"text in it": {"UPDATE log SET n = 'many' WHERE run = " + row, 7},
		"order":      {"UPDATE log SET first = 1000 WHERE run = " + row, 7},
		"span":       {"DELETE FROM spans WHERE run = " + row, 7},
		"span to":    {"UPDATE spans SET id = 1 WHERE run = " + row, 7},
		"base":       {"UPDATE runs SET base = x'00' WHERE run = 'run-1'", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			want := filled(t, dir, 3, 20)
			tamper(t, dir, test.statement)
			s := opened(t, dir)
			got, err := texts(t, s, "run-1")
			var d *store.Damaged
			if !errors.As(err, &d) || d.Run != "run-1" || d.Seq != test.seq || d.LastGood != test.seq-1 || int64(len(got)) != test.seq-1 {
				t.Errorf("after %d events: %v", len(got), err)
			}
			fails(t, err, workflow.CodeStoreDamaged)
			for _, run := range []workflow.RunID{"run-0", "run-2", "fork"} {
				if got, err := texts(t, s, run); err != nil || fmt.Sprint(got) != fmt.Sprint(want[run]) {
					t.Errorf("%s is harmed too: %d events, %v", run, len(got), err)
				}
			}
			rep, err := s.Check(t.Context())
			must(t, err)
			if len(rep.Problems) != 1 || rep.Problems[0].Run != "run-1" || rep.Problems[0].Seq != test.seq {
				t.Errorf("the check reports %+v", rep.Problems)
			}
		})
	}
}

func TestDamagedBlobsAndSnapshots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	small, big, gone := text2blob("small"), text2blob(strings.Repeat("big", 50_000)), text2blob(strings.Repeat("gone", 50_000))
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, Create: &store.Create{}, Events: said(0, "x"), Blobs: []store.Blob{small, big, gone},
		Snapshot: &store.Snapshot{Seq: 1, State: []byte("first")}}))
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, After: 1, Events: said(1, "y"), Snapshot: &store.Snapshot{Seq: 2, State: []byte("second")}}))
	tamper(t, dir, "UPDATE blobs SET data = 'smell' WHERE data IS NOT NULL")
	tamper(t, dir, "UPDATE snapshots SET state = 'sec0nd' WHERE seq = 2")
	name := func(b store.Blob) string { return filepath.Join(dir, "blobs", string(b.Digest[:2]), string(b.Digest)) }
	must(t, os.WriteFile(name(big), append([]byte("c"), big.Data[1:]...), 0o600))
	must(t, os.Remove(name(gone)))
	for _, b := range []store.Blob{small, big, gone} {
		_, err := s.Blob(t.Context(), b.Digest)
		fails(t, err, workflow.CodeStoreDamaged)
	}
	snap, err := s.Snapshot(t.Context(), "r", 0)
	must(t, err)
	if snap.Seq != 1 || string(snap.State) != "first" {
		t.Errorf("beside a damaged snapshot there is %+v", snap)
	}
	rep, err := s.Check(t.Context())
	must(t, err)
	if len(rep.Problems) != 4 {
		t.Errorf("the check reports %+v", rep.Problems)
	}
}

// TestDamagedIndexRow: a run whose row in the index is damaged is listed, read,
// and refused or mended, and the others go on.
func TestDamagedIndexRow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := filled(t, dir, 3, 10)
	s := opened(t, dir)
	tamper(t, dir, "UPDATE runs SET head = '{' WHERE run = 'run-1'")
	tamper(t, dir, "UPDATE runs SET cut = 'none' WHERE run = 'run-2'")
	tamper(t, dir, "UPDATE runs SET parent = key WHERE run = 'fork'")
	if got, err := texts(t, s, "run-1"); err != nil || len(got) != len(want["run-1"]) {
		t.Errorf("%d events can be read (%v)", len(got), err)
	}
	_, err := texts(t, s, "fork")
	fails(t, err, workflow.CodeStoreDamaged)
	_, err = texts(t, s, "run-2")
	fails(t, err, workflow.CodeStoreDamaged)
	fails(t, s.Append(t.Context(), store.Append{Run: "run-2", Epoch: 1, After: 10, Events: said(10, "more")}), workflow.CodeStoreDamaged)
	must(t, s.Append(t.Context(), store.Append{Run: "run-0", Epoch: 1, After: 10, Events: said(10, "more")}))
	tamper(t, dir, "UPDATE runs SET cut = 0 WHERE run = 'run-2'")
	tamper(t, dir, "UPDATE runs SET parent = (SELECT key FROM runs WHERE run = 'run-0') WHERE run = 'fork'")
	all, err := s.Runs(t.Context(), store.Query{Run: "run-1"})
	must(t, err)
	if len(all) != 1 || all[0].Status != workflow.StatusInvalid || all[0].Last != 10 {
		t.Errorf("the run is listed as %+v", all)
	}
	rep, err := s.Check(t.Context())
	must(t, err)
	if len(rep.Problems) != 1 || rep.Problems[0].Run != "run-1" {
		t.Errorf("the check reports %+v", rep.Problems)
	}
	must(t, s.Append(t.Context(), store.Append{Run: "run-1", Epoch: 2, After: 10, Head: &store.Head{Status: workflow.StatusFailed}}))
	if rep, err = s.Check(t.Context()); err != nil || len(rep.Problems) > 0 {
		t.Errorf("after a new head the check reports %+v (%v)", rep.Problems, err)
	}
}

// TestFlippedBytes damages random bytes and pages of the file: what is read is
// what was written, or an error.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := filled(t, dir, 6, 60)
	clean, err := os.ReadFile(filepath.Join(dir, "tenon.db"))
	must(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 24 {
		raw := bytes.Clone(clean)
		page := 1 + rng.IntN(len(raw)/4096-1)
		if round%2 == 0 {
			for range 8 {
				raw[page*4096+rng.IntN(4096)] ^= byte(1 << rng.IntN(8))
			}
		} else {
			clear(raw[page*4096 : (page+1)*4096])
		}
		to := t.TempDir()
		must(t, os.CopyFS(filepath.Join(to, "blobs"), os.DirFS(filepath.Join(dir, "blobs"))))
		must(t, os.WriteFile(filepath.Join(to, "tenon.db"), raw, 0o600))
		bad := verify(t, to, want)
		rep, err := sqlite.Salvage(t.Context(), to, filepath.Join(to, "salvaged"))
		if err != nil {
			t.Errorf("round %d: %v", round, err)
			continue
		}
		whole := 0
		s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(to, "salvaged")})
		must(t, err)
		for run, lines := range want {
			got, err := texts(t, s, run)
			switch {
			case fmt.Sprint(got) != fmt.Sprint(lines[:min(len(got), len(lines))]):
				t.Errorf("round %d, page %d: %s was salvaged with other events", round, page, run)
			case err == nil && len(got) == len(lines):
				whole++
			case !named(rep, run):
				t.Errorf("round %d, page %d: %s was salvaged with %d of %d events (%v) without a word", round, page, run, len(got), len(lines), err)
			}
		}
		if whole < len(want)-bad {
			t.Errorf("round %d, page %d: %d runs can be read, %d were salvaged: %+v", round, page, len(want)-bad, whole, rep.Problems)
		}
		must(t, s.Close())
	}
}

func named(rep store.Report, run workflow.RunID) bool {
	return slices.ContainsFunc(rep.Problems, func(p store.Problem) bool { return p.Run == run || p.Run == "" })
}

// verify reads every run of a damaged store and returns how many are not whole.
func verify(t *testing.T, dir string, want map[workflow.RunID][]string) (bad int) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		fails(t, err, workflow.CodeStoreDamaged)
		return len(want)
	}
	defer func() { _ = s.Close() }() // a damaged database may not close well
	for run, lines := range want {
		got, err := texts(t, s, run)
		if err != nil {
			bad++
			continue
		}
		if len(got) > len(lines) || fmt.Sprint(got) != fmt.Sprint(lines[:len(got)]) {
			t.Errorf("%s reads %d events that were never written", run, len(got))
		}
		if len(got) < len(lines) {
			bad++
		}
	}
	return bad
}

func TestGarbageHeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := filled(t, dir, 4, 30)
	f, err := os.OpenFile(filepath.Join(dir, "tenon.db"), os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte("garbage "), 512), 0)
	must(t, errors.Join(err, f.Close()))
	must(t, os.Remove(filepath.Join(dir, "tenon.db-wal"))) // it holds a good copy of the page
	_, err = sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	fails(t, err, workflow.CodeStoreDamaged)
	if err != nil && !strings.Contains(err.Error(), "tenon doctor --salvage") {
		t.Errorf("the error names no way out: %v", err)
	}
	to := filepath.Join(t.TempDir(), "new")
	rep, err := sqlite.Salvage(t.Context(), dir, to)
	must(t, err)
	if rep.Runs != len(want) || len(rep.Problems) > 0 {
		t.Errorf("the salvage reports %+v", rep)
	}
	s := opened(t, to)
	for run, lines := range want {
		if got, err := texts(t, s, run); err != nil || fmt.Sprint(got) != fmt.Sprint(lines) {
			t.Errorf("%s was salvaged with %d of %d events (%v)", run, len(got), len(lines), err)
		}
	}
	if got, err := s.Runs(t.Context(), store.Query{Question: "q-run-3"}); err != nil || len(got) != 1 {
		t.Errorf("the open question finds %d runs (%v)", len(got), err)
	}
	_, err = sqlite.Salvage(t.Context(), dir, to)
	fails(t, err, workflow.CodeInvalidArguments)
}

// TestCutFile: of a file that has lost its end, what is left is salvaged, and
// what is gone is named.
func TestCutFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := filled(t, dir, 4, 60)
	name := filepath.Join(dir, "tenon.db")
	info, err := os.Stat(name)
	must(t, err)
	must(t, os.Truncate(name, info.Size()/3*2/4096*4096))
	must(t, os.RemoveAll(name+"-wal"))
	to := filepath.Join(t.TempDir(), "new")
	rep, err := sqlite.Salvage(t.Context(), dir, to)
	must(t, err)
	some, s := 0, opened(t, to)
	for run, lines := range want {
		got, err := texts(t, s, run)
		if fmt.Sprint(got) != fmt.Sprint(lines[:min(len(got), len(lines))]) {
			t.Errorf("%s was salvaged with other events", run)
		}
		some += len(got)
		if len(got) < len(lines) && !named(rep, run) {
			t.Errorf("%s was salvaged with %d of %d events (%v) without a word", run, len(got), len(lines), err)
		}
	}
	if some == 0 {
		t.Errorf("nothing was salvaged: %+v", rep)
	}
}

// TestTornLog cuts the write-ahead log of a process that died: what is left is a
// prefix of each history, and goes on.
func TestTornLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, dir)
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, Create: &store.Create{}, Events: said(0, "0")}))
	for i := range int64(60) {
		must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, After: 1 + i, Events: said(1+i, fmt.Sprint(1+i))}))
	}
	wal, err := os.ReadFile(filepath.Join(dir, "tenon.db-wal"))
	must(t, err)
	wal = bytes.TrimRight(wal, "\x00")
	db, err := os.ReadFile(filepath.Join(dir, "tenon.db"))
	must(t, err)
	rng := rand.New(rand.NewPCG(3, 4))
	last := -1
	for round := range 40 {
		to := t.TempDir()
		torn := bytes.Clone(wal)
		if cut := rng.IntN(len(wal)); round%2 == 0 {
			torn = torn[:cut]
		} else {
			torn[cut] ^= 0x10
		}
		must(t, os.WriteFile(filepath.Join(to, "tenon.db"), db, 0o600))
		must(t, os.WriteFile(filepath.Join(to, "tenon.db-wal"), torn, 0o600))
		b, err := sqlite.Open(t.Context(), sqlite.Config{Dir: to})
		must(t, err)
		got, err := texts(t, b, "r")
		if err != nil && !errors.Is(err, &workflow.Error{Code: workflow.CodeRunNotFound}) {
			t.Fatal(err)
		}
		for i, text := range got {
			if text != fmt.Sprint(i) {
				t.Errorf("event %d says %q", i+1, text)
			}
		}
		last = max(last, len(got))
		if n := int64(len(got)); n > 0 {
			must(t, b.Append(t.Context(), store.Append{Run: "r", Epoch: 2, After: n, Events: []workflow.Event{{Seq: n + 1, Epoch: 2, Payload: &workflow.Resumed{}}}}))
		}
		must(t, b.Close())
	}
	if last < 20 {
		t.Errorf("the longest prefix has %d events: the test cuts too much", last)
	}
}
