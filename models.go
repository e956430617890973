package tenon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/scripted"
	"github.com/tenonrun/tenon/routing"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/workflow"
)

// modelsFile holds the model matrix of a project.
const modelsFile = "models.yaml"

// session is what a run keeps of the project that it began in, beside its
// options: it is driven on with the same.
type session struct {
	Models     string               `json:"models,omitempty"` // the text of models.yaml
	Bind       []string             `json:"bind,omitempty"`   // --model
	Dimensions map[string]string    `json:"dimensions,omitempty"`
	Team       map[string]*member   `json:"team,omitempty"`     // by key
	Lock       *composition.Lock    `json:"lock,omitempty"`     // what the names of agents stood for
	Specs      map[string]string    `json:"specs,omitempty"`    // of deliverables, by name: their text
	Overlays   []runcontext.Overlay `json:"overlays,omitempty"` // of specifications
	Tags       []string             `json:"tags,omitempty"`     // of overlays that apply unasked
	Warnings   []string             `json:"warnings,omitempty"` // of its making, such as drafts
	AgentsMD   *string              `json:"agentsMd,omitempty"` // the repository's; nil in old runs and those without agents

	matrix *routing.Matrix
	money  bool // the run has a limit of it
	flows  bool // its agents may start workflows
}

// sessions are those of the runs that this process drives.
type sessions struct {
	mu   sync.Mutex
	made map[workflow.RunID]*session
}

// matrices keeps the matrix that was read last: a run asks for it more than once, and
// it may have many rules.
type matrices struct {
	mu   sync.Mutex
	text string
	last *routing.Matrix
}

func (c *matrices) load(text string, providers func() []routing.Provider) (*routing.Matrix, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.text == text {
		return c.last, nil
	}
	m, err := routing.Load(filepath.Join(project.Folder, modelsFile), []byte(text), providers())
	if err == nil {
		c.text, c.last = text, m
	}
	return m, err
}

// readModels returns the text of the project's models.yaml; "" without one.
func (t *Tenon) readModels() (string, error) {
	raw, err := os.ReadFile(filepath.Join(t.Project.Root, project.Folder, modelsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the model matrix: %w", err)
	}
	return string(raw), nil
}

// Models returns the model matrix of the project, as --model flags change it.
func (t *Tenon) Models(bind ...string) (*routing.Matrix, error) {
	text, err := t.readModels()
	if err != nil {
		return nil, err
	}
	return t.matrixOf(text, bind)
}

func (t *Tenon) matrixOf(text string, bind []string) (*routing.Matrix, error) {
	m, err := t.matrices.load(text, t.backends.routed)
	if err != nil || len(bind) == 0 {
		return m, err
	}
	return m.Rebind(rehearsed(bind))
}

// rehearsed reads the name of the scripted provider as a model of it, whatever
// other providers there are.
func rehearsed(models []string) []string {
	out := slices.Clone(models)
	for i, m := range out {
		if m == scripted.Name || strings.HasSuffix(m, "="+scripted.Name) {
			out[i] = m + "/" + scripted.Name
		}
	}
	return out
}

// begin makes the session of a run that is to be started; more agents than its
// workflow names may be wanted.
func (t *Tenon) begin(ctx context.Context, q Request, more ...agent.Name) (*session, error) {
	s := &session{Bind: q.Models, Dimensions: q.Dimensions}
	if q.Workflow != nil && q.site == nil {
		q.site = q.Workflow.site
	}
	var err error
	if s.Models, err = t.readModels(); err != nil {
		return nil, err
	}
	if s.matrix, err = t.matrixOf(s.Models, s.Bind); err != nil {
		return nil, err
	}
	pinned := &composition.Lock{}
	if s.Team, s.Warnings, err = t.gather(ctx, q, append(named(q.Workflow), more...), pinned); err != nil {
		return nil, err
	}
	if len(pinned.Pins()) > 0 {
		s.Lock = pinned
	}
	if len(s.Team) > 0 {
		text, err := t.readAgentsMD()
		if err != nil {
			return nil, err
		}
		s.AgentsMD = &text
	}
	// Specifications that nodes name were judged when the workflow was loaded.
	overlays, err := t.readOverlays()
	specs, bad := t.readSpecs()
	s.Overlays, s.Specs, s.Tags = overlays, specs, t.Project.Config.Tags
	for _, err := range []error{err, bad} {
		if err != nil {
			s.Warnings = append(s.Warnings, err.Error())
		}
	}
	if err := t.modelled(s, q.Workflow, t.budget(workflow.Budget{}, q.Budget).MaxCostUSD); err != nil {
		return nil, err
	}
	return s, t.rehearse(ctx, s, q.Workflow)
}

// value is what the first event keeps: nothing where there is nothing to keep.
func (s *session) value() (workflow.Value, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return workflow.Value{}, fmt.Errorf("keeping the session of a run: %w", err)
	}
	if string(raw) == "{}" {
		return workflow.Value{}, nil
	}
	return workflow.Inline(raw), nil
}

// session returns that of a run, as its first event has it.
func (t *Tenon) session(ctx context.Context, run workflow.RunID) (*session, error) {
	t.sessions.mu.Lock()
	defer t.sessions.mu.Unlock()
	if s := t.sessions.made[run]; s != nil {
		return s, nil
	}
	s := &session{}
	found := errors.New("found")
	err := t.Store.Events(ctx, run, 0, func(e workflow.Event) error {
		start, ok := e.Payload.(*workflow.RunStarted)
		if !ok {
			return found // an old history, or none: nothing was kept
		}
		s.money = start.Options.Budget.MaxCostUSD > 0
		s.flows = start.Kind != workflow.KindScript && start.Parent == nil
		raw := []byte(start.Options.Session.JSON)
		if d := start.Options.Session.Digest; d != "" {
			var err error
			if raw, err = t.Store.Blob(ctx, d); err != nil {
				return err
			}
		}
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, s); err != nil {
				return workflow.Errorf(workflow.CodeStoreDamaged, "run %s: reading what it began with: %w", run, err)
			}
		}
		return found
	})
	if err != nil && !errors.Is(err, found) {
		return nil, err
	}
	if s.matrix, err = t.matrixOf(s.Models, s.Bind); err != nil {
		return nil, fmt.Errorf("run %s: %w", run, err)
	}
	if t.sessions.made == nil {
		t.sessions.made = map[workflow.RunID]*session{}
	}
	t.sessions.made[run] = s
	return s, nil
}

// routed are the providers that names of models may lead to.
func (b *backends) routed() []routing.Provider {
	var list []routing.Provider
	names := b.names()
	for _, name := range names {
		list = append(list, routing.Provider{Name: name, Model: b.modelOf(name)})
	}
	for _, name := range []string{scriptedName, fixtureName} {
		if !slices.Contains(names, name) {
			list = append(list, routing.Provider{Name: name, Model: b.modelOf(name), BuiltIn: true})
		}
	}
	return list
}

// modelOf is the model that a provider is configured with, without making it.
func (b *backends) modelOf(name string) string {
	if b.given[name] != nil {
		return b.models[name]
	}
	cfg := b.project.Providers()[name]
	if cfg.Type == scriptedName && cfg.Model == "" {
		return scripted.Name
	}
	return cfg.Model
}

// router is the executor of a run's turns: it chooses their models by the run's
// matrix, and falls back where that says so.
type router struct {
	t        *Tenon
	provider string            // that the node or role names; "" is none
	decided  *routing.Decision // already, where the agent was started
}

// Capabilities implements executor.Executor.
func (r router) Capabilities(model string) executor.Capabilities {
	caps, _ := r.t.backends.capabilities(r.provider)
	return caps
}

// Execute implements executor.Executor.
func (r router) Execute(ctx context.Context, t executor.Turn, h executor.Host) (executor.Reply, error) {
	d, err := r.decide(ctx, t)
	if err != nil {
		return executor.Reply{}, err
	}
	key := t.Key
	for i, m := range d.Models {
		t.Provider, t.Model, t.Reason = m.Provider, m.Model, d.String()
		if d.MatchedRuleID != nil {
			t.Rule = *d.MatchedRuleID
		}
		if i > 0 {
			t.Key = fmt.Sprintf("%s~%d", key, i+1)
			t.Reason += fmt.Sprintf("; fallback %d", i)
		}
		if i+1 < len(d.Models) { // the last one is never left
			if gone, err := r.left(ctx, h, t.Key, nil); err != nil {
				return executor.Reply{}, err
			} else if gone {
				continue
			}
		}
		if err := r.affords(ctx, t); err != nil {
			return executor.Reply{}, err
		}
		ex, err := r.t.backends.executor(m.Provider)
		if err != nil {
			return executor.Reply{}, err
		}
		reply, err := ex.Execute(ctx, t, h)
		if err == nil || i+1 == len(d.Models) || ctx.Err() != nil || !slices.Contains(unavailable, workflow.CodeOf(err)) {
			return reply, err
		}
		if reply.ToolCalls > 0 || len(reply.Files) > 0 {
			// The next one would do it all again. A resume goes on in this conversation.
			return reply, fmt.Errorf("%w (it had used tools already, so no fallback was asked)", err)
		}
		if _, err := r.left(ctx, h, t.Key, err); err != nil {
			return executor.Reply{}, err
		}
	}
	return executor.Reply{}, workflow.Errorf(workflow.CodeModelMissing, "%s: no model is left to ask", t.Node)
}

// affords refuses a model of an unknown price where a limit of money holds.
func (r router) affords(ctx context.Context, t executor.Turn) error {
	s, err := r.t.session(ctx, t.Run)
	if err != nil {
		return err
	}
	limited := s.money || t.Limits != nil && t.Limits.MaxCostUSD != nil
	if !limited || r.t.backends.priced(t.Provider, t.Model) {
		return nil
	}
	return fmt.Errorf("%s: %w", t.Node, unpriced(routing.Model{Provider: t.Provider, Model: t.Model}))
}

func (r router) decide(ctx context.Context, t executor.Turn) (routing.Decision, error) {
	if r.decided != nil {
		return *r.decided, nil
	}
	s, err := r.t.session(ctx, t.Run)
	if err != nil {
		return routing.Decision{}, err
	}
	d, err := s.matrix.Decide(r.t.request(s, r.provider, t))
	if err != nil {
		return d, fmt.Errorf("%s: %w", t.Node, err)
	}
	return d, nil
}

// unavailable are the failures of a model that another one can make good.
var unavailable = []workflow.Code{
	workflow.CodeQuotaExhausted, workflow.CodeRateLimited, workflow.CodeProviderOverloaded, workflow.CodeModelUnknown, workflow.CodeProviderAuth,
}

// left records that a model was left for its fallback, because of why, or tells
// whether it was.
func (r router) left(ctx context.Context, h executor.Host, key string, why error) (bool, error) {
	j, ok := h.(executor.Journal)
	if !ok {
		return false, nil
	}
	none := errors.New("it was not left")
	_, err := j.Step(ctx, executor.Step{Key: key + "/left", Tool: "routing",
		Do: func(context.Context, json.RawMessage, func(json.RawMessage) error) (executor.Outcome, error) {
			if why == nil {
				return executor.Outcome{}, none
			}
			memo, err := json.Marshal(map[string]any{"code": workflow.CodeOf(why), "why": why.Error()})
			return executor.Outcome{Memo: memo, About: "goes on with the next model: " + why.Error()}, err
		}})
	if errors.Is(err, none) {
		return false, nil
	}
	return err == nil, err
}

// elsewhere is the model for calls of a turn with a purpose of their own, where a
// rule of the matrix speaks about that purpose.
func (t *Tenon) elsewhere(ctx context.Context, turn executor.Turn, purpose string) (native.Where, bool) {
	s, err := t.session(ctx, turn.Run)
	if err != nil {
		return native.Where{}, false // the turn itself has been told
	}
	turn.Model, turn.Route.Composition, turn.Route.Preferred, turn.Route.Parent, turn.Route.Purpose = "", "", "", "", purpose
	d, err := s.matrix.Decide(t.request(s, "", turn))
	if err != nil || !slices.Contains(d.MatchedDimensions, "purpose") {
		return native.Where{}, false
	}
	m := d.Models[0]
	if _, err := t.backends.executor(m.Provider); err != nil || s.money && !t.backends.priced(m.Provider, m.Model) {
		return native.Where{}, false
	}
	made, err := t.backends.get(m.Provider)
	return native.Where{Provider: made.provider, Model: m.Model, Reason: d.String(), Rule: *d.MatchedRuleID}, err == nil
}

// request is what the matrix is asked about a turn.
func (t *Tenon) request(s *session, provider string, turn executor.Turn) routing.Request {
	way := turn.Route
	q := routing.Request{
		Context: routing.Context{
			Agent: cmp.Or(way.Agent, turn.Role), Project: t.Project.ID, Group: way.Group, Purpose: way.Purpose, Skill: way.Skill, Extra: s.Dimensions,
		},
		Provider: provider, Step: turn.Model, Composition: way.Composition, Agent: way.Preferred,
	}
	if way.Parent != "" {
		if choice, err := s.matrix.Resolve(way.Parent, ""); err == nil {
			q.Parent = &choice
		}
	}
	return q
}

// priced tells what the calls of a vendor cost, from the prices of the matrix.
type priced struct {
	provider.Provider
	price func(model string) routing.Model
}

// MaxCost implements provider.Priced.
func (p priced) MaxCost(r provider.Request, bytes int) (provider.MaxCost, bool) {
	m := p.price(r.Model)
	if m.Price == nil {
		return provider.MaxCost{}, false
	}
	in := max(m.Price.In, deref(m.Price.CacheWrite))
	const perMillion = 1e6
	return provider.MaxCost{Sent: float64((bytes+2)/3) * in / perMillion, Token: m.Price.Out / perMillion}, true
}

func deref(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// Stream implements provider.Provider: what the vendor does not say a call cost,
// the price does.
func (p priced) Stream(ctx context.Context, r provider.Request, show func(provider.Delta)) (provider.Response, error) {
	resp, err := p.Provider.Stream(ctx, r, show)
	resp.Usage.CostUSD = p.cost(r.Model, resp.Usage)
	if e := provider.AsError(err); e != nil {
		e.Usage.CostUSD = p.cost(r.Model, e.Usage)
	}
	return resp, err
}

func (p priced) cost(model string, u provider.Usage) *float64 {
	if u.CostUSD != nil {
		return u.CostUSD
	}
	return p.price(model).Cost(workflow.Usage{
		Input: u.Input, Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning, CostUSD: u.CostUSD,
	})
}

// Capabilities implements provider.Capable.
func (p priced) Capabilities(model string) provider.Capabilities {
	if c, ok := p.Provider.(provider.Capable); ok {
		return c.Capabilities(model)
	}
	return provider.Capabilities{}
}
