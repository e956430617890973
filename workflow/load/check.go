package load

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// maxIssues bounds the work on a document that is wrong everywhere: so many
// errors are told, and so many warnings.
const maxIssues = 200

// checker gathers what is wrong with one document.
type checker struct {
	cfg      Config
	file     string
	doc      *source.Document
	level    int
	env      piece.Env
	fields   map[string]json.RawMessage // of the root object
	issues   []Issue
	warnings []Issue
	shapes   map[string]*shape // params by kind
	tree     any               // the decoded document, when it was asked for

	root       *body
	components map[string]*body
	bodies     []*body // root first, then components by name, each followed by those written in place
	children   []Child
}

// check runs every check whose ground is safe.
func (c *checker) check() {
	c.fields = object(c.doc.JSON())
	if c.fields == nil {
		c.fail(workflow.CodeInvalidDefinition, "", "a workflow is an object", "")
		return
	}
	if !c.pickLevel() {
		return
	}
	c.checkShape()
	c.env = c.cfg.Env
	c.env.Level, c.env.Declared = c.level, strs(c.fields["roles"])
	c.readBodies(c.doc.JSON())
	c.checkRoles()
	for _, b := range c.bodies {
		for _, name := range b.order {
			c.checkNode(b, b.nodes[name])
		}
	}
	c.checkComponents()
	for _, b := range c.bodies {
		c.checkOutcomes(b)
		c.checkGraph(b)
		c.checkJoins(b)
	}
	c.checkNames()
	c.checkInputs()
	c.checkJournal()
	c.checkVerified()
}

// pickLevel finds the format. Without a word about it the other keys tell.
func (c *checker) pickLevel() bool {
	raw, written := c.fields["schemaVersion"]
	switch {
	case string(raw) == "1", string(raw) == "2":
		c.level = int(raw[0] - '0')
		return true
	case written:
		c.fail(workflow.CodeInvalidDefinition, "/schemaVersion", fmt.Sprintf("schemaVersion %.40s is not known: it is 1 or 2", raw), "use a newer tenon if the file is newer")
		return false
	}
	c.level = 2
	if _, old := c.fields["journal"]; old {
		c.level = 1
	}
	return true
}

// readBodies reads the root, the components, and what is written inside them.
func (c *checker) readBodies(raw json.RawMessage) {
	c.root = readBody(raw, "", "")
	c.root.inputs, c.root.outputs = nil, nil
	c.components = map[string]*body{}
	c.addBody(c.root)
	raws := object(c.fields["components"])
	for _, name := range sortedKeys(raws) {
		b := readBody(raws[name], name, "/components/"+escape(name))
		b.component = true
		c.components[name] = b
		c.addBody(b)
	}
	for _, b := range c.bodies {
		for _, name := range b.order {
			for _, r := range b.nodes[name].refs {
				c.resolve(b, b.nodes[name], r)
			}
		}
	}
}

// addBody adds b and the bodies that its nodes hold.
func (c *checker) addBody(b *body) {
	c.bodies = append(c.bodies, b)
	for _, name := range b.order {
		n := b.nodes[name]
		fields := n.fields
		switch n.kind {
		case workflow.KindComponent:
			c.addRef(b, n, fields["ref"], "/ref", "")
		case workflow.KindMap:
			c.addRef(b, n, fields["body"], "/body", "")
		case workflow.KindParallel:
			branches := object(fields["branches"])
			for _, branch := range sortedKeys(branches) {
				c.addRef(b, n, branches[branch], "/branches/"+escape(branch), branch)
			}
		}
	}
}

// addRef notes one use of a body; one written in place is read at once.
func (c *checker) addRef(b *body, n *node, raw json.RawMessage, at, branch string) {
	r := &ref{pointer: n.pointer + "/params" + at, branch: branch}
	if name, ok := str(raw); ok {
		r.name = name
		n.refs = append(n.refs, r)
		return
	}
	if object(raw) == nil || c.level < 2 || n.kind == workflow.KindComponent {
		return // the params' schema tells
	}
	r.name = b.inside(n.name)
	if branch != "" {
		r.name += "[" + branch + "]"
	}
	r.inline = true
	r.body = readBody(raw, r.name, r.pointer)
	r.body.parent = b
	n.refs = append(n.refs, r)
	c.checkBodyShape(raw, r.pointer)
	c.addBody(r.body)
}

// inside is the path of a node of b, for people.
func (b *body) inside(name string) string {
	if b.name == "" {
		return name
	}
	return b.name + "/" + name
}

// resolve finds the component behind a name.
func (c *checker) resolve(b *body, n *node, r *ref) {
	if !r.inline {
		r.body = c.components[r.name]
	}
	if r.body == nil {
		c.fail(workflow.CodeComponentNotFound, r.pointer, fmt.Sprintf("there is no component %q", r.name), didYouMean(r.name, sortedKeys(c.components)))
		return
	}
	if n.kind == workflow.KindMap {
		r.body.mapped = true
	}
	for _, name := range sortedKeys(object(n.fields["inputs"])) {
		r.body.given[name] = true
	}
}

// checkRoles checks the declared roles against the configuration.
func (c *checker) checkRoles() {
	if c.env.Structural {
		return
	}
	known := sortedKeys(c.env.Roles)
	for i, raw := range array(c.fields["roles"]) {
		if role, ok := str(raw); ok && !slices.Contains(known, role) {
			c.fail(workflow.CodeRoleNotFound, "/roles"+index(i), fmt.Sprintf("role %q is not configured", role), orElse(didYouMean(role, known), "add it below roles: in .tenon/config.yaml"))
		}
	}
}

// checkJournal checks that a definition of format 1 keeps the journal that its
// pieces need.
func (c *checker) checkJournal() {
	journal, ok := str(c.fields["journal"])
	if !ok || c.level > 1 {
		return
	}
	var whole, steps []string
	for _, b := range c.bodies {
		for _, name := range b.order {
			switch b.nodes[name].kind {
			case "implementation":
				whole = append(whole, b.nodes[name].pointer)
			case "implementation-step":
				steps = append(steps, b.nodes[name].pointer)
			}
		}
	}
	mismatch := func(pointer, message, hint string) { c.fail(workflow.CodeJournalMismatch, pointer, message, hint) }
	switch {
	case journal == "ledger-only" && len(whole)+len(steps) > 0:
		mismatch("/journal", "a definition with implementation nodes keeps the implementation journal", `write "journal": "implementation"`)
	case journal != "implementation":
	case len(whole) > 0 && len(steps) > 0:
		mismatch(steps[0], "implementation and implementation-step nodes do not go together", "use one of the two kinds")
	case len(whole)+len(steps) == 0 || len(whole) > 1:
		mismatch("/journal", fmt.Sprintf("the implementation journal belongs to exactly one implementation node; there are %d", len(whole)), `without one, write "journal": "ledger-only"`)
	}
	if change, ok := str(c.fields["change"]); ok && change == "none" && journal == "implementation" {
		mismatch("/change", "the implementation journal needs a change", `write "change": "new" or "existing"`)
	}
}

// checkVerified checks that a definition which writes says what proves it.
func (c *checker) checkVerified() {
	if raw, ok := object(c.fields["delivery"])["requiresVerified"]; ok && (string(raw) == "true" || string(raw) == "false") {
		return
	}
	writer := ""
	for _, b := range c.bodies {
		for _, name := range b.order {
			if n := b.nodes[name]; writer == "" && n.known && n.traits.Effect == workflow.EffectWrite {
				writer = b.inside(name)
			}
		}
	}
	if writer == "" {
		return
	}
	for _, b := range c.bodies {
		for _, name := range b.order {
			n := b.nodes[name]
			if n.kind == workflow.KindEnd && n.field("outcome") == "success" && string(n.fields["requiresVerified"]) != "true" {
				c.fail(workflow.CodeVerificationRequired, n.pointer+"/params", fmt.Sprintf("end %q succeeds without proof, and %q writes", b.inside(name), writer),
					`write requiresVerified: true here, or decide for all with delivery: {requiresVerified: true} or {requiresVerified: false}`)
			}
		}
	}
}

// full reports that whatever else is wrong would not be told.
func (c *checker) full() bool {
	return len(c.issues) >= maxIssues || c.level < 2 && len(c.warnings) >= maxIssues
}

// fail reports an error about the value at a pointer.
func (c *checker) fail(code workflow.Code, pointer, message, hint string) {
	c.add(&c.issues, code, pointer, message, hint, false)
}

// failKey reports an error about a key.
func (c *checker) failKey(code workflow.Code, pointer, message, hint string) {
	c.add(&c.issues, code, pointer, message, hint, true)
}

// warn reports what does not make the document invalid.
func (c *checker) warn(code workflow.Code, pointer, message, hint string) {
	c.add(&c.warnings, code, pointer, message, hint, false)
}

// strict reports an error in format 2 and a warning in format 1, which always
// accepted it.
func (c *checker) strict(code workflow.Code, pointer, message, hint string) {
	if c.level < 2 {
		c.warn(code, pointer, message, hint)
		return
	}
	c.fail(code, pointer, message, hint)
}

func (c *checker) add(to *[]Issue, code workflow.Code, pointer, message, hint string, key bool) {
	if len(*to) >= maxIssues || c.doc == nil {
		return
	}
	find := c.doc.At
	if key {
		find = c.doc.KeyAt
	}
	at, _ := find(pointer)
	*to = append(*to, Issue{
		Code: code, File: at.File, Line: at.Line, Column: at.Column, Pointer: pointer, Message: message, Hint: hint, key: key,
	})
}

// maxExcerpts is the number of issues that are shown with their line.
const maxExcerpts = 10

// finish sorts issues and gives the first of them their excerpts.
func (c *checker) finish(is []Issue) []Issue {
	is = sorted(is)
	for n := range is[:min(len(is), maxExcerpts)] {
		e := source.Error{Pointer: is[n].Pointer}
		if is[n].key {
			is[n].Excerpt = c.doc.LocateKey(e).Excerpt
		} else {
			is[n].Excerpt = c.doc.Locate(e).Excerpt
		}
	}
	return is
}

func orElse(hint, other string) string {
	if hint == "" {
		return other
	}
	return hint
}
