package live

import (
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// kindAgent is the kind of items that are agents which another agent started.
const kindAgent = "agent"

// leads reports whether the item is an agent, or has one, that started others.
func (i *item) leads() bool {
	return len(i.kids) > 0 && i.kids[0].kind == kindAgent
}

// agentKey names an agent below its visit. No id of a visit holds a blank.
func agentKey(visit key, agent string) key { return key{visit.run, visit.id + " " + agent} }

// agent returns the item of an agent of a visit, or the visit's own.
func (t *Tree) agent(i *item, agent string) *item {
	if a := t.items[agentKey(i.key, agent)]; agent != "" && a != nil {
		return a
	}
	return i
}

// hired adds an agent below the one that started it.
func (t *Tree) hired(i *item, e workflow.Event, p *workflow.AgentStarted) {
	k := agentKey(i.key, p.Key)
	if p.Depth == 0 || t.items[k] != nil {
		return
	}
	parent := t.agent(i, p.Parent)
	a := &item{key: k, name: last(p.Label), node: i.node, kind: kindAgent, parent: parent, state: running, since: e.At, model: p.Model}
	if p.Task != "" {
		a.name += " (" + clean(p.Task) + ")"
	}
	t.items[k] = a
	parent.kids = append(parent.kids, a)
}

// dismissed ends an agent.
func (t *Tree) dismissed(i *item, e workflow.Event, p *workflow.AgentEnded) {
	a := t.items[agentKey(i.key, p.Key)]
	if a == nil {
		return
	}
	a.took = e.At.Std().Sub(a.since.Std())
	switch p.Status {
	case workflow.AgentFailed:
		a.note = a.reason(p.Code, p.Message)
		t.close(a, failed)
		return
	case workflow.AgentDrained:
		a.note = "came to an end at a limit"
	}
	t.close(a, done)
}

// labelled is the newest open agent of a visit with a label, or the visit's own
// item.
func (t *Tree) labelled(i *item, label string) *item {
	at := i
	for name := range strings.SplitSeq(label, "/") {
		for _, k := range at.kids {
			if k.kind == kindAgent && k.open() && (k.name == clean(name) || strings.HasPrefix(k.name, clean(name)+" (")) {
				at = k
			}
		}
	}
	return at
}

// last is the name of an agent without those that started it.
func last(label string) string {
	for i := len(label) - 1; i >= 0; i-- {
		if label[i] == '/' {
			return clean(label[i+1:])
		}
	}
	return clean(label)
}
