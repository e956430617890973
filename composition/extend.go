package composition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
)

// chain is an agent with those that it extends, the nearest first; nil when one of
// them cannot be used.
func (r *resolver) chain(it *Item) []*Item {
	list := []*Item{it}
	for {
		last := list[len(list)-1]
		ref := last.Agent.Extends
		if ref == nil {
			return list
		}
		base := r.use(last, "/extends", KindAgent, *ref)
		if base == nil {
			return nil
		}
		if i := slices.Index(list, base); i >= 0 {
			var names []string
			for _, it := range append(list[i:], base) {
				names = append(names, it.Name())
			}
			r.say(last, "/extends", fault{code: FindingCycle, message: "the agent " + base.Name() + " would extend itself: " + strings.Join(names, " → "),
				hint: "take it out of one of them"})
			return nil
		}
		list = append(list, base)
	}
}

// extended is the definition of an agent with what it inherits. What bounds the
// agent can only get tighter on the way down.
func (r *resolver) extended(chain []*Item) *Agent {
	it, def := chain[0], *chain[0].Agent
	if len(chain) == 1 {
		return chain[0].Agent
	}
	base := r.extended(chain[1:])
	for i, s := range def.Tools {
		if !base.offers(s) {
			r.say(it, pointer("tools", i), fault{code: FindingTool, message: fmt.Sprintf("the tool %s is not one of %s, which the agent extends", s, chain[1].Ref()),
				hint: "an agent can only have less than what it extends"})
		}
	}
	for _, p := range def.Limits.Exceeds(base.Limits) {
		r.say(it, "/limits/"+p.Field, fault{code: FindingLimit, message: fmt.Sprintf("%s %s", p.Field, p.Message)})
	}
	def.Description, def.Mode, def.Skill = cmp.Or(def.Description, base.Description), cmp.Or(def.Mode, base.Mode), cmp.Or(def.Skill, base.Skill)
	def.Model, def.MaxTurns, def.Limits = cmp.Or(def.Model, base.Model), cmp.Or(def.MaxTurns, base.MaxTurns), def.Limits.Within(base.Limits)
	if def.Tools == nil {
		def.Tools = base.Tools
	}
	p, q := base.Permissions, def.Permissions
	def.Permissions = Permissions{
		Allow: slices.Concat(p.Allow, q.Allow), Ask: slices.Concat(p.Ask, q.Ask), Deny: slices.Concat(p.Deny, q.Deny), Tools: p.Tools.And(q.Tools),
	}
	if base.Capability != nil {
		both := *base.Capability
		if def.Capability != nil {
			both = def.Capability.Within(both)
		}
		def.Capability = &both
	}
	if def.PromptMode != promptReplace && base.Prompt != "" {
		def.Prompt = strings.TrimSpace(base.Prompt + "\n\n" + def.Prompt)
	}
	return &def
}

// promptReplace has the prompt of an agent stand for that of the one it extends,
// rather than after it.
const promptReplace = "replace"

// offers reports whether an agent that extends this one may list a tool.
func (a *Agent) offers(s bounds.Selection) bool {
	return a.Tools == nil || slices.ContainsFunc(a.Tools, func(o bounds.Selection) bool {
		return o.ProviderKind == s.ProviderKind && o.ResourceID == s.ResourceID && (o.Kind == bounds.SelectProvider || bounds.Known(s.ToolName, []string{o.ToolName}))
	})
}
