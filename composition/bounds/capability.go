package bounds

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

// Normal returns the capability with one spelling of each reach.
func (c Capability) Normal() Capability {
	c.Reach = c.reach()
	return c
}

// IsReference reports whether a name is a reference to a capability of a platform,
// such as kb:read@1: it is carried and says nothing about tools.
func IsReference(name string) bool { return capPattern().MatchString(name) }

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

// CheckName says what is wrong with an entry of Requires or Denies, or "".
func CheckName(name string) string {
	if IsClass(name) || IsReference(name) || strings.HasPrefix(name, "mcp__") {
		return ""
	}
	rule, err := permission.ParseRule(permission.Deny, name, permission.Source{})
	switch {
	case err != nil:
		return err.Error()
	case !Known(rule.Tool, BuiltinTools()) && !ForeignTool(rule.Tool):
		return "the tool " + rule.Tool + " is not known"
	}
	return ""
}
