package composition_test

import (
	"slices"
	"testing"

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
			c := bounds.Compose(alone(t, tc.lines...).Planes()...)
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
	c := bounds.Compose(planes...)
	if !slices.Equal(c.Denied, []string{"memory"}) || !c.Denies("webfetch") || c.Denies("bash") {
		t.Errorf("denied %v", c.Denied)
	}
	if _, err := r.Composition.Planes("nobody"); err == nil {
		t.Error("planes of an agent that is not there")
	}
}
