package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/script"
	scripts "github.com/tenonrun/tenon/script/store"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// Request is a run to start.
type Request struct {
	Workflow *Workflow
	Inputs   map[string]json.RawMessage // format 2: values of its inputs
	Change   string                     // format 1: name of the change
	Tickets  json.RawMessage            // format 1: list of {id, title, body?, criteria?}
	Specs    json.RawMessage            // format 1: list of {path, text}
	Budget   workflow.Budget            // caps beside the definition's and the configuration's
	By       string                     // who asks
	ID       workflow.RunID             // "" is made up
	// Models rebind models for this run: NAME for everything, CLASS=NAME for a class.
	// "scripted" rehearses: the scripted provider answers, whatever is configured.
	Models     []string
	Dimensions map[string]string      // further dimensions of the model matrix
	Draft      bool                   // drafts of agents and compositions too: the run is not reproducible
	UpdateLock bool                   // resolve agents anew, whatever the lock says
	dry        bool                   // nothing is kept
	site       *site                  // that the agent works in; nil is none
	Args       json.RawMessage        // of a script: JSON; nil is undefined
	Script     workflow.ScriptOptions // bounds of a script
	// From is a run of a script whose results this one takes over as far as they
	// hold, as Reuse and RerunWrites of a Change say. Told sees first what that is.
	From        workflow.RunID
	Reuse       string
	RerunWrites bool
	Told        func(engine.Edit)
}

func (t *Tenon) env() piece.Env {
	env := piece.Env{Roles: t.agentRoles(t.Project.Roles(), nil), Backend: t.backends.capabilities, Providers: t.backends.names(), Broken: t.backends.broken}
	if m, err := t.backends.matrix(); err == nil { // one that cannot be read is told at the start of a run
		env.Routed = m.Routes()
		env.Model = func(name, provider string) error { _, err := m.Resolve(name, provider); return err }
	}
	return env
}

// Run starts a run and drives it until it ends or rests. Everything that can be
// known to be wrong is an error before the run exists.
func (t *Tenon) Run(ctx context.Context, q Request) (history.Result, error) {
	if q.Workflow == nil {
		return history.Result{}, workflow.Errorf(workflow.CodeInvalidArguments, "starting a run: no workflow is given")
	}
	inputs, err := json.Marshal(q.Inputs)
	if err != nil {
		return history.Result{}, fmt.Errorf("encoding inputs: %w", err)
	}
	l, err := t.launch(ctx, q, inputs)
	if err != nil {
		return history.Result{}, err
	}
	l.ID, l.By = q.ID, q.By
	if err := t.follow(ctx, q, &l); err != nil {
		return history.Result{}, err
	}
	warning := t.keepScript(ctx, q.Workflow, &l)
	res, err := t.engine.Start(ctx, l)
	if err != nil && q.From != "" {
		err = errors.Join(err, t.made.Forget(ctx, l.ID))
	}
	if res, err = t.told(ctx, res, err); warning != "" {
		res.Warnings = append(res.Warnings, warning)
	}
	return res, err
}

// keepScript keeps the script of a run that is about to begin.
func (t *Tenon) keepScript(ctx context.Context, w *Workflow, l *engine.Launch) (warning string) {
	if w.Script == nil {
		return ""
	}
	if l.ID == "" {
		l.ID = workflow.RunID(ident.New("r"))
	}
	_, warning = t.scripts.keep(ctx, l.ID, w.Document)
	return warning
}

// launch pins everything that a run depends on.
func (t *Tenon) launch(ctx context.Context, q Request, inputs []byte) (engine.Launch, error) {
	w := q.Workflow
	def := w.Definition
	if err := t.preflight(q); err != nil {
		return engine.Launch{}, err
	}
	values, told, err := t.values(q, inputs)
	if err != nil {
		return engine.Launch{}, err
	}
	checks, setup, err := t.checks(w)
	if err != nil {
		return engine.Launch{}, err
	}
	s, err := t.begin(ctx, q)
	if err != nil {
		return engine.Launch{}, err
	}
	if told != "" {
		s.Warnings = append(s.Warnings, told)
	}
	kept, err := s.value()
	if err != nil {
		return engine.Launch{}, err
	}
	limits := t.Project.Config.Limits
	l := engine.Launch{Document: w.Document, Started: workflow.RunStarted{
		Workflow: workflow.Ref{Name: w.Name, Digest: digest(w.Document), File: t.refFile(w)},
		Kind:     workflow.KindGraph, Level: def.SchemaVersion, Inputs: values, Project: t.Project.ID,
		Launch: workflow.Launch{Change: q.Change, Tickets: inline(q.Tickets), Specs: inline(q.Specs)},
		Options: workflow.Options{
			Roles: t.agentRoles(t.Project.Roles(), w), Repositories: t.Project.Repositories(), Checks: checks, Setup: setup,
			Budget:   t.budget(def.Budget, q.Budget),
			Policies: load.Effective(def), Transitions: load.Transitions(def), Verified: def.Delivery.RequiresVerified,
			Timeouts: workflow.Timeouts{TurnMs: time.Duration(limits.Timeout).Milliseconds(), IdleMs: time.Duration(limits.IdleTimeout).Milliseconds()},
			Backends: t.pinned(w), Providers: t.backends.names(), Session: kept, Routed: s.matrix.Routes(),
		},
	}}
	if w.Script != nil {
		l.Started.Kind, l.Started.Level = workflow.KindScript, script.Level
		l.Started.Options.Script = t.scripted(q)
		l.Started.Options.Transitions = 0 // a script has its own bounds: maxAgents, and twice as many calls at most
		p := &l.Started.Options.Policies
		p.Concurrency, p.FailFast = l.Started.Options.Script.Concurrency, 0 // an agent that fails is null, and the script decides
	}
	return l, t.pin(w, &l)
}

// values are what a run is given: inputs of a definition, args of a script.
// Args are merged over the defaults of a saved script.
func (t *Tenon) values(q Request, inputs []byte) (v workflow.Value, warning string, err error) {
	if q.Workflow.Script == nil {
		v, err = checkInputs(q.Workflow.Definition, inputs)
		return v, "", err
	}
	args := q.Args
	if args == nil && len(inputs) > 0 && string(inputs) != "{}" && string(inputs) != "null" {
		args = inputs
	}
	d := q.Workflow.defaults
	if args, err = scripts.Merge(scripts.Normalize(args, d.DefaultArgs, d.StringArgKey), d.DefaultArgs); err != nil {
		return v, "", workflow.Errorf(workflow.CodeInvalidInputs, "%w", err)
	}
	args, warning, err = script.Arguments(*q.Workflow.Script, args)
	if err != nil || args == nil {
		return v, warning, err
	}
	return workflow.Inline(args), warning, nil
}

// scripted are the bounds of a run of a script.
func (t *Tenon) scripted(q Request) workflow.ScriptOptions {
	o := q.Script
	if o.Concurrency == 0 {
		o.Concurrency = min(workflow.DefaultScriptAgents, max(4, runtime.NumCPU()-2))
	}
	return o
}

// refFile is where a run's workflow was read: relative to the root of the
// project where it is inside, so that a moved project still finds it.
func (t *Tenon) refFile(w *Workflow) string {
	if w.Path == "" {
		return w.File
	}
	if rel, err := filepath.Rel(t.Project.Root, w.Path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return w.Path
}

// pinned returns what the providers of a workflow, of its children and of the
// roles can do, so that a changed configuration does not change a run.
func (t *Tenon) pinned(w *Workflow) map[string]workflow.Capabilities {
	out := map[string]workflow.Capabilities{}
	add := func(provider string) {
		if caps, ok := t.backends.capabilities(provider); ok {
			out[provider] = caps
		}
	}
	for _, r := range t.agentRoles(t.Project.Roles(), w) {
		add(r.Provider)
	}
	for _, n := range w.Nodes {
		add(n.Traits.Provider)
	}
	for _, c := range w.Children {
		maps.Copy(out, t.pinned(c))
	}
	return out
}

// pin adds the documents of child runs, at every depth.
func (t *Tenon) pin(w *Workflow, l *engine.Launch) error {
	for _, name := range slices.Sorted(maps.Keys(w.Children)) {
		child := w.Children[name]
		ref := workflow.Ref{Name: child.Name, Digest: digest(child.Document), File: t.refFile(child)}
		if there, twice := l.Started.Children[name]; twice && there != ref {
			return workflow.Errorf(workflow.CodeInvalidDefinition, "%s and %s are both called %q by the workflows that start them", there.File, ref.File, name).
				WithHint("rename one of the files, or start it by its name")
		} else if twice {
			continue
		}
		if l.Started.Children == nil {
			l.Started.Children = map[string]workflow.Ref{}
		}
		l.Started.Children[name] = ref
		l.Blobs = append(l.Blobs, child.Document)
		if err := t.pin(child, l); err != nil {
			return err
		}
	}
	return nil
}

// child launches a child run of a pinned document under its parent's rules.
func (t *Tenon) child(parent workflow.RunStarted, ref workflow.Ref, doc, inputs []byte) (engine.Launch, error) {
	def, err := load.Decode(doc)
	if err != nil {
		return engine.Launch{}, err
	}
	values, err := checkInputs(def, inputs)
	if err != nil {
		return engine.Launch{}, err
	}
	opts := parent.Options
	opts.Budget = least(opts.Budget, def.Budget)
	opts.Policies, opts.Transitions, opts.Verified = load.Effective(def), load.Transitions(def), def.Delivery.RequiresVerified
	return engine.Launch{Started: workflow.RunStarted{
		Workflow: ref, Kind: workflow.KindGraph, Level: def.SchemaVersion, Inputs: values, Launch: parent.Launch,
		Options: opts, Children: parent.Children, Project: parent.Project,
	}}, nil
}

func digest(doc []byte) workflow.Digest { return workflow.Digest(canon.Sum(doc)) }

func inline(raw json.RawMessage) workflow.Value {
	if len(raw) == 0 {
		return workflow.Value{}
	}
	return workflow.Inline(raw)
}

func (t *Tenon) budget(def, flags workflow.Budget) workflow.Budget {
	l := t.Project.Config.Limits
	conf := workflow.Budget{MaxCostUSD: l.MaxCostUSD, MaxTokens: l.MaxTokens, MaxDurationMs: time.Duration(l.MaxDuration).Milliseconds()}
	return least(least(def, conf), flags)
}

// least takes the smaller of each cap; zero is no cap.
func least(a, b workflow.Budget) workflow.Budget {
	return workflow.Budget{
		MaxCostUSD:    smaller(a.MaxCostUSD, b.MaxCostUSD),
		MaxTokens:     smaller(a.MaxTokens, b.MaxTokens),
		MaxDurationMs: smaller(a.MaxDurationMs, b.MaxDurationMs),
	}
}

func smaller[N int64 | float64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// checks returns the verification plan of a run. A configured plan that is not
// trusted matters only to workflows that use it.
func (t *Tenon) checks(w *Workflow) (commands, setup []workflow.Check, err error) {
	commands, setup, err = t.plannedChecks()
	if err != nil && !usesKind(w, "verify", "implementation", "implementation-step") {
		return nil, nil, nil
	}
	if name := planned(w, false); err == nil && len(commands) == 0 && name != "" {
		return nil, nil, noPlan("node %s of %s verifies with the configured commands, and none are configured", name, w.Name)
	}
	return commands, setup, err
}

// plannedChecks returns the plan of Config.Checks, or else the configured one.
func (t *Tenon) plannedChecks() (commands, setup []workflow.Check, err error) {
	if t.cfg.Checks == nil {
		return t.Project.Checks()
	}
	commands = slices.Clone(t.cfg.Checks)
	for i := range commands {
		if commands[i].RepositoryID == "" {
			commands[i].RepositoryID = t.Project.Repositories()[0].ID
		}
	}
	return commands, nil, nil
}

func noPlan(format string, args ...any) error {
	return workflow.Errorf(workflow.CodeInvalidArguments, format, args...).
		WithHint("name one with --verify, or add verification.commands to .tenon/config.yaml")
}

// planned returns a node that verifies with the configured commands, or "";
// proposed counts those, too, that may have others proposed to them.
func planned(w *Workflow, proposed bool) string {
	for _, n := range w.Nodes {
		var p struct {
			Commands       any    `json:"commands"`
			AdditionalFrom string `json:"additionalCommandsFrom"`
		}
		if n.Kind == "verify" && json.Unmarshal(paramsOf(w.Definition, n), &p) == nil && p.Commands == "configured" && (p.AdditionalFrom == "" || proposed) {
			return n.Node
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(w.Children)) {
		if name := planned(w.Children[ref], proposed); name != "" {
			return name
		}
	}
	return ""
}

// UsesPlan reports whether a node of the workflow, or of its children, verifies
// with the configured plan, or what takes its place.
func (w *Workflow) UsesPlan() bool {
	return planned(w, true) != "" || usesKind(w, "implementation", "implementation-step")
}

// UsesAgents reports whether a node of the workflow, or of its children, asks a
// model.
func (w *Workflow) UsesAgents() bool {
	if w.Script != nil || slices.ContainsFunc(w.Nodes, func(n load.NodeInfo) bool { return n.Traits.AI }) {
		return true
	}
	for _, c := range w.Children {
		if c.UsesAgents() {
			return true
		}
	}
	return false
}

func usesKind(w *Workflow, kinds ...string) bool {
	if slices.ContainsFunc(w.Nodes, func(n load.NodeInfo) bool { return slices.Contains(kinds, n.Kind) }) {
		return true
	}
	for _, c := range w.Children {
		if usesKind(c, kinds...) {
			return true
		}
	}
	return false
}

var changeName = text.MustPattern(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// preflight refuses, before the run exists, what can be known to fail.
func (t *Tenon) preflight(q Request) error {
	def := q.Workflow.Definition
	if needs := def.Change == "new" || def.Change == "existing"; needs && q.Change == "" {
		return workflow.Errorf(workflow.CodeInvalidArguments, "workflow %s works on a change, and none is named", q.Workflow.Name).
			WithHint("add --change NAME, in lower-case words joined by dashes")
	}
	if q.Change != "" && (!changeName().MatchString(q.Change) || len(q.Change) > 64) {
		return workflow.Errorf(workflow.CodeInvalidArguments, "change name %q is not lower-case words joined by dashes, at most 64 characters", q.Change)
	}
	budget := t.budget(def.Budget, q.Budget)
	for _, n := range q.Workflow.Nodes {
		if err := t.preflightNode(q, n, budget); err != nil {
			return err
		}
	}
	for _, c := range q.Workflow.Children {
		if err := t.preflight(Request{Workflow: c, Change: q.Change, Tickets: q.Tickets, Budget: q.Budget}); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tenon) preflightNode(q Request, n load.NodeInfo, budget workflow.Budget) error {
	p, _ := t.pieces.Get(n.Kind)
	if p.Missing != "" {
		return workflow.Errorf(workflow.CodePieceNotAvailable, "node %s of %s: kind %s cannot run yet: %s", n.Node, q.Workflow.Name, n.Kind, p.Missing)
	}
	if n.Kind == workflow.KindMap && q.Tickets == nil && overTickets(q.Workflow.Definition, n) {
		return workflow.Errorf(workflow.CodeMapInputMissing, "map %s of %s runs over tickets, and none are given", n.Node, q.Workflow.Name).
			WithHint("add --tickets FILE with a list of {id, title}")
	}
	if !n.Traits.AI || n.Traits.Provider == "" {
		return nil // the matrix chooses one
	}
	if _, err := t.backends.executor(n.Traits.Provider); err != nil {
		return fmt.Errorf("node %s of %s: %w", n.Node, q.Workflow.Name, err)
	}
	if n.Traits.Model == "" {
		return nil // the matrix chooses one of the provider's
	}
	if budget.MaxCostUSD > 0 && !t.backends.priced(n.Traits.Provider, n.Traits.Model) {
		return workflow.Errorf(workflow.CodeCostUnknown, "node %s of %s: the cost of provider %q is not known, so a budget of $%g cannot hold", n.Node, q.Workflow.Name, n.Traits.Provider, budget.MaxCostUSD).
			WithHint("use a token budget (maxTokens) instead")
	}
	return nil
}

func overTickets(def *workflow.Definition, n load.NodeInfo) bool {
	var m workflow.MapParams
	return json.Unmarshal(paramsOf(def, n), &m) == nil && m.Over.Name == "tickets"
}

// paramsOf returns the params of a node as they are written.
func paramsOf(def *workflow.Definition, n load.NodeInfo) json.RawMessage {
	body := def.Body
	if n.Body != "" {
		body = def.Components[n.Body]
	}
	return body.Nodes[n.Node].Params
}
