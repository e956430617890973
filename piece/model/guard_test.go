package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/model"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
	"github.com/tenonrun/tenon/workspace/scope"
)

// checkout is a git repository with the scope "app".
type checkout struct {
	t   *testing.T
	dir string
}

func repository(t *testing.T) checkout {
	t.Helper()
	r := checkout{t, t.TempDir()}
	r.write("app/a.go", "package a")
	r.write("lib/b.go", "package b")
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "x"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = r.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return r
}

func (r checkout) write(name, content string) {
	r.t.Helper()
	at := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r checkout) read(name string) string {
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return "(none)"
	}
	return string(raw)
}

func guard(t *testing.T, c scope.Config) *scope.Guard {
	t.Helper()
	c.Runner = process.New(process.Config{})
	g, err := scope.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// hold plays a visit in a repository with a scope.
func hold(t *testing.T, cfg model.Config, r checkout, kind, params string, steps ...piecetest.Step) *stage {
	t.Helper()
	s := play(t, cfg, kind, 1, params, steps...)
	s.F.Repositories = []workflow.RepositoryInfo{{ID: "repo", Path: r.dir, Scope: []string{"app"}}}
	s.Desk = t.TempDir()
	return s
}

const developer = `{"roleId":"dev","prompt":"x"}`

// outside is what an output says about changes outside of the scope.
type outside struct {
	Outside struct {
		Total, Failed int
		Changes       []scope.Change
	}
	Text  string
	Error string
}

func told(t *testing.T, s workflow.Settled) outside {
	t.Helper()
	var o outside
	if err := json.Unmarshal(s.Output.JSON, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestGuarded(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{"prompt": prompt(``), "role-turn": developer} {
		r := repository(t)
		s := hold(t, model.Config{Guard: guard(t, scope.Config{})}, r, kind, params, piecetest.Step{Text: "all mended", Before: func() {
			r.write("app/a.go", "mine")
			r.write("lib/b.go", "evil")
		}})
		got := s.settled()
		if got.Outcome != "next" || got.Status != "" || len(got.Warnings) != 1 || r.read("lib/b.go") != "package b" || r.read("app/a.go") != "mine" {
			t.Errorf("%s: %+v, lib/b.go is %q, app/a.go %q", kind, got, r.read("lib/b.go"), r.read("app/a.go"))
		}
		o := told(t, got)
		if o.Text != "all mended" || o.Outside.Total != 1 || o.Outside.Changes[0].Path != "lib/b.go" || o.Outside.Changes[0].Done != scope.PutBack {
			t.Errorf("%s: output %s", kind, got.Output.JSON)
		}
		if kept, err := os.ReadFile(o.Outside.Changes[0].Kept); err != nil || string(kept) != "evil" {
			t.Errorf("%s: kept %q, %v", kind, kept, err)
		}
		contains(t, got.Warnings[0], "n: The turn changed 1 path outside", "lib/b.go")
		contains(t, got.History, "all mended\n\nThe turn changed 1 path", "lib/b.go: changed, put back")
	}
}

func TestHistoryHasRoomForTheGuard(t *testing.T) {
	t.Parallel()
	r := repository(t)
	s := hold(t, model.Config{Guard: guard(t, scope.Config{})}, r, "role-turn", developer,
		piecetest.Step{Text: strings.Repeat("ä", 40000), Before: func() { r.write("n", "1") }})
	got := s.settled()
	if n := len([]rune(got.History)); n > 32000 || !strings.Contains(got.History, "n: added, taken away") {
		t.Errorf("%d characters, end %q", n, got.History[len(got.History)-200:])
	}
}

// TestNotPutBack fails the visit, and loses neither the answer nor the session.
func TestNotPutBack(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{
		"prompt":    prompt(`,"sentinel":"blocked"`),
		"role-turn": `{"roleId":"dev","prompt":"x","engine":{"provider":"a"}}`,
	} {
		r := repository(t)
		r.write("big", "more than four bytes")
		cfg := model.Config{Backend: backends, Guard: guard(t, scope.Config{MaxFile: 4})}
		level := 1
		if kind == "role-turn" {
			level = 2
		}
		s := play(t, cfg, kind, level, params, piecetest.Step{Text: "LOOP_BLOCKED: may I?", Session: "s1", Before: func() {
			r.write("big", "evil")
			r.write("lib/b.go", "evil")
		}})
		s.F.Repositories, s.Desk = []workflow.RepositoryInfo{{ID: "repo", Path: r.dir, Scope: []string{"app"}}}, t.TempDir()
		got := s.settled()
		if got.Outcome != "failed" || got.Status != workflow.VisitFailed || got.Error.Code != workflow.CodeChangeScope || r.read("lib/b.go") != "package b" {
			t.Errorf("%s: %+v, %+v", kind, got, got.Error)
		}
		contains(t, got.Error.Message, "big: changed, not put back", "larger than 4 bytes", "by hand")
		o := told(t, got)
		if o.Text != "LOOP_BLOCKED: may I?" || o.Outside.Total != 2 || o.Outside.Failed != 1 || !strings.HasPrefix(got.History, "LOOP_BLOCKED") {
			t.Errorf("%s: output %s", kind, got.Output.JSON)
		}
		if kind == "role-turn" && (got.Session == nil || got.Session.ID != "s1") {
			t.Errorf("session %+v", got.Session)
		}
	}
}

func TestGuardThatCannotLook(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{"prompt": prompt(``), "role-turn": developer} {
		r := repository(t)
		r.write(".git/HEAD", "junk")
		s := hold(t, model.Config{Guard: guard(t, scope.Config{})}, r, kind, params)
		if got := s.settled(); got.Outcome != "failed" || got.Error.Code != workflow.CodeChangeScope || s.Calls() != 0 {
			t.Errorf("%s: %+v after %d calls", kind, got, s.Calls())
		}
		r = repository(t)
		s = hold(t, model.Config{Guard: guard(t, scope.Config{})}, r, kind, params,
			piecetest.Step{Text: "said", Before: func() { r.write(".git/HEAD", "junk") }})
		got, err := s.run()
		if err != nil || got.Outcome != "failed" || got.Error.Code != workflow.CodeChangeScope || told(t, got).Text != "said" {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
		s = hold(t, model.Config{Guard: guard(t, scope.Config{})}, repository(t), kind, params)
		s.Desk = ""
		if got, err := s.run(); err != nil || got.Error == nil || got.Error.Code != workflow.CodeChangeScope || s.Calls() != 0 {
			t.Errorf("%s without a usable desk: %+v, %v", kind, got, err)
		}
	}
}

// never is a Guard that must not be asked.
type never struct{ t *testing.T }

func (n never) Around(context.Context, scope.Turn, func(context.Context) error) (scope.Report, error) {
	n.t.Error("a turn that needs no guard is guarded")
	return scope.Report{}, nil
}

func TestNotGuarded(t *testing.T) {
	t.Parallel()
	cfg := model.Config{Guard: never{t}}
	for kind, params := range map[string]string{
		"prompt": strings.Replace(prompt(``), `"write"`, `"read"`, 1), "role-turn": `{"roleId":"rev","prompt":"x"}`, "decider": `{"roleId":"rev","goal":"g"}`,
	} {
		if _, err := hold(t, cfg, repository(t), kind, params, piecetest.Step{Text: `{"verdict":"stop","reason":"r"}`}).run(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	s := hold(t, cfg, repository(t), "role-turn", developer, piecetest.Step{Text: "x"})
	s.F.Repositories[0].Scope = nil
	s.settled()
}

// dying is a Guard whose process dies between the turn and what follows.
type dying struct{ *scope.Guard }

func (d dying) Around(ctx context.Context, t scope.Turn, turn func(context.Context) error) (scope.Report, error) {
	if _, err := d.Before(ctx, t); err != nil {
		return scope.Report{}, err
	}
	if err := turn(ctx); err != nil {
		return scope.Report{}, err
	}
	return scope.Report{}, workflow.Errorf(workflow.CodeOwnerLost, "killed")
}

func TestKilledBeforePuttingBack(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{"prompt": prompt(``), "role-turn": developer} {
		r := repository(t)
		r.write("u", "mine")
		g := guard(t, scope.Config{})
		s := hold(t, model.Config{Guard: dying{g}}, r, kind, params, piecetest.Step{Text: "done", Before: func() {
			r.write("u", "evil")
			r.write("lib/b.go", "evil")
		}})
		if _, err := s.run(); workflow.CodeOf(err) != workflow.CodeOwnerLost || r.read("u") != "evil" {
			t.Fatalf("%s: %v", kind, err)
		}
		p := get(t, model.Config{Guard: g}, kind)
		s.run = func() (workflow.Settled, error) { return p.Run(t.Context(), s.Context) }
		got := s.settled()
		if o := told(t, got); o.Outside.Total != 2 || r.read("u") != "mine" || r.read("lib/b.go") != "package b" || s.Calls() != 1 {
			t.Errorf("%s: %s, u is %q, %d calls", kind, got.Output.JSON, r.read("u"), s.Calls())
		}
	}
}

// TestBetweenRounds: what a person changes while a question waits is not the
// turn's.
func TestBetweenRounds(t *testing.T) {
	t.Parallel()
	r := repository(t)
	s := hold(t, model.Config{Guard: guard(t, scope.Config{})}, r, "prompt", prompt(`,"sentinel":"blocked"`),
		piecetest.Step{Text: "LOOP_BLOCKED: x?", Before: func() { r.write("first", "1") }},
		piecetest.Step{Text: "done", Before: func() { r.write("second", "1") }})
	s.paused()
	if r.read("first") != "(none)" {
		t.Error("the first round was not put right before the question")
	}
	r.write("lib/b.go", "by a person")
	s.reply(workflow.Answer{Value: workflow.Text("y")})
	got := s.settled()
	if o := told(t, got); o.Outside.Total != 2 || o.Outside.Changes[0].Path != "first" || o.Outside.Changes[1].Path != "second" || r.read("lib/b.go") != "by a person" {
		t.Errorf("%s, lib/b.go is %q", got.Output.JSON, r.read("lib/b.go"))
	}
}

func TestFailedTurnIsPutRight(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{"prompt": prompt(``), "role-turn": developer} {
		r := repository(t)
		s := hold(t, model.Config{Guard: guard(t, scope.Config{})}, r, kind, params,
			piecetest.Step{Err: workflow.Errorf(workflow.CodeProviderOverloaded, "busy"), Before: func() { r.write("lib/b.go", "evil") }},
			piecetest.Step{Text: "done", Before: func() { r.write("n", "1") }})
		if _, err := s.run(); workflow.CodeOf(err) != workflow.CodeProviderOverloaded || r.read("lib/b.go") != "package b" {
			t.Errorf("%s: %v, lib/b.go is %q", kind, err, r.read("lib/b.go"))
		}
		if all := strings.Join(s.Notes(), "\n"); !strings.Contains(all, "scope: The turn changed 1 path") {
			t.Errorf("%s: noted %q", kind, all)
		}
		if o := told(t, s.settled()); o.Outside.Total != 2 || r.read("n") != "(none)" {
			t.Errorf("%s: second attempt: %+v", kind, o)
		}
	}
	r := repository(t)
	s := hold(t, model.Config{Guard: guard(t, scope.Config{})}, r, "role-turn", developer,
		piecetest.Step{Err: errors.New("boom"), Before: func() { r.write("n", "1") }})
	if got, err := s.run(); err != nil || got.Outcome != "failed" || told(t, got).Outside.Total != 1 || !strings.Contains(got.History, "n: added") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestGuardedWithoutDesk(t *testing.T) {
	t.Parallel()
	r := repository(t)
	s := hold(t, model.Config{Guard: guard(t, scope.Config{})}, r, "role-turn", developer, piecetest.Step{Text: "x", Before: func() { r.write("lib/b.go", "evil") }})
	p := get(t, model.Config{Guard: guard(t, scope.Config{})}, "role-turn")
	got, err := p.Run(t.Context(), struct{ piece.Context }{s.Context})
	if err != nil || r.read("lib/b.go") != "package b" {
		t.Fatalf("%+v, %v", got, err)
	}
	kept := told(t, got).Outside.Changes[0].Kept
	if raw, err := os.ReadFile(kept); err != nil || string(raw) != "evil" {
		t.Errorf("kept %q, %v", raw, err)
	}
	os.RemoveAll(filepath.Dir(filepath.Dir(kept)))
}
