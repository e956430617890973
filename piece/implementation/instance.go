package implementation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of what a work is told it has to fulfil.
const (
	maxName     = 64
	maxSpecs    = 50
	maxSpec     = 4000 // code points of one specification or ticket
	maxCriteria = 500
)

// instance is one implementation of a run.
type instance struct {
	change string // name of its OpenSpec change
	root   bool   // it is the work of the run itself, not a part inside a component or map
	// repositories are those it may work on, tickets and specs what it is about.
	repositories []workflow.RepositoryInfo
	checks       []workflow.Check
	setup        []workflow.Check
	tickets      []ticket
	specs        []spec
}

type ticket struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Body     string   `json:"body"`
	Criteria []string `json:"criteria"`
}

type spec struct{ Path, Text string }

// instanceOf finds out what the implementation of a visit is about.
func instanceOf(c piece.Context, p stepParams) (instance, error) {
	f := c.Frame()
	in := instance{change: f.Launch.Change, root: atRoot(f.Scope, p.Within), repositories: f.Repositories, checks: f.Checks, setup: f.Setup}
	if in.change == "" {
		return in, workflow.Errorf(workflow.CodeInvalidArguments, "%s implements a change, and the run was started without the name of one", f.Node).
			WithHint("start it with --change NAME, in lower-case words joined by dashes")
	}
	if !in.root {
		in.change = derived(in.change, f.Scope)
	}
	var err error
	if in.tickets, err = list[ticket](c, f.Launch.Tickets, "tickets"); err != nil {
		return in, err
	}
	if in.specs, err = list[spec](c, f.Launch.Specs, "specifications"); err != nil {
		return in, err
	}
	if f.Context.Item != nil {
		err = in.narrow(c, f)
	}
	return in, err
}

// atRoot reports whether a scope is that of the run's own work: the root, or the
// body of an implementation in the root.
func atRoot(scope, within string) bool {
	return scope == "" || within == Kind && !strings.Contains(scope, "/")
}

// derived is the name of a part's own change. It is the same whenever the part
// is continued.
func derived(change, scope string) string {
	tail := "-" + canon.Sum([]byte(scope))[:12]
	return strings.TrimRight(change[:min(len(change), maxName-len(tail))], "-") + tail
}

// narrow takes an implementation to the item of its map: a ticket or a
// repository of the run.
func (in *instance) narrow(c piece.Context, f piece.Frame) error {
	raw, err := c.Load(f.Context.Item.Value)
	if err != nil {
		return fmt.Errorf("%s: reading the item: %w", f.Node, err)
	}
	id := idOf(raw)
	if i := slices.IndexFunc(in.tickets, func(t ticket) bool { return t.ID == id }); id != "" && i >= 0 {
		in.tickets, in.specs = in.tickets[i:i+1], nil
		return nil
	}
	i := slices.IndexFunc(in.repositories, func(r workflow.RepositoryInfo) bool { return r.ID == id })
	if id == "" || i < 0 {
		return workflow.Errorf(CodeItemScope, "%s: item %d is neither a ticket nor a repository of this run", f.Node, f.Context.Item.Index).
			WithHint("let the map run over tickets or repositories, or over items with the id of one")
	}
	only := len(in.repositories) == 1
	in.repositories = in.repositories[i : i+1]
	other := func(c workflow.Check) bool { return c.RepositoryID != id && (c.RepositoryID != "" || !only) }
	in.checks, in.setup = slices.DeleteFunc(slices.Clone(in.checks), other), slices.DeleteFunc(slices.Clone(in.setup), other)
	return nil
}

// idOf is the id of an item: a text, or the member "id".
func idOf(raw json.RawMessage) string {
	var id string
	if json.Unmarshal(raw, &id) == nil {
		return id
	}
	var o struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return ""
	}
	return o.ID
}

// list reads a list that the run was started with.
func list[T any](c piece.Context, v workflow.Value, what string) ([]T, error) {
	raw, err := c.Load(v)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	var out []T
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("reading the %s of the run: %w", what, err)
	}
	return out, nil
}

// criteria are what the work has to fulfil: those of its tickets, a ticket
// without any as a whole, else its specifications, else the change itself.
func (in *instance) criteria() ([]criterion, error) {
	var out []criterion
	for n, t := range in.tickets {
		id := t.ID
		if id == "" {
			id = fmt.Sprintf("ticket-%d", n+1)
		}
		if len(t.Criteria) == 0 {
			out = append(out, criterion{ID: id, Text: text.Head(t.Title, maxSpec, "…")})
		}
		for i, words := range t.Criteria {
			out = append(out, criterion{ID: fmt.Sprintf("%s/%d", id, i+1), Text: text.Head(words, maxSpec, "…")})
		}
	}
	if len(out) == 0 {
		for _, s := range in.specs {
			out = append(out, criterion{ID: s.Path, Text: "The work fulfils the specification " + s.Path + "."})
		}
	}
	if len(out) == 0 {
		out = append(out, criterion{ID: in.change, Text: "The change " + in.change + " does what its plan says, completely."})
	}
	if len(out) > maxCriteria {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "the work has %d criteria, and at most %d can be certified", len(out), maxCriteria).
			WithHint("split the tickets over several runs, or run over them with a map")
	}
	seen := map[string]bool{}
	for _, c := range out {
		if seen[c.ID] {
			return nil, workflow.Errorf(workflow.CodeInvalidArguments, "two criteria have the id %q", c.ID).
				WithHint("give every ticket an id of its own")
		}
		seen[c.ID] = true
	}
	return out, nil
}
