package bounds_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/permission"
)

func rule(effect permission.Effect, tool string) permission.Rule {
	return permission.Rule{Effect: effect, Tool: tool, Whole: true}
}

// An agent cannot grant; a person can, and everybody can take away.
func TestComposeGrants(t *testing.T) {
	t.Parallel()
	session := bounds.Plane{Name: "session", Grants: true, Rules: []permission.Rule{rule(permission.Allow, "bash"), rule(permission.Allow, "edit")}}
	overlay := bounds.Plane{Name: "overlay", Rules: []permission.Rule{rule(permission.Allow, "webfetch"), rule(permission.Deny, "edit")}}
	c := bounds.Compose(session, overlay)
	if want := []permission.Rule{rule(permission.Deny, "edit"), rule(permission.Allow, "bash"), rule(permission.Allow, "edit")}; !slices.Equal(c.Rules, want) {
		t.Errorf("rules %v, want %v", c.Rules, want)
	}
	if !c.Denies("write") || !c.Denies("Edit") || c.Denies("bash") {
		t.Errorf("denied %v", c.Denied)
	}
}

func TestComposeServers(t *testing.T) {
	t.Parallel()
	c := bounds.Compose(bounds.Plane{Only: []string{"mcp__git", "mcp__erp__post"}})
	for tool, want := range map[string]bool{"mcp__git__log": false, "mcp__gitlab__log": true, "mcp__erp__post": false, "mcp__erp__get": true, "submit": false} {
		if c.Denies(tool) != want {
			t.Errorf("%s is denied: %v", tool, !want)
		}
	}
	c = bounds.Compose(bounds.Plane{Gates: bounds.Gates{Deny: []string{"mcp"}}})
	if !c.Denies("mcp__git__log") || c.Denies("memory") {
		t.Error("the class mcp is servers, without memory")
	}
}

var effects = []permission.Effect{permission.Allow, permission.Ask, permission.Deny}

func drawPlane(t *rapid.T, grants bool) bounds.Plane {
	tools := rapid.SampledFrom(append(bounds.BuiltinTools(), "webfetch", "mcp__a__b"))
	classes := rapid.SliceOfN(rapid.SampledFrom(bounds.Classes()), 0, 3)
	p := bounds.Plane{Grants: grants}
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
		parent := []bounds.Plane{drawPlane(t, true), drawPlane(t, false)}
		child := append(slices.Clone(parent), drawPlane(t, false), drawPlane(t, false))
		turned := slices.Clone(child)
		slices.Reverse(turned)
		above, below, other := bounds.Compose(parent...), bounds.Compose(child...), bounds.Compose(turned...)
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
func verdict(t *rapid.T, c *bounds.Composed, tool string) int {
	if c.Denies(tool) {
		return 3
	}
	judge := permission.NewJudge(permission.Policy{Rules: permission.Compile(t.Context(), c.Rules, permission.Scope{Root: "/w"}, nil)}, nil)
	v := judge.Judge(t.Context(), &permission.Call{Tool: tool})
	return map[permission.Effect]int{permission.Allow: 0, permission.None: 1, permission.Ask: 2, permission.Deny: 3}[v.Effect]
}

// The tools of a workspace are those that its entries select; one that selects
// nothing is told.
func TestOnly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ list, want, wrong string }{
		{`null`, "all", ""},
		{`[]`, "all", ""},
		{`["Read","grep"]`, "Read grep", ""},
		{`[{"kind":"tool","providerKind":"builtin","toolName":"read"},{"kind":"provider","providerKind":"mcp_server","resourceId":"erp"}]`, "read mcp__erp", ""},
		{`["reed"]`, "", `0: the tool reed is not there; did you mean "read"?`},
		{`["read",{"kind":"tool","providerKind":"mcp_server","resourceId":"other","toolName":"x"}]`, "", "1: the tool mcp_server other.x is not there"},
		{`[{"kind":"tool"}]`, "", "0: the selection cannot be used"},
		{`[7]`, "", "0: the selection cannot be used"},
	} {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(tc.list), &list); err != nil {
			t.Fatal(err)
		}
		only, wrong := bounds.Toolbox{Resources: map[string][]string{"mcp_server/erp": nil}}.Only(list)
		got := "all"
		if only != nil {
			got = strings.Join(only, " ")
		}
		var told []string
		for _, p := range wrong {
			told = append(told, p.Field+": "+p.Message)
		}
		if s := strings.Join(told, "; "); (s == "") != (tc.wrong == "") || !strings.Contains(s, tc.wrong) || tc.wrong == "" && got != tc.want {
			t.Errorf("%s: %q, told %q", tc.list, got, s)
		}
	}
}
