package composition_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/bounds"
)

func TestAgentOfClaudeCode(t *testing.T) {
	t.Parallel()
	it := composition.ReadAgent(".claude/agents/x.md", "x", []byte(`---
name: Code Reviewer
description: Reviews code.
tools: Read, Grep, Agent(linter, formatter), Bash(git:*), WebFetch, mcp__github__get_issue
disallowedTools: Write
model: inherit
permissionMode: plan
maxTurns: 12
skills: pdf, tables
color: blue
hooks: {}
toolz: x
---

You review.
`))
	if it.Err != nil {
		t.Fatal(it.Err)
	}
	a := it.Agent
	if a.Slug != "code-reviewer" || a.Model != nil || a.MaxTurns != 12 || a.Prompt != "You review." || len(a.Skills) != 2 {
		t.Errorf("%+v", a)
	}
	var tools, agents []string
	for _, s := range a.Tools {
		tools = append(tools, s.Name())
	}
	for _, n := range a.Agents {
		agents = append(agents, n.Name())
	}
	if want := []string{"Read", "Grep", "task", "Bash", "WebFetch", "mcp__github__get_issue"}; !slices.Equal(tools, want) {
		t.Errorf("tools %v, want %v", tools, want)
	}
	if want := []string{"linter", "formatter"}; !slices.Equal(agents, want) {
		t.Errorf("agents %v, want %v", agents, want)
	}
	if !slices.Equal(a.Permissions.Deny, []string{"Write"}) || !slices.Equal(a.Permissions.Tools.Deny, []string{"write", "exec"}) {
		t.Errorf("permissions %+v", a.Permissions)
	}
	told := it.Warnings.Error()
	for _, want := range []string{`"Code Reviewer" is called code-reviewer`, "parentheses after Bash", `"hooks" has no effect`, `"toolz" is not known (did you mean "tools"?)`} {
		if !strings.Contains(told, want) {
			t.Errorf("no warning %q in:\n%s", want, told)
		}
	}
}

func TestAgentOfOpenCode(t *testing.T) {
	t.Parallel()
	it := composition.ReadAgent("a.md", "lead", []byte(`---
description: Leads.
mode: primary
model: acme/big
temperature: 0.2
tools: {write: false, webfetch: true}
permission:
  edit: deny
  bash: {"*": ask, "git push*": deny}
  task: {auditor: allow, "scout": ask}
  bsh: deny
---
Lead.
`))
	if it.Err != nil {
		t.Fatal(it.Err)
	}
	a := it.Agent
	if a.Slug != "lead" || a.Model.Name() != "acme/big" || *a.Model.Temperature != 0.2 || a.Tools != nil || len(a.Agents) != 2 {
		t.Errorf("%+v", a)
	}
	if want := []string{"write", "bash(git push*)", "edit"}; !slices.Equal(a.Permissions.Deny, want) {
		t.Errorf("deny %v, want %v", a.Permissions.Deny, want)
	}
	if want := []string{"bash", "task"}; !slices.Equal(a.Permissions.Ask, want) {
		t.Errorf("ask %v, want %v", a.Permissions.Ask, want)
	}
	if told := it.Warnings.Error(); !strings.Contains(told, `"bsh" is not known (did you mean "bash"?)`) {
		t.Error(told)
	}
}

// No definition allows a tool that every agent has, in any spelling.
func TestFloorGrant(t *testing.T) {
	t.Parallel()
	for _, tool := range bounds.FloorTools() {
		for _, head := range []string{
			"permission: {" + tool + ": allow}", "permission: {" + strings.ToUpper(tool) + ": allow}", "permission: {" + tool + `: {"*": allow}}`,
			"permissions: {allow: [" + tool + "]}", "permissions: {allow: ['" + tool + "(x)']}", "permission: {tools: {" + tool + ": allow}}",
		} {
			it := agent("a", "", head)
			if !hasCode(t, it.Err, composition.FindingFloorGrant) {
				t.Errorf("%s is accepted: %v", head, it.Err)
			}
		}
		for _, effect := range []string{"deny", "ask"} {
			if it := agent("a", "", "permission: {"+tool+": "+effect+"}"); it.Err != nil {
				t.Errorf("%s of %s: %v", effect, tool, it.Err)
			}
		}
	}
	if it := agent("a", "", "permission: {webfetch: allow}"); it.Err != nil || len(it.Warnings) != 1 {
		t.Errorf("allowing another tool: %v, %v", it.Err, it.Warnings)
	}
}

func hasCode(t *testing.T, err error, code string) bool {
	t.Helper()
	if err == nil {
		return false
	}
	for _, e := range findings(t, err) {
		if e.Code == code {
			return true
		}
	}
	return false
}

func TestAgentRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ head, want string }{
		{"version: 1.0", "write it as MAJOR.MINOR.PATCH"},
		{"version: one", "not a version"},
		{"lifecycle: done", "draft, published or archived"},
		{"model: {modelId: a, modelClass: b}", "a model and a class"},
		{"model: {temperature: 1}", "names no model"},
		{"tools: [{kind: tool, providerKind: mcp, resourceId: x, toolName: y}]", "not a kind of provider"},
		{"tools: 5", "have number"},
		{"agents: [a@1@2]", "more than one @"},
		{"agents: [{agent: a, alias: A B}]", "alias"},
		{"skills: [Pdf]", "lower-case"},
		{"limits: {maxDepth: -1}", "less than 0"},
		{"limits: {maxDuration: soon}", "length of time"},
		{"limits: {soft: 2}", "between 0 and 1"},
		{"limits: {maxDept: 1}", `did you mean "maxDepth"`},
		{"capability: {denies: [bsh]}", `did you mean "bash"`},
		{"permission: {bash: maybe}", "write allow, ask or deny"},
		{"permissions: {deny: ['Bash(']}", "closing parenthesis"},
		{"permissions: {tools: {deny: [reed]}}", "reed"},
		{"name: a: b", "quotes"},
		{"name: [", ""},
		{"\tname: a", "tab"},
	}
	for _, tc := range tests {
		it := composition.ReadAgent("a.md", "a", []byte("---\ndescription: d\n"+tc.head+"\n---\n"))
		if it.Err == nil || !strings.Contains(it.Err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.head, it.Err, tc.want)
			continue
		}
		if e := findings(t, it.Err)[0]; e.File != "a.md" || e.Line < 2 {
			t.Errorf("%s: no place: %+v", tc.head, e)
		}
	}
}

// What the ends of lines are, and whether it is a draft, is not content.
func TestAgentDigest(t *testing.T) {
	t.Parallel()
	const text = "---\nname: a\nlifecycle: draft\n---\nlifecycle: is a word\nend\n"
	plain := composition.ReadAgent("a.md", "a", []byte(strings.Replace(text, "lifecycle: draft\n", "", 1)))
	for _, s := range []string{text, strings.ReplaceAll(text, "\n", "\r\n"), "\ufeff" + text, strings.Replace(text, "draft", "archived", 1)} {
		if it := composition.ReadAgent("b.md", "b", []byte(s)); it.Digest != plain.Digest || it.Version != "0.0.0+"+plain.Digest[:12] {
			t.Errorf("%q has the digest %s, want %s", s, it.Digest, plain.Digest)
		}
	}
	if it := composition.ReadAgent("a.md", "a", []byte(strings.Replace(text, "lifecycle: is a word\n", "", 1))); it.Digest == plain.Digest {
		t.Error("the body does not count")
	}
}

func FuzzReadAgent(f *testing.F) {
	f.Add([]byte("---\nname: a\ntools: Read, Agent(b)\n---\nx"))
	f.Add([]byte("---\npermission: {bash: {'*': ask}}\nagents: [{ref: a@1, limits: {maxDepth: 1}}]\n---\n"))
	f.Add([]byte("---\n---\n"))
	f.Add([]byte("---\nlifecycle: draft\n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		it := composition.ReadAgent("a.md", "a", data)
		if it.Err == nil && it.Agent == nil || it.Digest == "" || it.Version == "" {
			t.Fatalf("%+v", it)
		}
		again := composition.ReadAgent("a.md", "a", it.Content)
		if it.Err == nil && it.Lifecycle == composition.Published && (again.Err != nil || again.Digest != it.Digest) {
			t.Fatalf("what is kept reads as %+v, not as %+v", again, it)
		}
	})
}

func FuzzReadComposition(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "f1", "close-books.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("slug: a\nroot: b\n"))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		it := composition.ReadComposition("a.yaml", "a", data)
		if it.Err == nil && it.Composition == nil || it.Digest == "" {
			t.Fatalf("%+v", it)
		}
	})
}
