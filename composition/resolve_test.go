package composition_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/workflow"
)

// agent makes an item of an agent; head are further lines of its front matter.
func agent(name, version string, head ...string) composition.Item {
	lines := append([]string{"---", "name: " + name, "description: about " + name}, head...)
	if version != "" {
		lines = append(lines, "version: "+version)
	}
	it := composition.ReadAgent(".tenon/agents/"+name+"-"+version+".md", name, []byte(strings.Join(append(lines, "---", "You are "+name+"."), "\n")))
	it.Tier = composition.TierProject
	return it
}

func skill(name, version string) composition.Item {
	text := fmt.Sprintf("---\nname: %s\ndescription: how to %s\nversion: %s\n---\n", name, name, version)
	it := composition.ReadSkill(".tenon/skills/"+name+"/SKILL.md", name, []byte(text), []composition.File{{Path: "SKILL.md", SHA256: strings.Repeat("0", 64)}})
	it.Tier = composition.TierProject
	return it
}

func stored(it composition.Item) composition.Item {
	it.Stored = true
	return it
}

// closing is the registry of the month-end closing.
func closing(t *testing.T, edit func(text string) string) []composition.Item {
	t.Helper()
	data, err := os.ReadFile("testdata/f1/close-books.json")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if edit != nil {
		text = edit(text)
		if text == string(data) {
			t.Fatal("the edit changed nothing")
		}
	}
	tree := composition.ReadComposition(".tenon/compositions/close-books.json", "close-books", []byte(text))
	tree.Tier = composition.TierOrg
	return []composition.Item{
		tree, agent("close-lead", "2.0.0"), stored(agent("ledger-auditor", "2.0.0")), stored(agent("ledger-auditor", "2.1.0")),
		agent("ledger-auditor", "2.2.0", "lifecycle: draft"), skill("reconcile", "1.0.3"),
	}
}

var erp = composition.Options{Tools: bounds.Toolbox{Resources: map[string][]string{"mcp_server/erp": {"post_entry"}}}}

func resolve(t *testing.T, items []composition.Item, o composition.Options) (*composition.Resolution, error) {
	t.Helper()
	return composition.Resolve(composition.NewCatalog(items), composition.Ref{Slug: "close-books"}, o)
}

func TestResolveClosing(t *testing.T) {
	t.Parallel()
	r, err := resolve(t, closing(t, nil), erp)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Composition
	if got := c.Root.Agent.Ref().String(); got != "close-lead@2.0.0" {
		t.Errorf("root is %s", got)
	}
	for i, name := range []string{"auditor-eu", "auditor-us"} {
		n := c.Root.Children[i]
		if n.Name() != name || n.Agent.Version != "2.1.0" {
			t.Errorf("child %d is %s at %s, want %s at 2.1.0", i, n.Name(), n.Agent.Version, name)
		}
		if n.Limits == nil || *n.Limits.MaxDepth != 2 || *n.Limits.MaxFanout != 2 || *n.Limits.MaxSpawns != 5 {
			t.Errorf("%s has not the limits of the root: %+v", name, n.Limits)
		}
	}
	if s := c.Root.Children[0].Skills; len(s) != 1 || s[0].Version != "1.0.3" {
		t.Errorf("skills of auditor-eu: %v", s)
	}
	if model, override := c.Root.Children[1].Model(); model != "review" || !override {
		t.Errorf("model of auditor-us: %q, override %v", model, override)
	}
	var wire map[string]json.RawMessage
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		t.Fatal(err)
	}
	if string(wire["capability"]) != "{}" || wire["lifecycle"] != nil || wire["description"] != nil {
		t.Errorf("the resolved form is %s", raw)
	}
}

// findings are the codes of all findings of an error, with their files and lines.
func findings(t *testing.T, err error) source.Errors {
	t.Helper()
	var es source.Errors
	if !errors.As(err, &es) {
		t.Fatalf("the error holds no findings: %v", err)
	}
	return es
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	replace := func(old, now string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, now, 1) }
	}
	tests := []struct {
		name  string
		edit  func(string) string
		items func([]composition.Item) []composition.Item
		code  workflow.Code
		want  string // CODE LINE part of the message
	}{
		{"a draft", replace(`"published"`, `"draft"`), nil, workflow.CodeNotPublished, "not_published 0 is a draft"},
		{"an archived one", replace(`"published"`, `"archived"`), nil, workflow.CodeNotPublished, "not_published 0 is archived"},
		{"only a draft of an agent", nil, func(items []composition.Item) []composition.Item {
			return slices.DeleteFunc(items, func(it composition.Item) bool { return it.Slug == "ledger-auditor" && it.Stored })
		}, workflow.CodeNotPublished, "not_published 5 the agent ledger-auditor@2.2.0 is a draft"},
		{"no alias", replace(`"alias":"auditor-us",`, ``), nil, workflow.CodeInvalidComposition, "duplicate 6 is used 2 times"},
		{"one alias twice", replace(`auditor-us`, `auditor-eu`), nil, workflow.CodeInvalidComposition, "duplicate 6 is also the name"},
		{"a cycle", nil, func(items []composition.Item) []composition.Item {
			return append(items, stored(agent("ledger-auditor", "2.1.1", "agents: [close-lead]")))
		}, workflow.CodeInvalidComposition, "cycle 4 close-lead → ledger-auditor → close-lead"},
		{"a missing agent", replace(`"slug":"close-lead"`, `"slug":"close-led"`), nil, workflow.CodeInvalidComposition, "missing 2 the agent close-led@2.0.0 is not there"},
		{"a missing version", replace(`"2.0.0"`, `"2.0.9"`), nil, workflow.CodeInvalidComposition, "missing 2 no published version 2.0.9"},
		{"a missing skill", replace(`"reconcile"`, `"reconcil"`), nil, workflow.CodeInvalidComposition, "missing 5 the skill reconcil is not there"},
		{"a missing tool", replace(`"post_entry"`, `"post_entri"`), nil, workflow.CodeInvalidComposition, "tool 7 erp.post_entri is not there"},
		{"a child with looser limits", replace(`"alias":"auditor-us",`, `"alias":"auditor-us","limits":{"maxDepth":3},`), nil,
			workflow.CodeInvalidComposition, "limit 6 maxDepth is 3, and an agent above has 2"},
		{"a limit that cannot be", replace(`"maxFanout":2`, `"maxFanout":0`), nil, workflow.CodeInvalidComposition, "limit 3 maxFanout is less than 1"},
		{"a reference with two versions", replace(`{"slug":"reconcile"}`, `"reconcile@1@2"`), nil, workflow.CodeInvalidComposition, "reference 5 more than one @"},
		{"a field that is not there", replace(`"alias":"auditor-us"`, `"alais":"auditor-us"`), nil, workflow.CodeInvalidComposition, "shape 6 alais"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			items := closing(t, tc.edit)
			if tc.items != nil {
				items = tc.items(items)
			}
			_, err := resolve(t, items, erp)
			if got := workflow.CodeOf(err); got != tc.code {
				t.Fatalf("the code is %q, want %q: %v", got, tc.code, err)
			}
			var lines []string
			parts := strings.SplitN(tc.want, " ", 3)
			for _, e := range findings(t, err) {
				lines = append(lines, fmt.Sprintf("%s %d %s (%s)", e.Code, e.Line, e.Message, e.Hint))
				if e.Code == parts[0] && fmt.Sprint(e.Line) == parts[1] && strings.Contains(e.Message, parts[2]) {
					return
				}
			}
			t.Errorf("no finding %q in:\n%s", tc.want, strings.Join(lines, "\n"))
		})
	}
}

// Everything that is wrong is told at once, with nearest names.
func TestResolveTellsAll(t *testing.T) {
	t.Parallel()
	items := closing(t, func(s string) string {
		return strings.NewReplacer(`"slug":"close-lead"`, `"slug":"close-led"`, `"reconcile"`, `"reconcil"`, `"post_entry"`, `"post_entri"`).Replace(s)
	})
	_, err := resolve(t, items, erp)
	es := findings(t, err)
	if len(es) != 3 {
		t.Fatalf("%d findings, want 3:\n%v", len(es), err)
	}
	for i, near := range []string{`"close-lead"`, `"reconcile"`, `"post_entry"`} {
		if !strings.Contains(es[i].Hint, near) || es[i].Pointer == "" || es[i].Column == 0 || es[i].File != ".tenon/compositions/close-books.json" {
			t.Errorf("finding %d: %+v", i, es[i])
		}
	}
}
