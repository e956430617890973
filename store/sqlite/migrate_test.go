package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
)

// oldRuns are the runs of testdata/version1.sql, which the last tenon with that
// version wrote; testdata/version1.txt is what it read.
var oldRuns = []workflow.RunID{"lone", "left", "right", "many", "fork", "fork2", "empty"}

// old makes a database of schema version 1, changed by more statements.
func old(t *testing.T, more ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	script, err := os.ReadFile("testdata/version1.sql")
	must(t, err)
	tamper(t, dir, "PRAGMA journal_mode = WAL")
	tamper(t, dir, "BEGIN; "+string(script)+"; COMMIT")
	for _, statement := range more {
		tamper(t, dir, statement)
	}
	return dir
}

// ask returns one number of the database.
func ask(t *testing.T, dir, query string) (n int64) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "tenon.db"))
	must(t, err)
	defer db.Close()
	must(t, db.QueryRow(query).Scan(&n))
	return n
}

func history(t *testing.T, s store.Store, run workflow.RunID) (string, error) {
	t.Helper()
	var out strings.Builder
	err := s.Events(t.Context(), run, 0, func(e workflow.Event) error {
		raw, err := workflow.EncodePayload(e.Payload)
		fmt.Fprintln(&out, run, e.Seq, int64(e.At), e.Epoch, e.Type(), e.ID, e.Node, e.Visit, e.Attempt, e.Invocation, string(raw))
		return err
	})
	return out.String(), err
}

func sameHistories(t *testing.T, s store.Store) {
	t.Helper()
	want, err := os.ReadFile("testdata/version1.txt")
	must(t, err)
	var got strings.Builder
	for _, run := range oldRuns {
		text, err := history(t, s, run)
		must(t, err)
		got.WriteString(text)
	}
	if got.String() != string(want) {
		t.Errorf("the histories are not those of testdata/version1.txt:\n%s", got.String())
	}
}

// TestMigration opens a database of version 1: everything reads as it did, and
// goes on.
func TestMigration(t *testing.T) {
	t.Parallel()
	dir := old(t)
	s := opened(t, dir)
	sameHistories(t, s)
	snap, err := s.Snapshot(t.Context(), "fork2", 0)
	must(t, err)
	if snap.Seq != 0 {
		t.Errorf("a fork at event 31 has the snapshot of event %d", snap.Seq)
	}
	snap, err = s.Snapshot(t.Context(), "lone", 0)
	must(t, err)
	if snap.Seq != 42 || string(snap.State) != `{"at":42}` {
		t.Errorf("the snapshot is %+v", snap)
	}
	inbox, err := s.Inbox(t.Context(), "fork")
	must(t, err)
	if len(inbox) != 1 || inbox[0].ID != "c-2" {
		t.Errorf("in the inbox there is %+v", inbox)
	}
	_, err = s.Blob(t.Context(), store.DigestOf([]byte("a text")))
	must(t, err)
	heads, err := s.Runs(t.Context(), store.Query{Question: "q-2"})
	must(t, err)
	if len(heads) != 1 || heads[0].Run != "fork" || heads[0].ForkOf != "lone" || heads[0].Cut != 31 || heads[0].Last != 35 || heads[0].Epoch != 2 {
		t.Errorf("the question belongs to %+v", heads)
	}
	rep, err := s.Check(t.Context())
	must(t, err)
	if rep.Runs != 7 || rep.Events != 80+16+16+100+4 || len(rep.Problems) > 0 {
		t.Errorf("the check reports %+v", rep)
	}
	for run, last := range map[workflow.RunID]int64{"lone": 80, "left": 16, "many": 100, "fork2": 32, "empty": 0} {
		must(t, s.Append(t.Context(), step(run, 4, last)))
		must(t, s.Append(t.Context(), step(run, 4, last+2)))
	}
	if rep, err = s.Check(t.Context()); err != nil || rep.Events != 216+20 || len(rep.Problems) > 0 {
		t.Errorf("later the check reports %+v (%v)", rep, err)
	}
}

// TestDamagedMigration: a damage of version 1 stays where it was.
func TestDamagedMigration(t *testing.T) {
	t.Parallel()
	const event = " WHERE seq = 9 AND run = (SELECT key FROM runs WHERE run = 'left')"
	for name, statement := range map[string]string{
		"a gap":          "DELETE FROM events" + event,
		"no number":      "UPDATE events SET visit = 'many'" + event,
		"other data":     "UPDATE events SET data = x'00'" + event,
		"no sum":         "UPDATE events SET sum = x''" + event,
		"with a surplus": "UPDATE events SET seq = 1000" + event,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, salvaged := range []bool{false, true} {
				dir := old(t, statement)
				if salvaged {
					rep, err := sqlite.Salvage(t.Context(), dir, filepath.Join(dir, "to"))
					must(t, err)
					if rep.Runs != 6 || len(rep.Problems) != 1 || rep.Problems[0].Run != "left" || rep.Problems[0].Seq != 9 {
						t.Errorf("the salvage reports %+v", rep)
					}
					dir = filepath.Join(dir, "to")
				}
				s := opened(t, dir)
				var d *store.Damaged
				if _, err := history(t, s, "left"); !errors.As(err, &d) || d.Seq != 9 || d.LastGood != 8 {
					t.Errorf("salvaged %v: reading the damaged run gives %v", salvaged, err)
				}
				for _, run := range oldRuns {
					if _, err := history(t, s, run); err != nil && run != "left" {
						t.Errorf("salvaged %v: reading %s gives %v", salvaged, run, err)
					}
				}
			}
		})
	}
}

// TestFailedMigration: a migration that cannot end leaves version 1.
func TestFailedMigration(t *testing.T) {
	t.Parallel()
	dir := old(t, "CREATE TABLE spans (in_the TEXT, way TEXT)")
	_, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	fails(t, err, workflow.CodeStoreUnavailable)
	if v, n, logs := ask(t, dir, "PRAGMA user_version"), ask(t, dir, "SELECT count(*) FROM events"), ask(t, dir, "SELECT count(*) FROM sqlite_schema WHERE name = 'log'"); v != 1 || n != 216 || logs != 0 {
		t.Errorf("version %d, %d events and %d logs are left", v, n, logs)
	}
	tamper(t, dir, "DROP TABLE spans")
	sameHistories(t, opened(t, dir))
}

// TestKilledMigration kills a process while it migrates.
func TestKilledMigration(t *testing.T) {
	t.Parallel()
	more := []string{
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO events SELECT run + 1000 * i, seq, at, epoch, type, id, node, visit, attempt, invocation, data, sum FROM events, n",
	}
	rng := rand.New(rand.NewPCG(7, 8))
	killed := 0
	for round := range 6 {
		dir := old(t, more...)
		w := startWriter(t, dir, "new")
		time.Sleep(time.Duration(rng.IntN(50)*(round+1)) * time.Millisecond) // anywhere inside the migration
		w.kill(t, map[string]int64{})
		if v := ask(t, dir, "PRAGMA user_version"); v == 1 {
			killed++
			if n := ask(t, dir, "SELECT count(*) FROM events"); n != 216*101 {
				t.Errorf("%d events are left", n)
			}
		}
		s := opened(t, dir)
		sameHistories(t, s)
		must(t, s.Close())
		if n := ask(t, dir, "SELECT sum(n) FROM log WHERE run > 1000"); n != 216*100 {
			t.Errorf("%d events were moved", n)
		}
	}
	t.Logf("%d of 6 were killed before the end", killed)
}
