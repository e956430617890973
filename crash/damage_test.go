//go:build unix

package crash_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// notes starts runs of the workflow note, which wait for an answer, and one
// more that has ended.
func notes(t *testing.T) (s *scene, waiting []workflow.Question, ended workflow.RunID) {
	t.Helper()
	s = newScene(t, "r-notes", new(tally))
	for _, name := range []string{"a", "b", "c"} {
		waiting = append(waiting, s.note(name))
	}
	q := s.note("d")
	s.ends(workflow.StatusSucceeded, "answer", q.ID, "yes")
	return s, waiting, q.Run
}

func (s *scene) note(name string) workflow.Question {
	s.t.Helper()
	res := result(s.t, s.ends(workflow.StatusWaiting, "run", "note", "-i", "name="+name, "--json"))
	return res.Questions[0]
}

// ends runs a command line that must end with the exit code of a status.
func (s *scene) ends(want workflow.Status, args ...string) string {
	s.t.Helper()
	out, code := s.cli(args...)
	if code != want.Exit() {
		stdout, stderr := printed(out)
		s.t.Fatalf("tenon %s ends with %d, want %d:\n%s%s", strings.Join(args, " "), code, want.Exit(), stdout, stderr)
	}
	return out
}

// says is ends for a command line that must also print all of the texts.
func (s *scene) says(want workflow.Status, texts []string, args ...string) {
	s.t.Helper()
	out := s.ends(want, args...)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			stdout, stderr := printed(out)
			s.t.Errorf("tenon %s does not say %q:\n%s%s", strings.Join(args, " "), text, stdout, stderr)
		}
	}
}

// heads lists the runs as `tenon ls` does.
func (s *scene) heads() map[workflow.RunID]workflow.Status {
	s.t.Helper()
	stdout, _ := printed(s.ends(workflow.StatusSucceeded, "ls", "--json"))
	var rows []store.Head
	must(s.t, json.Unmarshal([]byte(stdout), &rows))
	out := map[workflow.RunID]workflow.Status{}
	for _, h := range rows {
		out[h.Run] = h.Status
	}
	return out
}

func (s *scene) tamper(statement string, args ...any) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.home(), "tenon.db"))
	must(s.t, err)
	defer db.Close()
	res, err := db.ExecContext(context.Background(), statement, args...)
	must(s.t, err)
	if n, err := res.RowsAffected(); err == nil && n == 0 && strings.HasPrefix(statement, "UPDATE") {
		s.t.Fatalf("%s changes nothing", statement)
	}
}

// flip changes one bit of the data of an event.
func (s *scene) flip(run workflow.RunID, seq int64) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.home(), "tenon.db"))
	must(s.t, err)
	defer db.Close()
	var id, first, n int64
	var data []byte
	must(s.t, db.QueryRow("SELECT id, first, n, data FROM log WHERE run = (SELECT key FROM runs WHERE run = ?) AND ? BETWEEN first AND first + n - 1",
		string(run), seq).Scan(&id, &first, &n, &data))
	switch seq {
	case first:
		data[4] ^= 1 // in its time
	case first + n - 1:
		data[len(data)-1] ^= 1 // in its sum
	default:
		s.t.Fatalf("event %d is neither the first nor the last of its row", seq)
	}
	_, err = db.Exec("UPDATE log SET data = ? WHERE id = ?", data, id)
	must(s.t, err)
}

// count is how many lines of a run are in effects.log.
func (s *scene) count(name string) int {
	n := 0
	for line, times := range s.effects() {
		if strings.HasPrefix(line, name+"-") {
			n += times
		}
	}
	return n
}

// TestDamagedRun flips a bit in the history of one run. It is named, with the
// place and what is safe; the others go on as if nothing were wrong.
func TestDamagedRun(t *testing.T) {
	t.Parallel()
	s, waiting, ended := notes(t)
	bad, good := waiting[0], waiting[1]
	s.run = bad.Run
	last := int64(len(s.history()))
	s.flip(bad.Run, last-1)
	place := []string{string(bad.Run), fmt.Sprintf("event %d", last-1), fmt.Sprintf("events 1 to %d are good", last-2)}
	s.says(workflow.StatusFailed, place, "show", string(bad.Run))
	s.says(workflow.StatusFailed, place, "resume", string(bad.Run))
	s.says(workflow.StatusFailed, place, "answer", bad.ID, "yes")
	s.says(workflow.StatusFailed, place, "doctor")
	if got := s.heads(); len(got) != 4 || got[good.Run] != workflow.StatusWaiting || got[ended] != workflow.StatusSucceeded {
		t.Errorf("tenon ls lists %v", got)
	}
	s.ends(workflow.StatusSucceeded, "show", string(ended))
	s.ends(workflow.StatusSucceeded, "answer", good.ID, "yes")
	if s.count("a") != 2 || s.count("b") != 3 {
		t.Errorf("effects are %v", s.effects())
	}
	out, _ := s.cli("fork", string(bad.Run), "--from", "two", "--no-run", "--json")
	fork := result(t, out)
	if fork.Run == "" || fork.ForkOf != bad.Run {
		_, stderr := printed(out)
		t.Fatalf("a damaged run cannot be forked before the damage: %s", stderr)
	}
	res := result(t, s.ends(workflow.StatusWaiting, "resume", string(fork.Run), "--json"))
	s.ends(workflow.StatusSucceeded, "answer", res.Questions[0].ID, "yes")
	if s.count("a") != 4 { // two is done again in the fork, and then three
		t.Errorf("effects are %v", s.effects())
	}
}

// TestSalvage gets the sound runs out of a state with a damaged one, and out of
// one that cannot be opened at all.
func TestSalvage(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]struct {
		do   func(s *scene, file string, bad workflow.RunID)
		lost int  // runs that may be lost
		shut bool // the database cannot be opened
	}{
		"a flipped bit": {func(s *scene, _ string, bad workflow.RunID) { s.flip(bad, 3) }, 1, false},
		"a garbage header": {func(s *scene, file string, _ workflow.RunID) {
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			must(s.t, err)
			_, err = f.Write(bytes.Repeat([]byte("garbage "), 512))
			must(s.t, errors.Join(err, f.Close()))
			must(s.t, os.WriteFile(file+"-wal", nil, 0o600))
		}, 0, true},
		"a cut file": {func(s *scene, file string, _ workflow.RunID) {
			info, err := os.Stat(file)
			must(s.t, err)
			must(s.t, os.Truncate(file, info.Size()-info.Size()/4096/4*4096))
			must(s.t, os.WriteFile(file+"-wal", nil, 0o600))
		}, 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, waiting, ended := notes(t)
			s.settleLog()
			harm.do(s, filepath.Join(s.home(), "tenon.db"), waiting[0].Run)
			if harm.shut {
				for _, args := range [][]string{{"ls"}, {"show", string(ended)}, {"resume", string(ended)}, {"doctor"}} {
					s.says(workflow.StatusFailed, []string{" doctor --salvage`", "tenon -C ", s.home()}, args...)
				}
			} else {
				s.says(workflow.StatusFailed, []string{string(waiting[0].Run), "tenon fork"}, "doctor")
			}
			to := filepath.Join(s.dir, "..", "salvaged")
			out := s.ends(workflow.StatusSucceeded, "doctor", "--salvage", to)
			must(t, os.Rename(s.home(), s.home()+".bad"))
			must(t, os.Rename(to, strings.TrimSuffix(s.home(), ".bad")))
			must(t, os.RemoveAll(filepath.Join(s.state, "projects", filepath.Base(s.home())+".bad")))
			sound := 0
			for _, q := range waiting {
				if _, code := s.cli("answer", q.ID, "yes"); code == 0 {
					sound++
				} else if !strings.Contains(out, string(q.Run)) {
					t.Errorf("run %s is lost, and the salvage does not name it: %s", q.Run, out)
				}
			}
			if _, code := s.cli("show", string(ended)); code == 0 {
				sound++
			}
			if sound < 4-harm.lost {
				t.Errorf("%d of 4 runs were salvaged", sound)
			}
		})
	}
}

// settleLog moves what is in the write-ahead log into the database.
func (s *scene) settleLog() {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.home(), "tenon.db"))
	must(s.t, err)
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(s.t, errors.Join(err, db.Close()))
}

// TestTornLog cuts the write-ahead log in many places. What is left of a run is
// the beginning of its history, and goes on from there.
func TestTornLog(t *testing.T) {
	t.Parallel()
	s := newScene(t, "r-torn", new(tally))
	q := s.note("a")
	s.run = q.Run
	whole := s.history()
	log := filepath.Join(s.home(), "tenon.db-wal")
	raw, err := os.ReadFile(log)
	must(t, err)
	raw = bytes.TrimRight(raw, "\x00")
	db, err := os.ReadFile(strings.TrimSuffix(log, "-wal"))
	must(t, err)
	for i := range short(24, 6) {
		must(t, os.RemoveAll(filepath.Dir(log)))
		must(t, os.MkdirAll(filepath.Dir(log), 0o700))
		must(t, os.WriteFile(strings.TrimSuffix(log, "-wal"), db, 0o600))
		must(t, os.WriteFile(log, raw[:len(raw)*(i+1)/short(24, 6)], 0o600))
		left := s.history()
		for j, e := range left {
			if e.Seq != whole[j].Seq || e.At != whole[j].At || e.Type() != whole[j].Type() {
				t.Fatalf("cut %d: event %d is %+v, was %+v", i, j+1, e, whole[j])
			}
		}
		if len(left) == 0 {
			s.says(workflow.StatusInvalid, []string{string(q.Run)}, "resume", string(q.Run))
			continue
		}
		for { // a person settles what was in flight where the log was cut
			res := result(t, s.ends(workflow.StatusWaiting, "resume", string(q.Run), "--json"))
			if len(res.Uncertain) == 0 {
				break
			}
			s.ends(workflow.StatusWaiting, "recover", string(q.Run), "--done")
		}
		s.ends(workflow.StatusSucceeded, "answer", q.ID, "yes")
		s.ends(workflow.StatusSucceeded, "doctor")
	}
	if s.effects()["a-one"] > 1+short(24, 6) {
		t.Errorf("effects are %v", s.effects())
	}
}

// TestNewerState: a database of a newer version is left alone.
func TestNewerState(t *testing.T) {
	t.Parallel()
	s, waiting, _ := notes(t)
	s.tamper("PRAGMA user_version = 99")
	before := s.content()
	for _, args := range [][]string{{"ls"}, {"run", "note", "-i", "name=e"}, {"resume", string(waiting[0].Run)}, {"answer", waiting[0].ID, "yes"}, {"doctor"}} {
		s.says(workflow.StatusInvalid, []string{"version 99", "newer"}, args...)
	}
	for name, after := range s.content() {
		if before[name] != after {
			t.Errorf("%s of a newer tenon was changed", name)
		}
	}
	if s.count("e") > 0 {
		t.Error("a run began that cannot be recorded")
	}
	s.tamper("PRAGMA user_version = 2")
	s.ends(workflow.StatusSucceeded, "answer", waiting[0].ID, "yes")
}

// content is the content of the database files.
func (s *scene) content() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, name := range []string{"tenon.db", "tenon.db-wal"} {
		f, err := os.Open(filepath.Join(s.home(), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		must(s.t, err)
		raw, err := io.ReadAll(f)
		must(s.t, errors.Join(err, f.Close()))
		out[name] = string(raw)
	}
	if len(out) == 0 {
		s.t.Fatalf("there is no database among %v", slices.Sorted(maps.Keys(out)))
	}
	return out
}
