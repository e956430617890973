package openspec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece/openspec/openspectest"
	"github.com/tenonrun/tenon/workflow"
)

func TestRealValidate(t *testing.T) {
	t.Parallel()
	cfg := realRunner(openspectest.Command(t)...)
	const change = "openspec/changes/dim-lamp/"
	for name, tc := range map[string]struct {
		files   map[string]string
		params  string
		outcome string
		code    workflow.Code
		says    string // in the history, or the error
	}{
		"good": {nil, plain, "pass", "", "dim-lamp: pass"},
		"no scenario": {map[string]string{change + "specs/lamp/spec.md": "## ADDED Requirements\n\n### Requirement: Dim\nThe lamp SHALL dim.\n"},
			plain, "fail", "", "ERROR lamp/spec.md"},
		"no delta": {map[string]string{change + "specs": ""}, plain, "fail", "", "at least one delta"},
		"only a hint": {map[string]string{change + "specs/lamp/spec.md": delta("MODIFIED", "Nowhere", "The lamp SHALL be.")},
			plain, "pass", "", "Archive would refuse"},
		"a spec of that name": {map[string]string{"openspec/specs/dim-lamp/spec.md": documents["openspec/specs/lamp/spec.md"]}, plain, "pass", "", ""},
		"gone":                {map[string]string{change: ""}, plain, "", workflow.CodeChangeNotFound, "there is no change dim-lamp"},
		"archived, not asked": {map[string]string{change: "", "openspec/changes/archive/2026-01-01-dim-lamp/proposal.md": "x"}, plain, "", workflow.CodeChangeNotFound, "allowArchived"},
		"archived": {map[string]string{change: "", "openspec/changes/archive/2026-01-01-dim-lamp/proposal.md": "x"},
			`{"change":"dim-lamp","allowArchived":true}`, "pass", "", "2026-01-01-dim-lamp"},
		"another archived": {map[string]string{change: "", "openspec/changes/archive/2026-01-01-not-dim-lamp/proposal.md": "x"},
			`{"change":"dim-lamp","allowArchived":true}`, "", workflow.CodeChangeNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := visit(t, repository(t, tc.files), "openspec-validate", tc.params, cfg).run(context.Background())
			if workflow.CodeOf(err) != tc.code || s.Outcome != tc.outcome || !strings.Contains(s.History+fmt.Sprint(err), tc.says) || len(s.Warnings) > 0 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// TestRealArchive compares with what the command line itself does.
func TestRealArchive(t *testing.T) {
	t.Parallel()
	program := openspectest.Command(t)
	dir, twin := repository(t, nil), repository(t, nil)
	for _, d := range []string{dir, twin} {
		notes(t, d)
	}
	cmd := exec.Command(program[0], "archive", "dim-lamp", "--yes", "--json")
	cmd.Dir, cmd.Env = twin, append(os.Environ(), "OPENSPEC_TELEMETRY=0")
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	var said struct{ Archive struct{ ArchivedAs string } }
	if err := json.Unmarshal(raw, &said); err != nil {
		t.Fatal(err)
	}
	n := visit(t, dir, "openspec-archive", plain, realRunner(program...))
	s, err := n.run(context.Background())
	if err != nil || s.Outcome != "next" {
		t.Fatalf("%+v, %v", s, err)
	}
	out := output(t, s)
	name := strings.ReplaceAll(list(t, twin), said.Archive.ArchivedAs, "ARCHIVE")
	if got := strings.ReplaceAll(list(t, dir), fmt.Sprint(out["archived"]), "ARCHIVE"); got != name { // midnight may lie between
		t.Errorf("got:\n%s\nwant:\n%s", got, name)
	}
	if !strings.HasPrefix(s.History, "OpenSpec change dim-lamp is archived as ") || out["specsUpdated"] != true || fmt.Sprint(out["totals"]) != "map[added:2 modified:0 removed:0 renamed:0]" {
		t.Errorf("%q, %v", s.History, out)
	}
	again, err := n.run(context.Background())
	if err != nil || string(again.Output.JSON) != string(s.Output.JSON) {
		t.Errorf("again: %+v, %v", again, err)
	}
	other := visit(t, dir, "openspec-archive", `{"change":"dim-lamp","allowArchived":true}`, realRunner(program...))
	if s, err := other.run(context.Background()); err != nil || s.Outcome != "next" || output(t, s)["skipped"] != true {
		t.Errorf("another visit: %+v, %v", s, err)
	}
}

func TestRealArchiveRefused(t *testing.T) {
	t.Parallel()
	cfg := realRunner(openspectest.Command(t)...)
	for name, tc := range map[string]struct{ file, content, code string }{
		"open tasks":           {"tasks.md", "- [x] 1.1 Build it\n- [ ] 1.2 Test it\n", "archive_tasks_incomplete"},
		"open ordered task":    {"tasks.md", "1. [ ] Test it\n", "archive_tasks_incomplete"},
		"delta does not apply": {"specs/lamp/spec.md", delta("MODIFIED", "Nowhere", "The lamp SHALL be."), "archive_spec_update_failed"},
		"not valid":            {"specs/lamp/spec.md", "## ADDED Requirements\n\n### Requirement: Dim\nThe lamp SHALL dim.\n", "archive_validation_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, map[string]string{"openspec/changes/dim-lamp/" + tc.file: tc.content})
			before := list(t, dir)
			s, err := visit(t, dir, "openspec-archive", plain, cfg).run(context.Background())
			if err != nil || s.Outcome != "failed" || s.Error == nil || s.Error.Code != workflow.CodeOpenSpecFailed || !strings.Contains(s.Error.Message, tc.code) {
				t.Fatalf("%+v, %v", s, err)
			}
			if out := output(t, s); out["exitCode"] != 1.0 || !strings.Contains(fmt.Sprint(out["status"]), tc.code) || !strings.Contains(s.History, "dim-lamp") {
				t.Errorf("%q, %v", s.History, out)
			}
			if list(t, dir) != before {
				t.Error("something was published")
			}
		})
	}
}

// TestRealRetire archives a change that takes a spec away.
func TestRealRetire(t *testing.T) {
	t.Parallel()
	cfg := realRunner(openspectest.Command(t)...)
	dir := repository(t, map[string]string{
		"openspec/changes/dim-lamp/specs": "", "openspec/changes/dim-lamp/.openspec.yaml": "schema: spec-driven\nretire_capabilities: true\n",
	})
	write(t, filepath.Join(dir, "openspec/changes/dim-lamp/specs/lamp/spec.md"), "## REMOVED Requirements\n\n### Requirement: Light\n**Reason**: Nobody reads.\n**Migration**: Sleep.\n")
	s, err := visit(t, dir, "openspec-archive", plain, cfg).run(context.Background())
	if err != nil || s.Outcome != "next" {
		t.Fatalf("%+v, %v", s, err)
	}
	if files := list(t, filepath.Join(dir, "openspec")); strings.Contains(files, " specs/lamp") || !strings.Contains(files, "dim-lamp/specs/lamp/spec.md") {
		t.Errorf("files:\n%s", files)
	}
}
