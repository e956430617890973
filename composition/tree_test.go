package composition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/workflow"
)

func tree(text string) composition.Item {
	it := composition.ReadComposition(".tenon/compositions/t.yaml", "t", []byte(text))
	it.Tier = composition.TierProject
	return it
}

func resolveTree(text string, items ...composition.Item) (*composition.Resolution, error) {
	return composition.Resolve(composition.NewCatalog(append(items, tree(text))), composition.Ref{Slug: "t"}, composition.Options{})
}

// paths lists the agents of a tree.
func paths(r *composition.Resolution) string {
	var out []string
	r.Composition.Root.Walk(func(path string, n *composition.ResolvedNode) { out = append(out, path+"="+n.Agent.Slug) })
	return strings.Join(out, " ")
}

// An agent brings its own agents; what the composition says about one of them takes
// the place of what the definition says.
func TestTreeOfDefinitions(t *testing.T) {
	t.Parallel()
	items := []composition.Item{
		agent("lead", "1.0.0", "agents: [scout, {agent: writer, alias: pen}]", "skills: [pdf@^1]"), agent("scout", "1.0.0", "agents: [writer]"), agent("writer", "1.0.0"),
		skill("pdf", "1.0.0"), skill("pdf", "1.4.0"), skill("pdf", "2.0.0"),
	}
	r, err := resolveTree("slug: t\nroot: {ref: lead@latest, children: [{agent: scout, alias: eyes, instructions: Look twice.}]}\n", items...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := paths(r), "lead=lead lead/eyes=scout lead/eyes/writer=writer lead/pen=writer"; got != want {
		t.Errorf("the tree is %s, want %s", got, want)
	}
	root := r.Composition.Root
	if len(root.Skills) != 1 || root.Skills[0].Version != "1.4.0" {
		t.Errorf("skills %v", root.Skills)
	}
	eyes, ok := root.Child("eyes")
	if !ok || eyes.Prompt() != "You are scout.\n\nLook twice." {
		t.Errorf("prompt %q", eyes.Prompt())
	}
	if len(r.Items) != 5 || !strings.Contains(r.Warnings.Error(), "has limits") {
		t.Errorf("%d items, warnings %v", len(r.Items), r.Warnings)
	}
	r, err = resolveTree("slug: t\nroot: {agent: lead, skills: [pdf@2.0.0], limits: {maxDepth: 3}}\n", items...)
	if err != nil || len(r.Composition.Root.Skills) != 1 || r.Composition.Root.Skills[0].Version != "2.0.0" || len(r.Warnings) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A child has what its parents have, or less; an agent's own limits are clamped.
func TestTreeOfLimits(t *testing.T) {
	t.Parallel()
	r, err := resolveTree(`
slug: t
root:
  agent: lead
  limits: {maxDepth: 3, maxSpawns: 9, tokenBudget: 1000, maxDuration: 90s, strict: true}
  children:
    - {agent: a, limits: {maxSpawns: 4, maxCostUsd: 0.5}, children: [c]}
    - b
`, agent("lead", ""), agent("a", ""), agent("b", "", "limits: {maxSpawns: 100, maxFanout: 2}"), agent("c", ""))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	r.Composition.Root.Walk(func(path string, n *composition.ResolvedNode) {
		l := n.Limits.Agent()
		fanout := 0
		if l.MaxFanout != nil {
			fanout = *l.MaxFanout
		}
		got = append(got, fmt.Sprintf("%s %d %d %d %d %v %v %v", path, *l.MaxDepth, *l.MaxSpawns, fanout, *l.MaxTokens, *l.MaxDurationMs == 90_000, l.Strict, n.Declared))
	})
	want := []string{
		"lead 3 9 0 1000 true true true", "lead/a 3 4 0 1000 true true true", "lead/a/c 3 4 0 1000 true true false", "lead/b 3 9 2 1000 true true true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTreeRefuses(t *testing.T) {
	t.Parallel()
	twice := agent("a", "")
	twice.Source, twice.Digest = "other.md", strings.Repeat("1", 64)
	old := stored(agent("v", "1.0.0", "mode: primary"))
	tests := []struct {
		name, text string
		items      []composition.Item
		code, want string
	}{
		{"an agent below itself", "slug: t\nroot: {agent: a, children: [{agent: a, alias: again}]}", nil, composition.FindingDuplicate, "used 2 times"},
		{"an agent below itself, with aliases", "slug: t\nroot: {agent: a, alias: first, children: [{agent: a, alias: again}]}", nil, composition.FindingCycle, "a → a"},
		{"agents that start each other", "slug: t\nroot: p", []composition.Item{agent("p", "", "agents: [q]"), agent("q", "", "agents: [p]")}, composition.FindingCycle, "p → q → p"},
		{"two children of one name", "slug: t\nroot: {agent: a, children: [{agent: b, alias: p}, p]}", []composition.Item{agent("b", ""), agent("p", "")},
			composition.FindingDuplicate, "also the name of the agent at line 2"},
		{"a name that the definition has too", "slug: t\nroot: {agent: m, children: [{agent: a, alias: b}]}", []composition.Item{agent("b", ""), agent("m", "", "agents: [b]")},
			composition.FindingDuplicate, "m has two agents called b"},
		{"no agent", "slug: t\nroot: {alias: x}", nil, composition.FindingShape, "names no agent"},
		{"a skill twice", "slug: t\nroot: {agent: a, skills: [pdf, pdf@1.0.0]}", nil, composition.FindingDuplicate, "the skill pdf is there twice"},
		{"two agents of one name in one place", "slug: t\nroot: a", []composition.Item{twice}, composition.FindingAmbiguous, "other.md"},
		{"a version with other content", "slug: t\nroot: v", []composition.Item{agent("v", "1.0.0"), old}, composition.FindingVersion, "differs from the agent v@1.0.0 that was published"},
		{"an unknown tool of a definition", "slug: t\nroot: u", []composition.Item{agent("u", "", "tools: [raed]")}, composition.FindingTool, "the tool raed is not there"},
		{"an entry for a server", "slug: t\nroot: u", []composition.Item{agent("u", "", "tools: [{kind: provider, providerKind: mcp_server, resourceId: erp}]")},
			composition.FindingTool, "no tools of servers in this version: take it out"},
		{"a server at a node", "slug: t\nroot: {agent: a, tools: [mcp__erp__post]}", nil, composition.FindingTool, "the tool mcp_server erp.post is not there"},
		{"a tool that is required", "slug: t\nroot: a\ncapability: {requires: [read, mcp, web]}", nil, composition.FindingTool, "required tool mcp"},
		{"a broken agent", "slug: t\nroot: x", []composition.Item{composition.ReadAgent("x.md", "x", []byte("no head"))}, composition.FindingFrontMatter, "no front matter"},
		{"a number for a version", "slug: t\nversion: 1.0\nroot: a", nil, composition.FindingValue, "is a number"},
		{"a list", "[]", nil, composition.FindingShape, "object"},
		{"a text", "slug: t\nroot: {agent: a, limits: none}", nil, composition.FindingShape, "object"},
	}
	for _, tc := range tests {
		_, err := resolveTree(tc.text, append(tc.items, agent("a", ""), skill("pdf", "1.0.0"))...)
		if err == nil || !hasCode(t, err, tc.code) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s with %q", tc.name, err, tc.code, tc.want)
		}
	}
}

// A definition made for Claude Code may name its tools.
func TestForeignTools(t *testing.T) {
	t.Parallel()
	r, err := composition.ResolveAgent(composition.NewCatalog([]composition.Item{agent("a", "", "tools: Read, WebFetch, mcp__github, mcp__erp__post")}), composition.Ref{Slug: "a"}, composition.Options{})
	if err != nil || !strings.Contains(r.Warnings.Error(), "WebFetch is one of Claude Code") || !strings.Contains(r.Warnings.Error(), "mcp__erp__post is left out") {
		t.Errorf("%+v, %v", r, err)
	}
}

// An agent goes on from another one, and can only have less.
func TestExtends(t *testing.T) {
	t.Parallel()
	items := []composition.Item{
		agent("root", "1.0.0", "model: big", "tools: [read, grep, bash, task]", "skills: [pdf]", "agents: [helper]",
			"limits: {maxSpawns: 5, tokenBudget: 1000}", "permissions: {deny: [memory], tools: {allow: [read, exec, delegate]}}", "capability: {denies: [web]}", "maxTurns: 9"),
		agent("mid", "1.0.0", "extends: root@1.0.0", "tools: [Read, bash]", "limits: {maxSpawns: 3}", "permissions: {ask: [bash]}"),
		agent("leaf", "1.0.0", "extends: mid", "promptMode: replace", "model: small", "agents: [{agent: helper, alias: mate}, other]", "permissions: {tools: {allow: [read, write]}}"),
		agent("helper", ""), agent("other", ""), skill("pdf", "1.0.0"),
	}
	r, err := composition.ResolveAgent(composition.NewCatalog(items), composition.Ref{Slug: "leaf"}, composition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, def := r.Composition.Root, r.Composition.Root.Definition
	said := bounds.Compose(n.Planes()...)
	if def.Description != "about leaf" || def.MaxTurns != 9 || def.Model.Name() != "small" || def.Prompt != items[2].Agent.Prompt || len(n.Skills) != 1 || len(n.Extends) != 2 {
		t.Errorf("%+v\n%+v", def, n)
	}
	if *n.Limits.MaxSpawns != 3 || *n.Limits.TokenBudget != 1000 {
		t.Errorf("limits %+v", n.Limits)
	}
	for tool, denied := range map[string]bool{"read": false, "bash": true, "grep": true, "memory": true, "write": true, "webfetch": true} {
		if said.Denies(tool) != denied {
			t.Errorf("%s is denied: %v", tool, !denied)
		}
	}
	if len(n.Children) != 2 || n.Children[0].Name() != "mate" || n.Children[1].Name() != "other" {
		t.Errorf("it may start %d agents", len(n.Children))
	}
	if m, _ := r.Composition.Digest(); m == "" || len(r.Lock.Pins()) != 6 {
		t.Errorf("the lock holds %+v", r.Lock.Pins())
	}
	appended, err := composition.ResolveAgent(composition.NewCatalog(items), composition.Ref{Slug: "mid"}, composition.Options{})
	if err != nil || appended.Composition.Root.Prompt() != items[0].Agent.Prompt+"\n\n"+items[1].Agent.Prompt {
		t.Errorf("%q, %v", appended.Composition.Root.Prompt(), err)
	}
	for _, tc := range []struct{ name, code, want string }{
		{"extends: nobody", composition.FindingMissing, "the agent nobody is not there"},
		{"extends: x", composition.FindingCycle, "the agent x would extend itself: x → x"},
		{"extends: y", composition.FindingCycle, "x → y → x"},
		{"extends: [root, mid]", composition.FindingShape, "object"},
		{"extends: root\ntools: [edit]", composition.FindingTool, "the tool edit is not one of root@1.0.0"},
		{"extends: root\nlimits: {maxSpawns: 9}", composition.FindingLimit, "maxSpawns is 9, and an agent above has 5"},
		{"extends: root\npromptMode: never", composition.FindingShape, "append or replace"},
	} {
		items := append(slices.Clone(items), agent("x", "", strings.Split(tc.name, "\n")...), agent("y", "", "extends: x"))
		_, err := composition.ResolveAgent(composition.NewCatalog(items), composition.Ref{Slug: "x"}, composition.Options{})
		if err == nil || !hasCode(t, err, tc.code) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s with %q", tc.name, err, tc.code, tc.want)
		}
	}
}

func TestDrafts(t *testing.T) {
	t.Parallel()
	c := composition.NewCatalog([]composition.Item{agent("a", "1.0.0", "agents: [b]"), agent("b", "", "lifecycle: draft")})
	if _, err := composition.ResolveAgent(c, composition.Ref{Slug: "a"}, composition.Options{}); workflow.CodeOf(err) != workflow.CodeNotPublished {
		t.Error(err)
	}
	r, err := composition.ResolveAgent(c, composition.Ref{Slug: "a"}, composition.Options{Draft: true})
	if err != nil || len(r.Drafts) != 1 || !strings.HasPrefix(r.Drafts[0], "agent b@0.0.0+") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A tree of 2^30 agents, made of a few definitions, is refused.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	var items []composition.Item
	for i := range 30 {
		next := fmt.Sprintf("agents: [{agent: a%d, alias: l}, {agent: a%d, alias: r}]", i+1, i+1)
		items = append(items, agent(fmt.Sprint("a", i), "", next))
	}
	_, err := composition.ResolveAgent(composition.NewCatalog(append(items, agent("a30", ""))), composition.Ref{Slug: "a0"}, composition.Options{})
	if err == nil || !hasCode(t, err, composition.FindingTooLarge) || len(findings(t, err)) > 100 {
		t.Errorf("%v", err)
	}
}

// A composition is the same in JSON, in YAML and with other spaces.
func TestCompositionDigest(t *testing.T) {
	t.Parallel()
	a := composition.ReadComposition("a.yaml", "t", []byte("# x\nslug: t\nlifecycle: draft\nroot: {agent: a, children: []}\n"))
	b := composition.ReadComposition("b.json", "t", []byte(`{"root":{"children":[],"agent":"a"},"slug":"t"}`))
	if a.Err != nil || b.Err != nil || a.Digest != b.Digest || a.Version != b.Version || a.Lifecycle == b.Lifecycle {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// wide is a composition of n agents, each with a skill, four below each.
func wide(n int) []composition.Item {
	items := []composition.Item{skill("pdf", "1.0.0")}
	var write func(i, depth int) string
	write = func(i, depth int) string {
		items = append(items, agent(fmt.Sprint("a", i), "1.0.0", "skills: [pdf]", "tools: [read, grep]"))
		pad := strings.Repeat("  ", depth)
		s := fmt.Sprintf("%sagent: a%d\n%slimits: {maxDepth: 20}\n%schildren:\n", pad, i, pad, pad)
		if 4*i+1 >= n {
			return fmt.Sprintf("%sagent: a%d\n", pad, i)
		}
		for c := 4*i + 1; c <= 4*i+4 && c < n; c++ {
			s += pad + "  -\n" + write(c, depth+2)
		}
		return s
	}
	text := write(0, 1)
	return append(items, tree("slug: t\nroot:\n"+text))
}

func BenchmarkResolve1000(b *testing.B) {
	c := composition.NewCatalog(wide(1000))
	b.ReportAllocs()
	for b.Loop() {
		r, err := composition.Resolve(c, composition.Ref{Slug: "t"}, composition.Options{})
		if err != nil || len(r.Items) != 1002 {
			b.Fatal(len(r.Items), err)
		}
	}
}

// With reading all documents, making the catalog, and the digest.
func BenchmarkReadAndResolve1000(b *testing.B) {
	for b.Loop() {
		r, err := composition.Resolve(composition.NewCatalog(wide(1000)), composition.Ref{Slug: "t"}, composition.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Composition.Digest(); err != nil {
			b.Fatal(err)
		}
	}
}
