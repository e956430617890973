package composition

import (
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/permission"
)

// Reaches, each within the next. The default is ReachOwner.
const (
	ReachSandbox   = "sandbox"
	ReachOwner     = "owner"
	ReachConnected = "connected"
	ReachFull      = "full"
)

var (
	reaches    = []string{ReachSandbox, ReachOwner, ReachConnected, ReachFull}
	risks      = []string{"low", "medium", "high", "critical"}
	capPattern = text.MustPattern(`^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*@\d+$`)
)

// Capability is what a composition needs and what it is kept from. The zero value
// needs nothing and is kept from nothing, within the reach of the owner.
type Capability struct {
	// Requires are tools or classes of tools that must exist. Denies are rules
	// (Tool, Tool(pattern)) or classes. Both may hold capability references.
	Requires []string `json:"requires,omitempty"`
	Denies   []string `json:"denies,omitempty"`
	Reach    string   `json:"reach,omitempty"`
	MaxRisk  string   `json:"maxRisk,omitempty"` // low, medium, high, critical
	// Egress are the hosts that may be reached; nil says nothing, empty is none.
	Egress []string `json:"egress,omitzero"`
}

// Within returns what holds for a part of something with another capability: what
// both need, what either denies, the smaller of each rest.
func (c Capability) Within(above Capability) Capability {
	out := Capability{
		Requires: union(above.Requires, c.Requires), Denies: union(above.Denies, c.Denies),
		Reach: lower(reaches, c.reach(), above.reach()), MaxRisk: lower(risks, c.MaxRisk, above.MaxRisk), Egress: c.Egress,
	}
	switch {
	case c.Egress == nil:
		out.Egress = slices.Clone(above.Egress)
	case above.Egress != nil:
		out.Egress = slices.DeleteFunc(slices.Clone(c.Egress), func(host string) bool { return !slices.Contains(above.Egress, host) })
	}
	return out
}

func (c Capability) reach() string {
	if c.Reach == "as-owner" {
		return ReachOwner
	}
	return c.Reach
}

// lower gives the one that comes first; empty says nothing.
func lower(order []string, a, b string) string {
	if a == "" || b != "" && slices.Index(order, b) < slices.Index(order, a) {
		return b
	}
	return a
}

func union(a, b []string) []string {
	var out []string
	for _, s := range append(slices.Clone(a), b...) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// capability checks the names in a capability.
func (r *reader) capability(at string, c *Capability) {
	if c == nil {
		return
	}
	for _, list := range []struct {
		key   string
		names []string
	}{{"requires", c.Requires}, {"denies", c.Denies}} {
		for i, name := range list.names {
			if m := checkCapability(name); m != "" {
				tool, _, _ := strings.Cut(name, "(")
				r.say(at+pointer(list.key, i), FindingTool, meant(tool, append(BuiltinTools(), Classes()...)), "%s", m)
			}
		}
	}
	c.Reach = c.reach()
}

func checkCapability(name string) string {
	if isClass(name) || capPattern().MatchString(name) || strings.HasPrefix(name, "mcp__") {
		return ""
	}
	rule, err := permission.ParseRule(permission.Deny, name, permission.Source{})
	switch {
	case err != nil:
		return err.Error()
	case !known(rule.Tool, BuiltinTools()) && !known(rule.Tool, foreignTools):
		return "the tool " + rule.Tool + " is not known"
	}
	return ""
}

// isClass reports whether a name can only be that of a class of tools.
func isClass(name string) bool {
	_, ok := classes[name]
	return ok && !known(name, BuiltinTools())
}
