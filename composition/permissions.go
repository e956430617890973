package composition

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/permission"
)

// Permissions narrow what an agent may do. Entries of Allow are kept as they were
// written and grant nothing.
type Permissions struct {
	Allow []string     `json:"allow,omitempty"` // rules: Tool or Tool(pattern)
	Ask   []string     `json:"ask,omitempty"`
	Deny  []string     `json:"deny,omitempty"`
	Tools bounds.Gates `json:"tools,omitzero"`
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// permissions checks rules; in the definition of an agent no floor tool may be
// allowed.
func (r *reader) permissions(at string, p *Permissions, definition bool) {
	for _, list := range []struct {
		key    string
		effect permission.Effect
		rules  []string
	}{{"allow", permission.Allow, p.Allow}, {"ask", permission.Ask, p.Ask}, {"deny", permission.Deny, p.Deny}} {
		for i, s := range list.rules {
			here := at + pointer(list.key, i)
			rule, err := permission.ParseRule(list.effect, s, permission.Source{})
			if err != nil {
				r.say(here, FindingValue, "", "%v", err)
				continue
			}
			switch {
			case list.effect != permission.Allow:
			case definition:
				r.floorGrant(here, rule.Tool)
			default:
				r.warn(here, "only a person can allow its use", "allowing %s has no effect here", rule.Tool)
			}
		}
	}
}

// floorGrant refuses to allow a floor tool, and warns about other tools.
func (r *reader) floorGrant(at, tool string) {
	if bounds.IsFloorTool(tool) {
		r.say(at, FindingFloorGrant, "remove it: every agent has the tool, and only a person can allow its use",
			"the definition allows %s, which it cannot", tool)
		return
	}
	r.warn(at, "only a person can allow its use", "allowing %s has no effect here", tool)
}

// permission reads the map {tool: allow|ask|deny} or {tool: {pattern: …}}, with
// task: {AGENT: allow} for agents that may be started.
func (r *agentReader) permission(raw json.RawMessage) {
	if raw == nil {
		return
	}
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		r.effect("/permission", "*", "", whole)
		return
	}
	var tools map[string]json.RawMessage
	if json.Unmarshal(raw, &tools) != nil {
		return // the schema has told it
	}
	for _, tool := range sortedKeys(tools) {
		at := pointer("permission", tool)
		var effect string
		if json.Unmarshal(tools[tool], &effect) == nil {
			r.effect(at, tool, "", effect)
			continue
		}
		var patterns map[string]string
		if json.Unmarshal(tools[tool], &patterns) != nil {
			r.say(at, FindingShape, "write allow, ask or deny, or {PATTERN: ask}", "it says nothing that is understood")
			continue
		}
		for _, pattern := range sortedKeys(patterns) {
			r.effect(at+pointer(pattern), tool, pattern, patterns[pattern])
		}
	}
}

func (r *agentReader) effect(at, tool, pattern, effect string) {
	rule := tool
	if pattern != "" && pattern != "*" {
		rule += "(" + pattern + ")"
	}
	p := &r.Agent.Permissions
	switch {
	case effect != "allow" && effect != "ask" && effect != "deny":
		r.say(at, FindingValue, "", "%q is not an effect: write allow, ask or deny", effect)
	case tool == "tools":
		r.effect(at, pattern, "", effect)
	case permission.ToolKey(tool) == "task" && pattern != "" && pattern != "*":
		r.start(at, pattern, effect)
	case tool == "*" && effect == "allow":
		r.warn(at, "only a person can allow things", "allowing everything has no effect here")
	case tool == "*":
		for _, name := range bounds.BuiltinTools() {
			r.put(p, effect, name)
		}
	case effect == "allow":
		r.floorGrant(at, tool)
	case !bounds.Known(tool, bounds.BuiltinTools()) && !strings.HasPrefix(tool, "mcp__"):
		if !bounds.ForeignTool(tool) {
			r.warn(at, meant(tool, bounds.BuiltinTools()), "the tool %q is not known", tool)
		}
	default:
		if _, err := permission.ParseRule(permission.Deny, rule, permission.Source{}); err != nil {
			r.say(at, FindingValue, "", "%v", err)
			return
		}
		r.put(p, effect, rule)
	}
}

func (r *agentReader) put(p *Permissions, effect, rule string) {
	if effect == "deny" {
		p.Deny = append(p.Deny, rule)
		return
	}
	p.Ask = append(p.Ask, rule)
}

// start reads what the definition says about starting one agent.
func (r *agentReader) start(at, slug, effect string) {
	switch effect {
	case "allow":
		r.delegate(at, slug)
	case "ask":
		r.delegate(at, slug)
		r.put(&r.Agent.Permissions, "ask", "task")
	}
}
