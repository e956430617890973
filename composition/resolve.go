package composition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/workflow"
)

// DefaultMaxNodes bounds a resolved tree.
const DefaultMaxNodes = 10_000

// Options say how references are resolved. The zero value resolves what is
// published, of all tiers, with the built-in tools, without a lock.
type Options struct {
	Draft  bool // drafts too: the result is not reproducible
	Shared bool // without the tier user, for runs that nobody started by hand
	Tools  bounds.Toolbox
	// Lock, if not nil, says what each reference stands for; one that it does not
	// know is refused, unless Loose.
	Lock     *Lock
	Loose    bool
	MaxNodes int // default DefaultMaxNodes
}

// Pinned is exactly one version of something.
type Pinned struct {
	Org     string `json:"org,omitempty"`
	Slug    string `json:"slug"`
	Version string `json:"version"`
	Tier    Tier   `json:"tier"`
	Digest  string `json:"digest"`
}

// Ref is the exact reference.
func (p Pinned) Ref() Ref { return Ref{Org: p.Org, Slug: p.Slug, Version: p.Version} }

// Resolved is a composition in which every reference is pinned.
type Resolved struct {
	Slug        string            `json:"slug"`
	Version     string            `json:"version"`
	DisplayName string            `json:"displayName,omitempty"`
	Scope       Tier              `json:"scope"`
	Root        *ResolvedNode     `json:"root"`
	Capability  bounds.Capability `json:"capability"`
	Workspace   json.RawMessage   `json:"workspace,omitempty"`
}

// Digest is the SHA-256 of the canonical form, 64 hex digits.
func (r *Resolved) Digest() (string, error) { return canon.Digest(r) }

// ResolvedNode is an agent of a resolved tree, with all that it starts: the
// children that the composition gives it, then those of its definition.
type ResolvedNode struct {
	Agent         Pinned             `json:"agent"`
	Extends       []Pinned           `json:"extends,omitempty"` // the agents that it extends, the nearest first
	Alias         string             `json:"alias,omitempty"`
	Skills        []Pinned           `json:"skills"` // of the definition and of the node, by slug
	Tools         []bounds.Selection `json:"tools"`  // beside those of the definition
	ModelOverride *Model             `json:"modelOverride,omitempty"`
	Instructions  string             `json:"instructions,omitempty"`
	Permissions   Permissions        `json:"permissions,omitzero"`
	// Limits are what holds for the node with all that is above it.
	Limits   *bounds.Limits  `json:"limits,omitempty"`
	Children []*ResolvedNode `json:"children"`

	// Definition is the agent's definition with what it inherits; Declared tells that limits begin here.
	Definition *Agent `json:"-"`
	Declared   bool   `json:"-"`

	capability bounds.Capability
}

// Name is what the agent is called by the one above.
func (n *ResolvedNode) Name() string { return cmp.Or(n.Alias, n.Agent.Slug) }

// Child returns the agent below with a name.
func (n *ResolvedNode) Child(name string) (*ResolvedNode, bool) {
	for _, c := range n.Children {
		if c.Name() == name {
			return c, true
		}
	}
	return nil, false
}

// Prompt is the prompt of the definition with the instructions of the node.
func (n *ResolvedNode) Prompt() string {
	if n.Instructions == "" || n.Definition == nil {
		return n.definition().Prompt + n.Instructions
	}
	return n.Definition.Prompt + "\n\n" + n.Instructions
}

func (n *ResolvedNode) definition() *Agent {
	if n.Definition == nil {
		return &Agent{}
	}
	return n.Definition
}

// Model is the name of the model that the node, or else its definition, asks for;
// override tells that it is the node.
func (n *ResolvedNode) Model() (name string, override bool) {
	if n.ModelOverride != nil {
		return n.ModelOverride.Name(), true
	}
	return n.definition().Model.Name(), false
}

// Resolution is what Resolve gives.
type Resolution struct {
	Composition Resolved
	Lock        *Lock    // the pin of every reference
	Items       []*Item  // all that was used, by kind, name and version, each once
	Drafts      []string // those that are drafts: the run is not reproducible
	Warnings    source.Errors
}

// Resolve pins every reference of a published composition. The error is a
// *workflow.Error that wraps source.Errors with every finding.
func Resolve(c *Catalog, ref Ref, o Options) (*Resolution, error) {
	r := newResolver(c, o)
	it := r.use(nil, "", KindComposition, ref)
	if it == nil {
		return nil, r.refusal(ref.String())
	}
	return r.composition(it)
}

// ResolveItem is Resolve for a composition in hand, such as one that is checked
// before it is published.
func ResolveItem(c *Catalog, it *Item, o Options) (*Resolution, error) {
	r := newResolver(c, o)
	if it.Err != nil {
		r.broken(it.Err)
		return nil, r.refusal(it.Name())
	}
	if it.Lifecycle != Published && !o.Draft {
		f := c.missing(KindComposition, it.Ref(), []*Item{it})
		r.say(it, "/lifecycle", *f)
		return nil, r.refusal(it.Name())
	}
	return r.composition(it)
}

// ResolveAgent pins one agent with all that it may start, as a composition of its
// own.
func ResolveAgent(c *Catalog, ref Ref, o Options) (*Resolution, error) {
	r := newResolver(c, o)
	root := r.node(nil, &Node{Agent: ref}, nil, nil)
	if root == nil || len(r.found) > 0 {
		return nil, r.refusal(ref.String())
	}
	return r.done(Resolved{Slug: root.Agent.Slug, Version: root.Agent.Version, Scope: root.Agent.Tier, Root: root}), nil
}

// resolver is one resolution.
type resolver struct {
	catalog  *Catalog
	options  Options
	cache    map[wanted]*Item
	used     map[*Item]bool
	pins     map[wanted]Pin
	nodes    int
	found    source.Errors
	warnings source.Errors
	told     map[string]bool
}

type wanted struct {
	kind Kind
	ref  Ref
}

func newResolver(c *Catalog, o Options) *resolver {
	if o.MaxNodes <= 0 {
		o.MaxNodes = DefaultMaxNodes
	}
	return &resolver{catalog: c, options: o, cache: map[wanted]*Item{}, used: map[*Item]bool{}, pins: map[wanted]Pin{}, told: map[string]bool{}}
}

func (r *resolver) composition(it *Item) (*Resolution, error) {
	c := it.Composition
	r.used[it] = true
	root := r.node(it, &c.Root, nil, nil)
	var own bounds.Capability
	if c.Capability != nil {
		own = *c.Capability
		r.requires(it, "/capability", &own)
	}
	if root != nil {
		r.mounted(it, c.Workspace, root)
	}
	if root == nil || len(r.found) > 0 {
		return nil, r.refusal(it.Name())
	}
	if root.Limits == nil && len(root.Children) > 0 {
		e := it.Position("/root")
		e.Code, e.Message, e.Hint = FindingLimit, "no agent of the composition has limits", "write limits at the root, such as maxDepth, maxFanout and maxSpawns"
		r.warnings = append(r.warnings, e)
	}
	return r.done(Resolved{
		Slug: it.Slug, Version: it.Version, DisplayName: c.DisplayName, Scope: it.Tier, Root: root, Capability: own, Workspace: c.Workspace,
	}), nil
}

func (r *resolver) done(c Resolved) *Resolution {
	out := &Resolution{Composition: c, Lock: r.locked()}
	if c.Root != nil {
		c.Root.narrow(c.Capability)
	}
	for it := range r.used {
		out.Items = append(out.Items, it)
		if it.Lifecycle == Draft {
			out.Drafts = append(out.Drafts, string(it.Kind)+" "+it.Ref().String())
		}
		r.warnings = append(r.warnings, it.Warnings...)
	}
	slices.SortFunc(out.Items, func(a, b *Item) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name(), b.Name()), strings.Compare(a.Version, b.Version), rankOf(a, b))
	})
	slices.Sort(out.Drafts)
	byPlace(r.warnings)
	out.Warnings = r.warnings
	return out
}

func (r *resolver) locked() *Lock {
	l := &Lock{pins: slices.Collect(maps.Values(r.pins))}
	slices.SortFunc(l.pins, comparePins)
	l.pins = slices.CompactFunc(l.pins, func(a, b Pin) bool { return comparePins(a, b) == 0 })
	return l
}

// narrow gives each node the capability that holds for it.
func (n *ResolvedNode) narrow(above bounds.Capability) {
	n.capability = above
	if c := n.definition().Capability; c != nil {
		n.capability = c.Within(above)
	}
	for _, child := range n.Children {
		child.narrow(n.capability)
	}
}

// Capability is what holds for the agent: its own within those above.
func (n *ResolvedNode) Capability() bounds.Capability { return n.capability }

// refusal is the error with all findings.
func (r *resolver) refusal(name string) error {
	byPlace(r.found)
	code := workflow.CodeInvalidComposition
	lines := []string{name + " cannot be resolved:"}
	for _, e := range r.found {
		switch {
		case e.Code == FindingLock:
			code = workflow.CodeLockMismatch
		case code != workflow.CodeInvalidComposition:
		case e.Code == FindingNotPublished:
			code = workflow.CodeNotPublished
		case e.Code == FindingVersion:
			code = workflow.CodeVersionConflict
		}
		line := e.Error()
		if e.File == "" { // the name that was asked for
			line = strings.TrimPrefix(line, source.Position{}.String()+": ")
		}
		lines = append(lines, line)
	}
	return &workflow.Error{Code: code, Msg: strings.Join(lines, "\n"), Err: r.found}
}

// say records a finding about a place of an item, once.
func (r *resolver) say(from *Item, at string, f fault) {
	e := source.Error{}
	if from != nil {
		e = from.Position(at)
	}
	e.Code, e.Message, e.Hint = f.code, f.message, f.hint
	key := e.File + "\x00" + at + "\x00" + f.code + "\x00" + f.message
	if !r.told[key] {
		r.told[key] = true
		r.found = append(r.found, e)
	}
	r.broken(f.cause)
}

// broken adds the findings of what cannot be used, once.
func (r *resolver) broken(cause error) {
	es, _ := cause.(source.Errors) //nolint:errorlint // an item's own findings are not wrapped
	for _, e := range es {
		if key := e.Error(); !r.told[key] {
			r.told[key] = true
			r.found = append(r.found, e)
		}
	}
}

// use finds what a reference stands for and pins it.
func (r *resolver) use(from *Item, at string, kind Kind, ref Ref) *Item {
	if ref.Version == "latest" {
		ref.Version = ""
	}
	key := wanted{kind, ref}
	if it, ok := r.cache[key]; ok && it != nil {
		return it
	}
	it, f := r.lookup(kind, ref)
	if f != nil {
		r.say(from, at, *f)
		return nil
	}
	r.cache[key], r.used[it] = it, true
	r.pins[key] = Pin{Kind: kind, Ref: ref.String(), Version: it.Version, Tier: it.Tier, Digest: it.Digest}
	return it
}

func (r *resolver) lookup(kind Kind, ref Ref) (*Item, *fault) {
	if l := r.options.Lock; l != nil {
		if p, ok := l.Pin(kind, ref); ok {
			return r.catalog.pinned(kind, ref, p, r.options)
		}
		if !r.options.Loose {
			return nil, &fault{code: FindingLock, message: fmt.Sprintf("the %s %s is not in the lock", kind, ref),
				hint: "take it into the lock with --update-lock"}
		}
	}
	return r.catalog.find(kind, ref, r.options)
}
