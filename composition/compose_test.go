package composition_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/permission"
)

// alone resolves one agent with the lines of its front matter.
func alone(t *testing.T, lines ...string) *composition.ResolvedNode {
	t.Helper()
	items := []composition.Item{agent("lead", "", lines...), agent("helper", "")}
	r, err := composition.ResolveAgent(composition.NewCatalog(items), composition.Ref{Slug: "lead"}, composition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Composition.Root
}

func TestComposeDefinition(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		lines  []string
		denied []string // of the built-in tools
		asked  []string
	}{
		{"nothing said", nil, nil, nil},
		{"a denied floor tool", []string{"permission: {bash: deny}"}, []string{"bash"}, nil},
		{"an asked one", []string{"permission: {bash: ask}"}, nil, []string{"bash"}},
		{"edit is write too", []string{"permission: {edit: deny}"}, []string{"write", "edit"}, nil},
		{"a list", []string{"tools: [grep, write]"}, []string{"bash", "read", "edit", "glob", "ls", "task", "todo_write", "memory", "artifact_read", "artifact_write", "workflow"}, nil},
		{"a list with agents", []string{"tools: [read]", "agents: [helper]"},
			[]string{"bash", "write", "edit", "grep", "glob", "ls", "todo_write", "memory", "artifact_read", "artifact_write", "workflow"}, nil},
		{"an empty list", []string{"tools: []"}, slices.DeleteFunc(bounds.BuiltinTools(), func(s string) bool { return s == "ask" || s == "submit" }), nil},
		{"closed classes", []string{"permissions: {tools: {deny: [write, exec]}}"}, []string{"bash", "write", "edit", "todo_write"}, nil},
		{"open classes", []string{"permissions: {tools: {allow: [read]}}"}, []string{"bash", "write", "edit", "task", "todo_write"}, nil},
		{"a capability", []string{"capability: {denies: [exec, write]}"}, []string{"bash", "write"}, nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := composition.Compose(alone(t, tc.lines...).Planes()...)
			if !slices.Equal(c.Denied, tc.denied) {
				t.Errorf("denied %v, want %v", c.Denied, tc.denied)
			}
			judge := permission.NewJudge(permission.Policy{Rules: permission.Compile(t.Context(), c.Rules, permission.Scope{Root: "/w"}, nil)}, nil)
			for _, tool := range bounds.BuiltinTools() {
				v := judge.Judge(t.Context(), &permission.Call{Tool: tool})
				if v.Effect == permission.Deny && !slices.Contains(tc.denied, tool) {
					t.Errorf("the rules deny %s: %s", tool, v.Reason)
				}
				if asked := v.Effect == permission.Ask; asked != slices.Contains(tc.asked, tool) {
					t.Errorf("%s is asked about: %v", tool, asked)
				}
			}
		})
	}
}

func rule(effect permission.Effect, tool string) permission.Rule {
	return permission.Rule{Effect: effect, Tool: tool, Whole: true}
}

// An agent cannot grant; a person can, and everybody can take away.
func TestComposeGrants(t *testing.T) {
	t.Parallel()
	session := composition.Plane{Name: "session", Grants: true, Rules: []permission.Rule{rule(permission.Allow, "bash"), rule(permission.Allow, "edit")}}
	overlay := composition.Plane{Name: "overlay", Rules: []permission.Rule{rule(permission.Allow, "webfetch"), rule(permission.Deny, "edit")}}
	c := composition.Compose(session, overlay)
	if want := []permission.Rule{rule(permission.Deny, "edit"), rule(permission.Allow, "bash"), rule(permission.Allow, "edit")}; !slices.Equal(c.Rules, want) {
		t.Errorf("rules %v, want %v", c.Rules, want)
	}
	if !c.Denies("write") || !c.Denies("Edit") || c.Denies("bash") {
		t.Errorf("denied %v", c.Denied)
	}
}

// What is denied above is denied below; a list of tools is of one agent.
func TestComposeBelow(t *testing.T) {
	t.Parallel()
	items := []composition.Item{
		agent("lead", "", "tools: [task]", "permission: {memory: deny}", "agents: [worker]", "capability: {denies: [web]}"), agent("worker", "", "permission: {edit: ask}"),
	}
	r, err := composition.ResolveAgent(composition.NewCatalog(items), composition.Ref{Slug: "lead"}, composition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	planes, err := r.Composition.Planes("worker")
	if err != nil {
		t.Fatal(err)
	}
	c := composition.Compose(planes...)
	if !slices.Equal(c.Denied, []string{"memory"}) || !c.Denies("webfetch") || c.Denies("bash") {
		t.Errorf("denied %v", c.Denied)
	}
	if _, err := r.Composition.Planes("nobody"); err == nil {
		t.Error("planes of an agent that is not there")
	}
}

func TestComposeServers(t *testing.T) {
	t.Parallel()
	c := composition.Compose(composition.Plane{Only: []string{"mcp__git", "mcp__erp__post"}})
	for tool, want := range map[string]bool{"mcp__git__log": false, "mcp__gitlab__log": true, "mcp__erp__post": false, "mcp__erp__get": true, "submit": false} {
		if c.Denies(tool) != want {
			t.Errorf("%s is denied: %v", tool, !want)
		}
	}
	c = composition.Compose(composition.Plane{Gates: composition.ToolGates{Deny: []string{"mcp"}}})
	if !c.Denies("mcp__git__log") || c.Denies("memory") {
		t.Error("the class mcp is servers, without memory")
	}
}

var effects = []permission.Effect{permission.Allow, permission.Ask, permission.Deny}

func drawPlane(t *rapid.T, grants bool) composition.Plane {
	tools := rapid.SampledFrom(append(bounds.BuiltinTools(), "webfetch", "mcp__a__b"))
	classes := rapid.SliceOfN(rapid.SampledFrom(bounds.Classes()), 0, 3)
	p := composition.Plane{Grants: grants}
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		p.Rules = append(p.Rules, rule(rapid.SampledFrom(effects).Draw(t, "effect"), tools.Draw(t, "tool")))
	}
	if rapid.Bool().Draw(t, "listed") {
		p.Only = rapid.SliceOfN(tools, 0, 6).Draw(t, "only")
	}
	if rapid.Bool().Draw(t, "gated") {
		p.Gates.Allow = classes.Draw(t, "open")
	}
	p.Gates.Deny = classes.Draw(t, "closed")
	return p
}

// Whatever further planes say, nothing is allowed that was not allowed before.
func TestComposeNarrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parent := []composition.Plane{drawPlane(t, true), drawPlane(t, false)}
		child := append(slices.Clone(parent), drawPlane(t, false), drawPlane(t, false))
		turned := slices.Clone(child)
		slices.Reverse(turned)
		above, below, other := composition.Compose(parent...), composition.Compose(child...), composition.Compose(turned...)
		for _, tool := range append(bounds.BuiltinTools(), "webfetch", "mcp__a__b") {
			was, is := verdict(t, &above, tool), verdict(t, &below, tool)
			if is < was {
				t.Fatalf("%s was %v and is %v", tool, was, is)
			}
			if o := verdict(t, &other, tool); o != is {
				t.Fatalf("%s is %v, and %v in another order", tool, is, o)
			}
		}
	})
}

// verdict gives 0 for allow, 1 for what nobody speaks about, 2 for ask, 3 for deny.
func verdict(t *rapid.T, c *composition.Composed, tool string) int {
	if c.Denies(tool) {
		return 3
	}
	judge := permission.NewJudge(permission.Policy{Rules: permission.Compile(t.Context(), c.Rules, permission.Scope{Root: "/w"}, nil)}, nil)
	v := judge.Judge(t.Context(), &permission.Call{Tool: tool})
	return map[permission.Effect]int{permission.Allow: 0, permission.None: 1, permission.Ask: 2, permission.Deny: 3}[v.Effect]
}
