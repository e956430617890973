package composition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/composition/version"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
)

// Composition is a tree of agents as it is written.
type Composition struct {
	Slug        string             `json:"slug"`
	DisplayName string             `json:"displayName,omitempty"`
	Description string             `json:"description,omitempty"`
	Scope       Tier               `json:"scope,omitempty"` // as written; where it was found counts
	Root        Node               `json:"root"`
	Capability  *bounds.Capability `json:"capability,omitempty"`
	Workspace   json.RawMessage    `json:"workspace,omitempty"` // what a manifest has under spec

	doc *source.Document
}

// Node is an agent in a tree. Its skills and tools come to those of the agent's
// definition; nothing of it holds for its children, but limits and permissions.
type Node struct {
	Agent         Ref                `json:"agent"`
	Alias         string             `json:"alias,omitempty"`
	Skills        []Ref              `json:"skills,omitempty"`
	Tools         []bounds.Selection `json:"tools,omitempty"`
	ModelOverride *Model             `json:"modelOverride,omitempty"`
	Instructions  string             `json:"instructions,omitempty"` // after the prompt
	Permissions   Permissions        `json:"permissions,omitzero"`
	Limits        *bounds.Limits     `json:"limits,omitempty"`
	Children      []Node             `json:"children,omitempty"`

	at string // JSON pointer of the node in its document
}

// Name is what the agent is called by the one above: its alias, else its slug.
func (n *Node) Name() string { return cmp.Or(n.Alias, n.Agent.Slug) }

// UnmarshalJSON reads a node, with ref for agent and model for modelOverride, or a
// reference alone.
func (n *Node) UnmarshalJSON(raw []byte) error {
	*n = Node{}
	if strings.HasPrefix(string(raw), `"`) {
		return json.Unmarshal(raw, &n.Agent)
	}
	type plain Node
	var o struct {
		*plain
		Ref   *Ref   `json:"ref"`
		Model *Model `json:"model"`
	}
	o.plain = (*plain)(n)
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	if o.Ref != nil && n.Agent.Slug == "" {
		n.Agent = *o.Ref
	}
	if o.Model != nil && n.ModelOverride == nil {
		n.ModelOverride = o.Model
	}
	return nil
}

// read settles the references of a node and of those below, and checks the rest.
// Above are the limits that hold around it.
func (n *Node) read(r *reader, at string, above *bounds.Limits) {
	n.at = at
	if n.Agent.Slug == "" {
		r.say(at, FindingShape, "write agent: SLUG or agent: SLUG@VERSION", "the node names no agent")
	} else {
		r.ref(at+"/agent", KindAgent, &n.Agent)
	}
	if n.Alias != "" {
		if err := CheckSlug(KindAgent, n.Alias); err != nil {
			r.say(at+"/alias", FindingValue, "", "the alias %v", err)
		}
	}
	seen := map[string]bool{}
	for i := range n.Skills {
		here := at + pointer("skills", i)
		r.ref(here, KindSkill, &n.Skills[i])
		if slug := n.Skills[i].Slug; seen[slug] {
			r.say(here, FindingDuplicate, "keep one of them", "the skill %s is there twice", slug)
		} else {
			seen[slug] = true
		}
	}
	for i, s := range n.Tools {
		if m := s.Check(); m != "" {
			r.say(at+pointer("tools", i), FindingTool, "", "the selection cannot be used: %s", m)
		}
	}
	if m := n.ModelOverride.check(); m != "" {
		r.say(at+"/modelOverride", FindingValue, "", "the model cannot be used: %s", m)
	}
	r.permissions(at+"/permissions", &n.Permissions, false)
	r.limits(at+"/limits", n.Limits)
	for _, p := range n.Limits.Exceeds(above) {
		r.say(at+"/limits/"+p.Field, FindingLimit, "", "%s %s", p.Field, p.Message)
	}
	within := n.Limits.Within(above)
	for i := range n.Children {
		n.Children[i].read(r, at+pointer("children", i), within)
	}
}

// ReadComposition makes an item of the YAML or JSON file called name. Slug is the
// name that the file has.
func ReadComposition(name, slug string, data []byte) Item {
	it := Item{Kind: KindComposition, Slug: slug, Source: name, Content: unix(data)}
	doc, err := source.Parse(name, it.Content, source.Limits{MaxDepth: 256})
	if err != nil {
		return it.fail(err)
	}
	r := &reader{doc: doc}
	r.shape(KindComposition)
	var f struct {
		Composition
		Version   json.RawMessage `json:"version"`
		Lifecycle Lifecycle       `json:"lifecycle"`
	}
	if err := doc.Decode(&f); err != nil {
		if len(r.found) == 0 {
			return it.fail(err)
		}
		return it.fail(r.sorted())
	}
	c := f.Composition
	c.doc = doc
	if err := CheckSlug(KindComposition, c.Slug); err == nil {
		it.Slug = c.Slug
	} else if c.Slug != "" {
		r.say("/slug", FindingValue, "", "%v", err)
	}
	c.Root.read(r, "/root", nil)
	r.repeated(&c.Root)
	r.capability("/capability", c.Capability)
	it.Composition = &c
	it.finish(r.version(f.Version), f.Lifecycle, r)
	it.same()
	return it
}

// same gives a composition the digest of what it means: spaces and comments, its
// lifecycle, and whether it is YAML or JSON, do not count.
func (it *Item) same() {
	var fields map[string]json.RawMessage
	if json.Unmarshal(it.Composition.doc.JSON(), &fields) != nil {
		return // it is no object, which the schema has told
	}
	delete(fields, "lifecycle")
	content, err := canon.Canonical(mustJSON(fields))
	if err != nil {
		return // a number that has no canonical form: the text is its own
	}
	it.Content, it.Digest = content, canon.Sum(content)
	if it.Implicit {
		it.Version = version.Implicit(it.Digest)
	}
}

// repeated refuses two uses of one agent in a tree that cannot be told apart.
func (r *reader) repeated(root *Node) {
	type use struct {
		node  *Node
		count int
	}
	agents, names := map[string]*use{}, map[string]*Node{}
	var nodes []*Node
	var walk func(n *Node)
	walk = func(n *Node) {
		nodes = append(nodes, n)
		u := agents[n.Agent.Name()]
		if u == nil {
			u = &use{node: n}
			agents[n.Agent.Name()] = u
		}
		u.count++
		for i := range n.Children {
			walk(&n.Children[i])
		}
	}
	walk(root)
	for _, n := range nodes {
		switch first := names[n.Name()]; {
		case n.Agent.Slug == "":
		case n.Alias == "" && agents[n.Agent.Name()].count > 1:
			r.say(n.at, FindingDuplicate, "give each of them an alias", "the agent %s is used %d times, and here it has no alias", n.Agent.Name(), agents[n.Agent.Name()].count)
		case first != nil:
			r.say(n.at, FindingDuplicate, "give one of them another alias", "%s is also the name of the agent at %s", n.Name(), r.where(first.at))
		default:
			names[n.Name()] = n
		}
	}
}

func (r *reader) where(at string) string {
	p, _ := r.doc.At(at)
	return fmt.Sprintf("line %d", p.Line)
}
