package openspec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/workspacetest"
)

const plain = `{"change":"dim-lamp"}`

var command = []string{"openspec"}

// notes are files of the repository that an archive has no business with, links
// and modes among them.
func notes(t testing.TB, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "main.go"), "package main\n")
	write(t, filepath.Join(dir, "openspec/changes/other/proposal.md"), "other\n")
	write(t, filepath.Join(dir, "openspec/changes/dim-lamp/check.sh"), "#!/bin/sh\n")
	for _, err := range []error{
		os.Chmod(filepath.Join(dir, "openspec/changes/dim-lamp/check.sh"), 0o755),
		os.Symlink("../../../main.go", filepath.Join(dir, "openspec/changes/other/code")),
		os.Symlink("proposal.md", filepath.Join(dir, "openspec/changes/dim-lamp/readme.md")),
		os.MkdirAll(filepath.Join(dir, "openspec/changes/dim-lamp/empty"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

var errKilled = errors.New("killed")

// killer stops an archive before its nth step.
func killer(n int) func(string) error {
	return func(string) error {
		if n--; n < 0 {
			return errKilled
		}
		return nil
	}
}

// publishing stops an archive after n files.
func publishing(n int) func(string) error {
	return func(step string) error {
		if strings.HasPrefix(step, "publishing ") {
			if n--; n < 0 {
				return errKilled
			}
		}
		return nil
	}
}

// uninterrupted archives in a fresh repository and returns its content.
func uninterrupted(t *testing.T) (tree string, steps []string) {
	t.Helper()
	dir := repository(t, nil)
	notes(t, dir)
	n := visit(t, dir, "openspec-archive", plain, openspec.Config{Runner: twin("2026-01-01"), Command: command, Probe: func(step string) error {
		steps = append(steps, step)
		return nil
	}})
	s, err := n.run(context.Background())
	if err != nil || s.Outcome != "next" {
		t.Fatalf("%+v, %v", s, err)
	}
	return list(t, dir), steps
}

// TestKilled stops an archive before every step, and its repetition before every
// step too; the one after that comes to the same files and the same result.
func TestKilled(t *testing.T) {
	t.Parallel()
	want, steps := uninterrupted(t)
	if len(steps) < 30 || !strings.Contains(want, "archive/2026-01-01-dim-lamp/check.sh") {
		t.Fatalf("%d steps, files:\n%s", len(steps), want)
	}
	decided := 0
	for decided < len(steps) && steps[decided] != "deciding" {
		decided++
	}
	for first := range len(steps) {
		for _, second := range []int{(7*first + 3) % len(steps), len(steps) - 1 - first/2} {
			dir := repository(t, nil)
			notes(t, dir)
			days := []string{"2026-01-01", "2026-01-01", "2026-01-01"}
			if first > decided { // decided: the next day must not matter
				days = []string{"2026-01-01", "2026-01-02"}
			}
			n := visit(t, dir, "openspec-archive", plain, openspec.Config{Runner: twin(days...), Command: command})
			before := list(t, dir)
			for i, at := range []int{first, second} {
				n.cfg.Probe = killer(at)
				_, err := n.run(context.Background())
				if i == 0 && !errors.Is(err, errKilled) {
					t.Fatalf("stopped before %s: %v", steps[at], err)
				}
				if i == 0 && first <= decided && list(t, dir) != before {
					t.Fatalf("stopped before %s: something is published", steps[at])
				}
			}
			n.cfg.Probe = nil
			s, err := n.run(context.Background())
			if err != nil || s.Outcome != "next" || output(t, s)["archived"] != "2026-01-01-dim-lamp" {
				t.Fatalf("stopped before %s, then step %d: %+v, %v", steps[first], second, s, err)
			}
			if got := list(t, dir); got != want {
				t.Fatalf("stopped before %s, then step %d:\n%s\nwant:\n%s", steps[first], second, got, want)
			}
		}
	}
}

// TestNothingIsOverwritten changes a file while an archive is stopped.
func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"openspec/specs/lamp/spec.md", "openspec/specs/switch/spec.md",
		"openspec/changes/archive/2026-01-01-dim-lamp/tasks.md", "openspec/changes/dim-lamp/tasks.md",
	} {
		for at := range 10 {
			dir := repository(t, nil)
			n := visit(t, dir, "openspec-archive", plain, openspec.Config{Runner: twin("2026-01-01"), Command: command, Probe: publishing(at)})
			if _, err := n.run(context.Background()); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			write(t, path, "a person wrote this\n")
			before := files(t, dir)
			n.cfg.Probe = nil
			_, err := n.run(context.Background())
			if workflow.CodeOf(err) != workflow.CodePublishConflict || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), n.Desk) != (at > 0) {
				t.Fatalf("%s changed after %d files: %v", name, at, err)
			}
			if after := files(t, dir); after != before || strings.Contains(list(t, dir), ".tenon-") {
				t.Fatalf("%s changed after %d files:\n%s\nwant:\n%s", name, at, after, before)
			}
		}
	}
}

// TestChangedMeanwhile changes a file while the archive is prepared, and at the
// very moment when it is placed.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		step, file string
		code       workflow.Code
	}{
		{"archiving the copy", "openspec/specs/lamp/spec.md", workflow.CodeCandidateChanged},
		{"archiving the copy", "openspec/changes/dim-lamp/more.md", workflow.CodeCandidateChanged},
		{"archiving the copy", "main.go", workflow.CodeCandidateChanged},
		{"publishing specs/lamp/spec.md", "openspec/specs/lamp/spec.md", workflow.CodePublishConflict},
		{"placing specs/switch/spec.md", "openspec/specs/switch/spec.md", workflow.CodePublishConflict},
		{"publishing changes/dim-lamp/tasks.md", "openspec/changes/dim-lamp/tasks.md", workflow.CodePublishConflict},
	} {
		dir := repository(t, nil)
		path := filepath.Join(dir, tc.file)
		n := visit(t, dir, "openspec-archive", plain, openspec.Config{Runner: twin("2026-01-01"), Command: command, Probe: func(step string) error {
			if step == tc.step {
				write(t, path, "a person wrote this\n")
			}
			return nil
		}})
		_, err := n.run(context.Background())
		if workflow.CodeOf(err) != tc.code {
			t.Errorf("%s during %s: %v", tc.file, tc.step, err)
		}
		if raw, err := os.ReadFile(path); err != nil || string(raw) != "a person wrote this\n" {
			t.Errorf("%s during %s is now %q, %v", tc.file, tc.step, raw, err)
		}
	}
}

func TestFileThatComesLate(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	n := visit(t, dir, "openspec-archive", plain, openspec.Config{Runner: twin("2026-01-01"), Command: command, Probe: func(step string) error {
		if step == "publishing changes/dim-lamp/tasks.md" {
			write(t, filepath.Join(dir, "openspec/changes/dim-lamp/late.md"), "late\n")
		}
		return nil
	}})
	s, err := n.run(context.Background())
	if err != nil || s.Outcome != "next" || !strings.Contains(strings.Join(s.Warnings, "\n"), "changes/dim-lamp stays") {
		t.Errorf("%+v, %v", s, err)
	}
	if got := list(t, filepath.Join(dir, "openspec/changes/dim-lamp")); !strings.Contains(got, `late.md "late\n"`) || strings.Count(got, "\n") != 2 {
		t.Errorf("left:\n%s", got)
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		params  string // %s is the candidate
		proof   *workflow.Verified
		outcome string
		code    workflow.Code
	}{
		"none":              {`{"change":"dim-lamp"}`, nil, "next", ""},
		"verified":          {`{"change":"dim-lamp","requiresVerified":true}`, &workflow.Verified{Receipt: "r1", Candidate: "%s"}, "next", ""},
		"not verified":      {`{"change":"dim-lamp","requiresVerified":true}`, nil, "failed", workflow.CodeUnverified},
		"verified before":   {`{"change":"dim-lamp","requiresVerified":true}`, &workflow.Verified{Receipt: "r1", Candidate: "c1:old"}, "failed", workflow.CodeUnverified},
		"reviewed":          {`{"change":"dim-lamp","reviewedCandidate":"%s","approvedCandidate":"%s"}`, nil, "next", ""},
		"reviewed before":   {`{"change":"dim-lamp","reviewedCandidate":"c1:old","approvedCandidate":"%s"}`, nil, "failed", workflow.CodeCandidateChanged},
		"approved before":   {`{"change":"dim-lamp","reviewedCandidate":"%s","approvedCandidate":"c1:old"}`, nil, "failed", workflow.CodeCandidateChanged},
		"approved, no hash": {`{"change":"dim-lamp","approvedCandidate":""}`, nil, "failed", workflow.CodeCandidateChanged},
	} {
		dir := repository(t, nil)
		now, err := hash(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := visit(t, dir, "openspec-archive", strings.ReplaceAll(tc.params, "%s", now), openspec.Config{Runner: twin("2026-01-01"), Command: command})
		if tc.proof != nil {
			n.Proven = &workflow.Verified{Receipt: tc.proof.Receipt, Candidate: strings.ReplaceAll(tc.proof.Candidate, "%s", now)}
		}
		s, err := n.run(context.Background())
		if err != nil || s.Outcome != tc.outcome || (s.Error != nil) != (tc.code != "") || !strings.Contains(s.History, "dim-lamp") {
			t.Errorf("%s: %+v, %v", name, s, err)
			continue
		}
		after, _ := hash(dir)
		if out := output(t, s); tc.code != "" {
			if s.Error.Code != tc.code || s.Status != workflow.VisitFailed || fmt.Sprint(out["reasons"]) != "["+string(tc.code)+"]" || out["archived"] != nil || after != now {
				t.Errorf("%s: %+v, output %v", name, s, out)
			}
		} else if out["path"] != "openspec/changes/archive/2026-01-01-dim-lamp" || out["candidateHash"] != now || after == now {
			t.Errorf("%s: output %v", name, out)
		}
	}
}

// TestCommandLineGoesAstray lets the command line do something else than it was
// asked for.
func TestCommandLineGoesAstray(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(root string) error{
		"nothing":       func(string) error { return nil },
		"no archive":    func(root string) error { return os.RemoveAll(filepath.Join(root, "changes/dim-lamp")) },
		"other change":  func(root string) error { return move(root, "changes/other", "changes/archive/2026-01-01-dim-lamp") },
		"configuration": func(root string) error { return errors.Join(good(root), os.Remove(filepath.Join(root, "config.yaml"))) },
		"file beside": func(root string) error {
			return errors.Join(good(root), os.WriteFile(filepath.Join(root, "changes/new.md"), nil, 0o644))
		},
	} {
		dir := repository(t, nil)
		notes(t, dir)
		before := list(t, dir)
		runner := &workspacetest.Runner{Answer: func(c workspace.Command) (workspace.Exit, error) {
			err := spoil(filepath.Join(c.Dir, "openspec"))
			return workspace.Exit{Stdout: []byte(`{"archive":{"change":"dim-lamp","archivedAs":"2026-01-01-dim-lamp"}}`)}, err
		}}
		_, err := visit(t, dir, "openspec-archive", plain, openspec.Config{Runner: runner, Command: command}).run(context.Background())
		if workflow.CodeOf(err) != workflow.CodeOpenSpecOutput || list(t, dir) != before {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func good(root string) error {
	return move(root, "changes/dim-lamp", "changes/archive/2026-01-01-dim-lamp")
}

func move(root, from, to string) error {
	return os.Rename(filepath.Join(root, from), filepath.Join(root, to))
}

func TestLinksThatLead(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	for _, tc := range []struct {
		at, to string
		ok     bool
	}{
		{"openspec/changes/dim-lamp/a.md", "proposal.md", true},
		{"openspec/changes/dim-lamp/a.md", "nowhere", true},
		{"openspec/changes/dim-lamp/a.md", "../../../main.go", false},
		{"openspec/changes/dim-lamp/a.md", filepath.Join(outside, "secret"), false},
		{"openspec/changes/dim-lamp/a.md", "../../../../x", false},
		{"openspec/specs/door", "../../docs", false},
		{"openspec/changes/other/a.md", "../../../main.go", true},
		{"openspec/changes/other/a.md", "../../../../../x", false},
		{"openspec/changes/archive/old/a.md", "../../../../main.go", true},
		{"openspec/changes/archive/old/a.md", "../../../../away", false}, // away leads out itself
		{"openspec/AGENTS.md", "../main.go", true},
		{"openspec/extra.yaml", "../main.go", false},
	} {
		dir := repository(t, map[string]string{"main.go": "package main\n"})
		for _, link := range [][2]string{{"away", outside}, {tc.at, tc.to}} {
			path := filepath.Join(dir, link[0])
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(link[1], path)); err != nil {
				t.Fatal(err)
			}
		}
		n := visit(t, dir, "openspec-archive", plain, openspec.Config{Runner: twin("2026-01-01"), Command: command})
		n.Hash, n.Digest = nil, "c1:same"
		s, err := n.run(context.Background())
		switch {
		case tc.ok && (err != nil || s.Outcome != "next"):
			t.Errorf("%s -> %s: %+v, %v", tc.at, tc.to, s, err)
		case !tc.ok && (workflow.CodeOf(err) != workflow.CodeArtifactScope || !strings.Contains(err.Error(), tc.at)):
			t.Errorf("%s -> %s: %+v, %v", tc.at, tc.to, s, err)
		}
	}
}

func TestDeskOfAnotherChange(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{"torn": `{"format":1,`, "other": `{"format":1,"change":"other","repository":"app"}`} {
		n := visit(t, repository(t, nil), "openspec-archive", plain, openspec.Config{Runner: twin(), Command: command})
		write(t, filepath.Join(n.Desk, "manifest.json"), manifest)
		if _, err := n.run(context.Background()); workflow.CodeOf(err) != workflow.CodePublishConflict || !strings.Contains(err.Error(), n.Desk) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamagedDesk changes what was prepared after the decision.
func TestDamagedDesk(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	n := visit(t, dir, "openspec-archive", plain, openspec.Config{Runner: twin("2026-01-01"), Command: command})
	n.cfg.Probe = publishing(0)
	before := list(t, dir)
	if _, err := n.run(context.Background()); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	write(t, filepath.Join(n.Desk, "prepared/openspec/specs/lamp/spec.md"), "damaged")
	n.cfg.Probe = nil
	if _, err := n.run(context.Background()); workflow.CodeOf(err) != workflow.CodePublishConflict || !strings.Contains(err.Error(), "specs/lamp/spec.md") {
		t.Errorf("%v", err)
	}
	if after := list(t, dir); after != before {
		t.Errorf("got:\n%s\nwant:\n%s", after, before)
	}
}

// files is list without directories and drafts.
func files(t *testing.T, dir string) string {
	t.Helper()
	var kept []string
	for line := range strings.SplitSeq(list(t, dir), "\n") {
		if !strings.HasPrefix(line, "d") && !strings.Contains(line, "/.tenon-") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
