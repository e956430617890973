package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// Set is a closed registry of tools: what one agent may call. It is never
// changed; Narrow makes a smaller one. It may be used by any number of goroutines.
type Set struct {
	tools    map[string]*entry
	order    []string
	withheld []string
}

// entry is a tool with its schema compiled.
type entry struct {
	Tool
	schema *schema.Schema
	shape  object
}

// NewSet checks tools and registers them, in the order given.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{tools: map[string]*entry{}}
	for _, t := range tools {
		e, err := check(t)
		if err != nil {
			return nil, fmt.Errorf("registering the tool %q: %w", t.Name, err)
		}
		if s.tools[t.Name] != nil {
			return nil, fmt.Errorf("registering the tool %q: it is there twice", t.Name)
		}
		s.tools[t.Name] = e
		s.order = append(s.order, t.Name)
	}
	return s, nil
}

func check(t Tool) (*entry, error) {
	e := &entry{Tool: t}
	ok := t.Name != ""
	for _, r := range t.Name {
		ok = ok && (r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("its name must be lower-case letters, digits and \"_\"")
	case strings.TrimSpace(t.Description) == "":
		return nil, fmt.Errorf("it has no description")
	case t.Effect != workflow.EffectRead && t.Effect != workflow.EffectWrite:
		return nil, fmt.Errorf("its effect is %q: write read or write", t.Effect)
	case t.Run == nil:
		return nil, fmt.Errorf("it has no function Run")
	}
	var err error
	if e.schema, err = schema.Compile(t.Schema); err != nil {
		return nil, fmt.Errorf("its schema is wrong: %w", err)
	}
	if err := json.Unmarshal(t.Schema, &e.shape); err != nil {
		return nil, fmt.Errorf("its schema is wrong: %w", err)
	}
	if e.shape.Additional != false {
		return nil, fmt.Errorf("its schema is open: write \"additionalProperties\": false")
	}
	return e, e.checkNames()
}

// checkNames refuses declarations about arguments that do not exist.
func (e *entry) checkNames() error {
	names := []string{e.Target.Slot, e.Target.Pattern, e.Reading.Wrap}
	for alias, name := range e.Reading.Aliases {
		if e.shape.has(alias) {
			return fmt.Errorf("the alias %q is an argument itself", alias)
		}
		names = append(names, name)
	}
	for _, name := range names {
		if name != "" && !e.shape.has(name) {
			return fmt.Errorf("it declares the argument %q, which its schema does not have", name)
		}
	}
	if e.Target.Slot != "" && (e.Target.Op == OpNone || e.Target.Base == "" || e.Target.Absent == "") {
		return fmt.Errorf("its target needs an operation, a base and what an absent path means")
	}
	return nil
}

// Tools lists the tools in the order of their registration.
func (s *Set) Tools() []Tool {
	var list []Tool
	for _, name := range s.order {
		list = append(list, s.tools[name].Tool)
	}
	return list
}

// Names lists the names of the tools in the order of their registration.
func (s *Set) Names() []string { return slices.Clone(s.order) }

// Find returns a tool, or an error of type *Unknown.
func (s *Set) Find(name string) (Tool, error) {
	e, err := s.find(name)
	if err != nil {
		return Tool{}, err
	}
	return e.Tool, nil
}

func (s *Set) find(name string) (*entry, error) {
	if e := s.tools[name]; e != nil {
		return e, nil
	}
	return nil, &Unknown{Name: name, Near: text.Nearest(name, s.order), Known: s.Names(), Withheld: slices.Contains(s.withheld, name)}
}

// Doing returns the set with other work behind one of its tools.
func (s *Set) Doing(name string, run func(context.Context, Call) (Result, error)) (*Set, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	other := &Set{tools: maps.Clone(s.tools), order: s.order, withheld: s.withheld}
	changed := *e
	changed.Run = run
	other.tools[name] = &changed
	return other, nil
}

// Narrow returns the set of the tools that are named, which must all be in s.
// What an agent gives to its own agents can only become less.
func (s *Set) Narrow(names ...string) (*Set, error) {
	small := &Set{tools: map[string]*entry{}, withheld: slices.Clone(s.withheld)}
	for _, name := range names {
		if _, err := s.find(name); err != nil {
			return nil, err
		}
	}
	for _, name := range s.order {
		if !slices.Contains(names, name) {
			small.withheld = append(small.withheld, name)
			continue
		}
		small.tools[name] = s.tools[name]
		small.order = append(small.order, name)
	}
	return small, nil
}

// Read gives the arguments of a call as the tool reads them, checked against its
// schema. Arguments that were read already come back as the same pointer, so that
// what was judged about them still holds.
func (s *Set) Read(name string, raw json.RawMessage) (*Args, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	a, err := parseArgs(name, raw, e.Reading)
	if err != nil {
		return nil, err
	}
	return e.read(a)
}

// Reread reads arguments again, after somebody changed them or from a journal.
func (s *Set) Reread(name string, a *Args) (*Args, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	return e.read(a)
}

func (e *entry) read(a *Args) (*Args, error) {
	read, err := e.Reading.read(e.Name, e.shape, a)
	if err != nil {
		return nil, err
	}
	problems := e.schema.Validate(read.Raw)
	if len(problems) == 0 {
		return read, nil
	}
	bad := &BadArguments{Tool: e.Name, Next: "the arguments are: " + e.usage()}
	for i, p := range problems {
		if i == maxProblems {
			bad.Problems = append(bad.Problems, fmt.Sprintf("and %d more", len(problems)-i))
			break
		}
		bad.Problems = append(bad.Problems, tell(p))
	}
	return nil, bad
}

// maxProblems is how many problems of one call are told.
const maxProblems = 8

func tell(p schema.Problem) string {
	place := strings.TrimPrefix(p.Pointer, "/")
	if place == "" {
		place = "the arguments"
	}
	s := Quote(text.Head(place, 100, "…")) + ": " + text.Head(p.Message, 300, "…")
	if near := text.Nearest(p.Key, p.Allowed); p.Key != "" && near != "" {
		s += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return s
}

// usage lists the arguments: the required ones, then the others with a "?".
func (e *entry) usage() string {
	var raw struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(e.Schema, &raw) != nil {
		return ""
	}
	words := slices.Clone(raw.Required)
	var rest []string
	for name := range e.shape.Properties {
		if !slices.Contains(raw.Required, name) {
			rest = append(rest, name+"?")
		}
	}
	slices.Sort(rest)
	return strings.Join(append(words, rest...), ", ")
}

// maxPath is the length of a path, in bytes, from which on no system takes it.
const maxPath = 4096

// checkPath refuses spellings that no file can have, before they are judged.
func (e *entry) checkPath(a *Args) error {
	for _, slot := range []string{e.Target.Slot, e.Target.Pattern} {
		spelled, _ := a.Values[slot].(string)
		switch {
		case len(spelled) >= maxPath:
			return &BadArguments{Tool: e.Name, Problems: []string{fmt.Sprintf("%s has %d bytes, less than %d are possible", slot, len(spelled), maxPath)}}
		case strings.ContainsRune(spelled, 0):
			return &BadArguments{Tool: e.Name, Problems: []string{slot + " has a NUL character, which no path can have"}}
		}
	}
	return nil
}

// Run runs one call: it reads the arguments, has the path judged, runs the tool
// and keeps what the session has to know. c carries everything but Args, Place and
// Tool, which Run fills in.
func (s *Set) Run(ctx context.Context, name string, raw json.RawMessage, c Call) (Result, error) {
	args, err := s.Read(name, raw)
	if err != nil {
		return Result{}, err
	}
	return s.RunArgs(ctx, name, args, c)
}

func (s *Set) has(name string) bool { return s.tools[name] != nil }

// RunArgs is Run for arguments that Read gave.
func (s *Set) RunArgs(ctx context.Context, name string, args *Args, c Call) (Result, error) {
	e, err := s.find(name)
	if err != nil {
		return Result{}, err
	}
	if c.Fence == nil {
		return Result{}, &Denied{Verdict{Tool: name, Op: e.Target.Op, Reason: "there is no fence to judge it"}}
	}
	if err := e.checkPath(args); err != nil {
		return Result{}, err
	}
	c.Tool, c.Args, c.Given = name, args, s.has
	if cwd := c.Session.Cwd(); cwd != "" {
		c.Cwd = cwd
	}
	if c.Place, err = c.Fence.Judge(ctx, Request{Tool: name, Effect: e.Effect, Target: e.Target, Args: args, Cwd: c.Cwd}); err != nil {
		return Result{}, err
	}
	r, err := e.Tool.Run(ctx, c)
	if err != nil {
		return r, err
	}
	c.Session.Keep(r)
	return r, nil
}
