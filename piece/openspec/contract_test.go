package openspec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/workflow"
)

const change = "openspec/changes/dim-lamp/"

func contractParams(action string, completed bool) string {
	return fmt.Sprintf(`{"change":"dim-lamp","contractId":"c","action":%q,"requireCompletedTasks":%t}`, action, completed)
}

// frozen freezes the contract and returns what the nodes of it share.
func frozen(t testing.TB, dir string) workflow.Value {
	t.Helper()
	s, err := visit(t, dir, "artifact-contract", contractParams("freeze", false), openspec.Config{}).run(context.Background())
	if err != nil || s.Outcome != "pass" || s.Private.Absent() {
		t.Fatalf("freezing: %+v, %v", s, err)
	}
	return s.Private
}

func TestContract(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit    map[string]string // after freezing; "" removes
		params  string
		outcome string
		reasons string
		history string
	}{
		"same":             {nil, contractParams("check", true), "pass", "[]", "pass"},
		"tasks are ticked": {map[string]string{"tasks.md": "## 1. Work\n- [ ] 1.1 Build it\n- [X] 1.2 Test it\n"}, contractParams("check", false), "pass", "[]", ""},
		"tasks are open":   {map[string]string{"tasks.md": "## 1. Work\n- [ ] 1.1 Build it\n- [x] 1.2 Test it\n"}, contractParams("check", true), "fail", "[tasks_incomplete]", "open: 1.1 Build it"},
		"a task went":      {map[string]string{"tasks.md": "## 1. Work\n- [x] 1.1 Build it\n"}, contractParams("check", true), "fail", "[artifacts_changed]", "tasks.md was changed"},
		"design went":      {map[string]string{"design.md": ""}, contractParams("check", false), "fail", "[artifacts_changed]", "design.md was removed"},
		"a spec came":      {map[string]string{"specs/new/spec.md": "x"}, contractParams("check", false), "fail", "[artifacts_changed]", "specs/new/spec.md was added"},
		"other files":      {map[string]string{"notes.md": "x", "specs/lamp/picture.svg": "x"}, contractParams("check", false), "pass", "[]", ""},
		"proposal went":    {map[string]string{"proposal.md": ""}, contractParams("check", false), "fail", "[required_artifacts_missing artifacts_changed]", ""},
		"specs went":       {map[string]string{"specs": ""}, contractParams("check", false), "fail", "[required_artifacts_missing artifacts_changed]", ""},
		"nothing but air":  {map[string]string{"proposal.md": " \n\t\n"}, contractParams("check", false), "fail", "[empty_artifacts artifacts_changed]", "proposal.md is empty"},
		"no tasks":         {map[string]string{"tasks.md": "Just do it.\n"}, contractParams("freeze", false), "fail", "[tasks_missing]", ""},
		"only links":       {map[string]string{"tasks.md": "- [a](b)\n- [x][y]\n- [WIP] z\n"}, contractParams("freeze", false), "fail", "[tasks_missing]", ""},
		"the change went":  {map[string]string{"": ""}, contractParams("check", false), "fail", "[required_artifacts_missing tasks_missing artifacts_changed]", ""},
		"unfinished":       {map[string]string{"tasks.md": "* [~] half\n"}, contractParams("freeze", true), "fail", "[tasks_incomplete]", "open: half"},
	} {
		dir := repository(t, nil)
		private := frozen(t, dir)
		for path, content := range tc.edit {
			path = filepath.Join(dir, change, path)
			if content == "" {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				continue
			}
			write(t, path, content)
		}
		n := visit(t, dir, "artifact-contract", tc.params, openspec.Config{})
		n.F.Context.Private = private
		s, err := n.run(context.Background())
		if err != nil || s.Outcome != tc.outcome || fmt.Sprint(output(t, s)["reasons"]) != tc.reasons || !strings.Contains(s.History, tc.history) || !s.Private.Absent() {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestContractThatIsMissing(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	other, _ := json.Marshal(map[string]any{"change": "another", "repository": "app", "files": map[string]string{}})
	for name, private := range map[string]workflow.Value{"none": {}, "of another change": workflow.Inline(other)} {
		n := visit(t, dir, "artifact-contract", contractParams("check", false), openspec.Config{})
		n.F.Context.Private = private
		if s, err := n.run(context.Background()); err != nil || s.Outcome != "fail" || fmt.Sprint(output(t, s)["reasons"]) != "[contract_missing]" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	n := visit(t, dir, "artifact-contract", contractParams("check", false), openspec.Config{})
	n.F.Context.Private = workflow.Inline(json.RawMessage(`[]`))
	if s, err := n.run(context.Background()); err == nil {
		t.Errorf("a state that is none: %+v", s)
	}
}

func TestContractBounds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(dir string) error
		code  workflow.Code
	}{
		"link":             {func(dir string) error { return os.Symlink("proposal.md", filepath.Join(dir, change, "specs/a.md")) }, workflow.CodeArtifactScope},
		"link of a folder": {func(dir string) error { return os.Symlink("lamp", filepath.Join(dir, change, "specs/door")) }, workflow.CodeArtifactScope},
		"specs is a link": {func(dir string) error {
			if err := os.Rename(filepath.Join(dir, change, "specs"), filepath.Join(dir, "specs")); err != nil {
				return err
			}
			return os.Symlink("../../../specs", filepath.Join(dir, change, "specs"))
		}, workflow.CodeArtifactScope},
		"change is a link": {func(dir string) error {
			if err := os.Rename(filepath.Join(dir, change), filepath.Join(dir, "away")); err != nil {
				return err
			}
			return os.Symlink("../../away", filepath.Join(dir, strings.TrimSuffix(change, "/")))
		}, workflow.CodeArtifactScope},
		"folder is a link": {func(dir string) error {
			if err := os.Rename(filepath.Join(dir, "openspec"), filepath.Join(dir, "away")); err != nil {
				return err
			}
			return os.Symlink("away", filepath.Join(dir, "openspec"))
		}, workflow.CodeArtifactScope},
		"too many": {func(dir string) error {
			for i := range 200 {
				if err := os.WriteFile(filepath.Join(dir, change, "specs/lamp", fmt.Sprintf("%d.md", i)), []byte("x"), 0o644); err != nil {
					return err
				}
			}
			return nil
		}, workflow.CodeArtifactLimit},
		"too large": {func(dir string) error { return os.Truncate(filepath.Join(dir, change, "design.md"), 2<<20) }, workflow.CodeArtifactLimit},
	} {
		dir := repository(t, nil)
		if err := tc.spoil(dir); err != nil {
			t.Fatal(err)
		}
		s, err := visit(t, dir, "artifact-contract", contractParams("freeze", false), openspec.Config{}).run(context.Background())
		if workflow.CodeOf(err) != tc.code {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// TestTickingChangesNothing ticks and opens the tasks of any list.
func TestTickingChangesNothing(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{
			"- [%s] task", "  * [%s] task in a task", "1. [%s] first", "+ [%s]done", "- [link](there)", "text [%s]", "", "\t- [%s]\r", "- [ %s ] wide",
		}), 1, 12).Draw(t, "lines")
		lines = append(lines, "- [%s] last")
		text := func(label string) string {
			var out []string
			for _, l := range lines {
				if strings.Contains(l, "%s") && l != "text [%s]" {
					l = fmt.Sprintf(l, rapid.SampledFrom([]string{"x", "X", " ", "", "~"}).Draw(t, label))
				}
				out = append(out, l)
			}
			return strings.Join(out, "\n")
		}
		digest := func(content string) string {
			if err := os.WriteFile(filepath.Join(dir, change, "tasks.md"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := newNode(dir, "artifact-contract", contractParams("freeze", false), openspec.Config{}).run(context.Background())
			var out struct{ Digest string }
			if err != nil || json.Unmarshal(s.Output.JSON, &out) != nil || out.Digest == "" {
				t.Fatalf("%+v, %v", s, err)
			}
			return out.Digest
		}
		first, second := text("marker"), text("marker later")
		if digest(first) != digest(second) {
			t.Fatalf("%q and %q differ", first, second)
		}
		if digest(first) == digest(first+" and more") {
			t.Fatalf("%q with more words is the same", first)
		}
	})
}
