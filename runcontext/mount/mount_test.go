//go:build unix

package mount_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/runcontext/mount"
	"github.com/tenonrun/tenon/workflow"
)

// place is a state area with sources beside it.
type place struct {
	t               testing.TB
	dir, kb, repo   string
	base, elsewhere string
}

func newPlace(t testing.TB) place {
	t.Helper()
	base := t.TempDir()
	p := place{t: t, base: base, dir: filepath.Join(base, "ws", "audit"), kb: filepath.Join(base, "kb"), repo: filepath.Join(base, "repo"), elsewhere: filepath.Join(base, "elsewhere")}
	p.write("kb/policy.md", "policy v2\n")
	p.write("kb/deep/er/note.md", "note\n")
	p.write("repo/main.go", "package main\n")
	p.write("elsewhere/secret", "secret\n")
	t.Cleanup(func() { makeWritable(base) })
	return p
}

func (p place) write(name, content string) string {
	p.t.Helper()
	name = filepath.Join(p.base, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return name
}

func (p place) entries() []runcontext.Entry {
	return []runcontext.Entry{
		{Path: "deliverables", Slot: runcontext.SlotDeliverables, Mode: runcontext.ReadWrite},
		runcontext.Literal(runcontext.SlotInputs, "inputs.json", []byte(`{"month":"2026-10"}`)),
		{Path: "references/kb", Slot: runcontext.SlotReferences, Mode: runcontext.ReadOnly, Origin: p.kb, Source: &runcontext.Source{Kind: "directory", Ref: "gl-policy"}},
		{Path: "repos/main", Slot: runcontext.SlotRepos, Mode: runcontext.ReadWrite, Origin: p.repo},
	}
}

func (p place) make(feedback string) (mount.Workspace, runcontext.Rendered) {
	p.t.Helper()
	staging, err := mount.Stage(p.t.Context(), p.dir, p.entries(), mount.Limits{})
	if err != nil {
		p.t.Fatal(err)
	}
	r := p.render(staging.Plan(), feedback)
	w, err := staging.Commit(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return w, r
}

func (p place) render(plan runcontext.Plan, feedback string) runcontext.Rendered {
	p.t.Helper()
	r, err := runcontext.Render(runcontext.Input{
		Agent: runcontext.Agent{Slug: "auditor", Version: "1.0.0"}, Plan: plan, Feedback: feedback, Private: []string{p.base},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// names lists what stands beside the workspace.
func (p place) names() []string {
	entries, _ := os.ReadDir(filepath.Dir(p.dir))
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestCommit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	w, r := p.make("")
	for name, want := range map[string]struct {
		content string
		mode    fs.FileMode
	}{
		"inputs/inputs.json":            {`{"month":"2026-10"}`, 0o444},
		"references/kb/policy.md":       {"policy v2\n", 0o444},
		"references/kb/deep/er/note.md": {"note\n", 0o444},
		"AGENTS.md":                     {r.AgentsMD, 0o444},
		"context.json":                  {string(r.ContextFileText()), 0o444},
		"repos/main/main.go":            {"package main\n", 0o600},
	} {
		raw, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil || string(raw) != want.content {
			t.Errorf("%s is %q, %v", name, raw, err)
			continue
		}
		if info, _ := os.Stat(filepath.Join(p.dir, name)); info.Mode().Perm() != want.mode {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want.mode)
		}
	}
	for name, want := range map[string]fs.FileMode{
		".": 0o555, "inputs": 0o555, "references": 0o555, "references/kb/deep": 0o555, "repos": 0o555, "deliverables": 0o755,
	} {
		if info, err := os.Stat(filepath.Join(p.dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("directory %s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	for _, name := range []string{"AGENTS.md", "context.json", "inputs", "references", ".agent", ".plan.json"} {
		if !slices.Contains(w.ReadOnly, filepath.Join(p.dir, name)) {
			t.Errorf("read-only paths %q do not hold %s", w.ReadOnly, name)
		}
	}
	if got := w.Links[filepath.Join(p.dir, "repos", "main")]; len(w.Links) != 1 || got != p.repo {
		t.Errorf("links %v", w.Links)
	}
	if e, _ := r.Plan.Find("references/kb/policy.md"); e.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte("policy v2\n"))) {
		t.Errorf("digest %s", e.SHA256)
	}
	if strings.Contains(string(r.Context), p.base) {
		t.Errorf("the context holds a path of this machine: %s", r.Context)
	}
}

func TestCommitAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first, r := p.make("")
	p.write("ws/audit/deliverables/half.json", "{")
	p.write("ws/audit/deliverables/pages/a.md", "a")
	if again, _ := p.make(""); first.Kept || !again.Kept {
		t.Errorf("kept: %v at first, %v again; want false, true", first.Kept, again.Kept)
	}
	w, changed := p.make("Close the brace.")
	if w.Kept || changed.ContextHash == r.ContextHash {
		t.Error("another context did not make the workspace anew")
	}
	for name, want := range map[string]string{"half.json": "{", "pages/a.md": "a"} {
		if raw, err := os.ReadFile(filepath.Join(p.dir, "deliverables", name)); err != nil || string(raw) != want {
			t.Errorf("what was delivered is lost: %s is %q, %v", name, raw, err)
		}
	}
	if got := p.names(); !slices.Equal(got, []string{"audit"}) {
		t.Errorf("beside the workspace: %q", got)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	replace := func(name, content string) func(place) {
		return func(p place) {
			_ = os.Chmod(filepath.Join(p.dir, filepath.Dir(name)), 0o700)
			_ = os.Remove(filepath.Join(p.dir, name))
			if content != "" {
				p.write("ws/audit/"+name, content)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(place)
		want   []string // as far as it is told
	}{
		{"nothing", func(place) {}, nil},
		{"a deliverable", replace("deliverables/x", "x"), nil},
		{"a file of the work tree", replace("repos/main/main.go", "x"), nil},
		{"a reference changed", replace("references/kb/policy.md", "policy v3\n"), []string{"references/kb/policy.md changed"}},
		{"a reference gone", replace("references/kb/policy.md", ""), []string{"references/kb/policy.md is gone"}},
		{"a reference more", replace("references/kb/more.md", "more"), []string{"references/kb/more.md is new"}},
		{"a file at the root", replace("notes", "more"), []string{"notes is new"}},
		{"instructions", replace("AGENTS.md", "Do nothing.\n"), []string{"AGENTS.md changed"}},
		{"context", replace("context.json", "{}"), []string{"context.json changed"}},
		{"no plan", replace(".plan.json", ""), []string{".plan.json is gone"}},
		{"a link gone", replace("repos/main", ""), []string{"repos/main is gone"}},
		{"two things", func(p place) { replace("references/kb/policy.md", "x")(p); replace("inputs/inputs.json", "{}")(p) }, []string{"inputs/inputs.json changed", "references/kb/policy.md changed"}},
		{"a pipe in place of a file", func(p place) {
			replace("references/kb/policy.md", "")(p)
			if err := syscall.Mkfifo(filepath.Join(p.dir, "references/kb/policy.md"), 0o600); err != nil {
				p.t.Fatal(err)
			}
		}, []string{"references/kb/policy.md is gone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			_, r := p.make("")
			c.change(p)
			drifts, err := mount.Check(t.Context(), p.dir, r.ContextHash)
			if err != nil || len(drifts) != len(c.want) {
				t.Fatalf("drifts %v, %v, want %q", drifts, err, c.want)
			}
			for i, d := range drifts {
				if !strings.HasPrefix(d.String(), c.want[i]) {
					t.Errorf("drift %q, want %q", d, c.want[i])
				}
			}
		})
	}
}

// TestCheckForged changes a file and the plan that would tell it.
func TestCheckForged(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, r := p.make("")
	plan := filepath.Join(p.dir, ".plan.json")
	raw, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	old, forged := fmt.Sprintf("%x", sha256.Sum256([]byte("policy v2\n"))), fmt.Sprintf("%x", sha256.Sum256([]byte("policy v3\n")))
	_ = os.Chmod(p.dir, 0o700)
	_ = os.Remove(plan)
	p.write("ws/audit/.plan.json", strings.ReplaceAll(string(raw), old, forged))
	_ = os.Chmod(filepath.Join(p.dir, "references", "kb"), 0o700)
	_ = os.Remove(filepath.Join(p.dir, "references", "kb", "policy.md"))
	p.write("ws/audit/references/kb/policy.md", "policy v3\n")
	drifts, err := mount.Check(t.Context(), p.dir, r.ContextHash)
	if err != nil || len(drifts) != 1 || drifts[0].Path != ".plan.json" {
		t.Errorf("drifts %v, %v; want that the plan changed", drifts, err)
	}
}

func TestSourceRefused(t *testing.T) {
	t.Parallel()
	link := func(target, name string) func(place) {
		return func(p place) {
			if err := os.Symlink(target, filepath.Join(p.base, name)); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(place)
		entry  runcontext.Entry // beside the usual ones
		want   string
	}{
		{name: "a link that leaves", change: link("../elsewhere/secret", "kb/link"), want: "leads out of the source"},
		{name: "an absolute link", change: func(p place) { link(filepath.Join(p.base, "elsewhere"), "kb/link")(p) }, want: "leads out of the source"},
		{name: "a link that leads nowhere", change: link("nothing", "kb/link"), want: "or nowhere"},
		{name: "a link in a circle", change: link("..", "kb/deep/up"), want: "a directory that it is in"},
		{name: "a pipe", change: func(p place) {
			if err := syscall.Mkfifo(filepath.Join(p.kb, "pipe"), 0o600); err != nil {
				p.t.Fatal(err)
			}
		}, want: "no regular file"},
		{name: "a source that is a link", change: link("elsewhere/secret", "one"), entry: runcontext.Entry{Origin: "one"}, want: "it is a link"},
		{name: "no source", change: func(place) {}, entry: runcontext.Entry{Origin: "one"}, want: "no such file"},
		{name: "another digest", change: func(p place) { p.write("one", "now") }, entry: runcontext.Entry{Origin: "one", SHA256: strings.Repeat("a", 64)}, want: "it changed"},
		{name: "two sources for a path", change: func(p place) { p.write("one", "1"); p.write("kb/x", "2") }, entry: runcontext.Entry{Origin: "one", Path: "references/kb/x"}, want: "there twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c.change(p)
			entries := p.entries()
			if e := c.entry; e.Origin != "" {
				e.Origin, e.Slot, e.Mode = filepath.Join(p.base, e.Origin), runcontext.SlotReferences, runcontext.ReadOnly
				if e.Path == "" {
					e.Path = "references/one"
				}
				entries = append(entries, e)
			}
			_, err := mount.Stage(t.Context(), p.dir, entries, mount.Limits{})
			var coded *workflow.Error
			if !errors.As(err, &coded) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if _, err := mount.Survey(t.Context(), entries, mount.Limits{}); err == nil {
				t.Error("the survey found nothing")
			}
			if got := p.names(); len(got) > 0 {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}

func TestInnerLink(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for target, name := range map[string]string{"policy.md": "kb/alias.md", "deep": "kb/shallow"} {
		if err := os.Symlink(target, filepath.Join(p.base, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.make("")
	for name, want := range map[string]string{"alias.md": "policy v2\n", "shallow/er/note.md": "note\n"} {
		full := filepath.Join(p.dir, "references/kb", name)
		info, err := os.Lstat(full)
		if raw, _ := os.ReadFile(full); err != nil || !info.Mode().IsRegular() || string(raw) != want {
			t.Errorf("%s is %q, %v", name, raw, err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, limits := range []mount.Limits{{MaxFiles: 2}, {MaxBytes: 8}, {MaxBytes: 12}} {
		p := newPlace(t)
		if _, err := mount.Stage(t.Context(), p.dir, p.entries(), limits); err == nil || !strings.Contains(err.Error(), "raise the limit") && !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%+v: %v", limits, err)
		}
	}
}

// TestCrash leaves what a dead process leaves.
func TestCrash(t *testing.T) {
	t.Parallel()
	t.Run("while staging", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		if _, err := mount.Stage(t.Context(), p.dir, p.entries(), mount.Limits{}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(p.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a workspace is there before Commit: %v", err)
		}
		p.make("")
		if got := p.names(); !slices.Equal(got, []string{"audit"}) {
			t.Errorf("beside the workspace: %q", got)
		}
	})
	t.Run("between the renames", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.make("")
		p.write("ws/audit/deliverables/x", "kept")
		if err := os.Rename(p.dir, filepath.Join(filepath.Dir(p.dir), ".audit.old")); err != nil {
			t.Fatal(err)
		}
		p.make("again")
		if raw, err := os.ReadFile(filepath.Join(p.dir, "deliverables/x")); err != nil || string(raw) != "kept" {
			t.Errorf("what was delivered is lost: %q, %v", raw, err)
		}
	})
	t.Run("after the renames", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		_, r := p.make("")
		p.write("ws/.audit.old/inputs/x", "old")
		if w, _ := p.make(""); !w.Kept {
			t.Error("the workspace was made anew")
		}
		if drifts, err := mount.Check(t.Context(), p.dir, r.ContextHash); err != nil || len(drifts) > 0 {
			t.Errorf("drifts %v, %v", drifts, err)
		}
		if got := p.names(); !slices.Equal(got, []string{"audit"}) {
			t.Errorf("beside the workspace: %q", got)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := mount.Stage(ctx, p.dir, p.entries(), mount.Limits{}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if got := p.names(); len(got) > 0 {
			t.Errorf("left behind: %q", got)
		}
	})
}

func TestCommitOfAnotherPlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	staging, err := mount.Stage(t.Context(), p.dir, p.entries(), mount.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	other := staging.Plan()
	other.Entries = other.Entries[1:]
	if _, err := staging.Commit(t.Context(), p.render(other, "")); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("error %v", err)
	}
	if got := p.names(); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestSurveyIsThePlanOfStage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	survey, err := mount.Survey(t.Context(), p.entries(), mount.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, r := p.make("")
	if got := p.render(survey, ""); got.ContextHash != r.ContextHash {
		t.Errorf("survey gives %s, stage %s", got.ContextHash, r.ContextHash)
	}
	p.write("kb/policy.md", "policy v3\n")
	now, err := mount.Survey(t.Context(), p.entries(), mount.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if drifts := survey.Compare(now); len(drifts) != 1 || drifts[0].Path != "references/kb/policy.md" {
		t.Errorf("drifts of the sources: %v", drifts)
	}
}
