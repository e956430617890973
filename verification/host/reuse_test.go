//go:build unix

package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// counting returns a check that may be reused, and how often it ran.
func counting(s *scene, script, inputs string) func() int {
	s.t.Helper()
	log := filepath.Join(s.dir, "..", "log")
	program := filepath.Join(s.dir, "..", "program")
	s.write("../program", "#!/bin/sh\necho ran >> "+log+"\n"+script+"\n")
	s.config.Cache = filepath.Join(s.dir, "..", "cache")
	policy := fmt.Sprintf(`{"reuse":"snapshot-local","deterministic":true,"readOnly":true,"inputs":%s,"toolchainInputs":[%q]}`, inputs, program)
	s.q.Checks = []verification.Check{{Command: program, Policy: json.RawMessage(policy)}}
	return func() int {
		raw, _ := os.ReadFile(log)
		return strings.Count(string(raw), "ran")
	}
}

// again runs the plan of s once more.
func (s *scene) again() verification.Receipt {
	s.t.Helper()
	s.kept = nil
	return s.run()
}

func TestReuse(t *testing.T) {
	t.Parallel()
	s := play(t)
	ran := counting(s, "echo fine", `["file"]`)
	first := s.run()
	second := s.again()
	if ran() != 1 || first.Commands[0].Reused || !second.Commands[0].Reused || !second.Certifies() || second.Commands[0].Output != "fine\n" || second.Commands[0].Ended != first.Commands[0].Ended || first.Commands[0].Ended == 0 {
		t.Fatalf("ran %d times: %+v", ran(), second)
	}
	steps := []struct {
		name   string
		change func()
	}{
		{"another file", func() { s.write("beside", "x") }}, // changes nothing
		{"input", func() { s.write("file", "new") }},
		{"mode", func() { _ = os.Chmod(filepath.Join(s.dir, "file"), 0o600) }},
		{"toolchain", func() {
			raw, _ := os.ReadFile(filepath.Join(s.dir, "..", "program"))
			s.write("../program", string(raw)+"# changed\n")
		}},
		{"environment", func() { s.q.Checks[0].Env = map[string]string{"A": "b"} }},
		{"definition", func() { s.q.Checks[0].Args = []string{"x"} }},
	}
	for i, step := range steps {
		step.change()
		if r := s.again(); ran() != i+1 || r.Commands[0].Reused != (i == 0) || r.State != workflow.ReceiptValid {
			t.Errorf("%s: ran %d times, reused %v, %s", step.name, ran(), r.Commands[0].Reused, r.Reason)
		}
	}
}

// TestNotReused: what is not a clean pass over known inputs runs again.
func TestNotReused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, inputs string
		change         func(*scene)
	}{
		"failure":          {"exit 1", `["file"]`, nil},
		"green lie":        {"echo 3 failed", `["file"]`, nil},
		"writes its input": {"date +%N >> file", `["file"]`, nil},
		"missing input":    {"exit 0", `["none"]`, nil},
		"input outside":    {"exit 0", `["../program"]`, nil},
		"link outside":     {"exit 0", `["."]`, func(s *scene) { _ = os.Symlink("../program", filepath.Join(s.dir, "link")) }},
		"no cache":         {"exit 0", `["file"]`, func(s *scene) { s.config.Cache = "" }},
		"too many files": {"exit 0", `["many"]`, func(s *scene) {
			_ = os.Mkdir(filepath.Join(s.dir, "many"), 0o700)
			s.q.Candidate = nil // slow to hash
			for i := range 10_000 {
				_ = os.WriteFile(filepath.Join(s.dir, "many", itoa(i)), nil, 0o600)
			}
		}},
		"too many bytes": {"exit 0", `["large"]`, func(s *scene) {
			s.write("large", "")
			_ = os.Truncate(filepath.Join(s.dir, "large"), 256<<20+1)
			s.q.Candidate = nil // slow to hash
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t)
			ran := counting(s, tc.script, tc.inputs)
			if tc.change != nil {
				tc.change(s)
			}
			s.run()
			if r := s.again(); ran() != 2 || r.Commands[0].Reused {
				t.Errorf("ran %d times, %+v", ran(), r.Commands[0])
			}
		})
	}
}

// TestForgedCache: an entry that is not the passing result of its key is nothing.
func TestForgedCache(t *testing.T) {
	t.Parallel()
	s := play(t)
	ran := counting(s, "exit 0", `["file"]`)
	s.run()
	entries, err := os.ReadDir(s.config.Cache)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	path := filepath.Join(s.config.Cache, entries[0].Name())
	for i, forged := range []string{"", "{", `{"key":"x","evidence":{"state":"passed"}}`, `{"evidence":{"state":"passed"}}`} {
		if err := os.WriteFile(path, []byte(forged), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := s.again(); ran() != i+2 || r.Commands[0].Reused {
			t.Errorf("%q is reused", forged)
		}
	}
}
