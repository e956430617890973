package load

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// NodeInfo describes one node of a definition, for plans and pictures.
type NodeInfo struct {
	Body    string // "" is the root; a component's name; or the path of a body written in place
	Inline  bool   // the body is written in place
	Node    string
	Kind    string
	Label   string
	Group   string
	Summary string // what it does, in a few words from its params
	Traits  piece.Traits
	Ends    map[string]*string // outcome → node, nil ends the body
	Entry   bool               // the body starts here
	Last    bool               // the body's onExhausted leads here
	Bodies  []BodyUse          // what a component, map or parallel runs
	Retry   workflow.Retry
	Pointer string // JSON pointer in the document
}

// BodyUse is the use of a body by a node.
type BodyUse struct {
	Body   string // as in NodeInfo.Body
	Branch string // of a parallel
	Inline bool
}

// Describe lists the nodes of every body of a valid definition: bodies in the
// order root, components by name, each followed by those written inside it;
// nodes in the order in which they are reached from the entry.
func Describe(def *workflow.Definition, pieces *piece.Registry, env piece.Env) ([]NodeInfo, error) {
	raw, err := json.Marshal(def)
	if err != nil {
		return nil, fmt.Errorf("describing workflow %s: %w", def.ID, err)
	}
	c := &checker{cfg: Config{Pieces: pieces}, level: def.SchemaVersion, env: env, fields: object(raw)}
	c.env.Level, c.env.Declared = def.SchemaVersion, def.Roles
	c.readBodies(raw)
	for _, b := range c.bodies {
		for _, name := range b.order {
			n := b.nodes[name]
			if p, ok := pieces.Get(n.kind); ok {
				n.traits, _ = p.Describe(n.params, c.env)
				c.completeTraits(n)
			}
		}
	}
	return c.nodes(), nil
}

// nodes describes all bodies that were read.
func (c *checker) nodes() []NodeInfo {
	var all []NodeInfo
	for _, b := range c.bodies {
		for _, name := range b.walk() {
			n := b.nodes[name]
			info := NodeInfo{
				Body: b.name, Inline: b.parent != nil, Node: name, Kind: n.kind, Label: n.label, Group: n.group, Summary: n.summary(),
				Traits: n.traits, Ends: n.ends, Entry: name == b.entry, Last: name == b.exhausted, Retry: n.retry, Pointer: n.pointer,
			}
			for _, r := range n.refs {
				info.Bodies = append(info.Bodies, BodyUse{Body: r.name, Branch: r.branch, Inline: r.inline})
			}
			all = append(all, info)
		}
	}
	return all
}

// walk returns the names breadth first from the entry, outcomes in the order of
// the piece, then those that are not reached.
func (b *body) walk() []string {
	seen := map[string]bool{}
	var order []string
	for _, start := range append([]string{b.entry, b.exhausted}, b.order...) {
		for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
			n := b.nodes[queue[0]]
			if n == nil || seen[n.name] {
				continue
			}
			seen[n.name] = true
			order = append(order, n.name)
			for _, outcome := range n.traits.Outcomes {
				if to := n.ends[outcome]; to != nil {
					queue = append(queue, *to)
				}
			}
		}
	}
	return order
}
