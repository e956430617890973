package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// attempt is a piece at work.
type attempt struct {
	r      *run
	frame  piece.Frame
	cmd    workflow.StartVisit
	number int
	ctx    context.Context
	cancel context.CancelCauseFunc
	paused bool // it asked: its end is no result
	mu     sync.Mutex
	scopes map[string]context.CancelCauseFunc // of agents that were started, by key
	word   string                             // streamed and not shown yet
	again  *admission.Verdict
	proven bool // the candidate stood verified when it began
}

// begin starts the attempt of an admitted visit.
func (r *run) begin(ctx context.Context, v admission.Verdict) {
	if old := r.live[v.Command.Visit]; old != nil { // it asked, and the answer was there before it had left
		again := v
		old.again = &again
		return
	}
	a := &attempt{r: r, cmd: v.Command, number: v.Attempt, proven: r.isProven(v.Command.Visit)}
	a.ctx, a.cancel = context.WithCancelCause(r.whole(ctx))
	start := &r.Start
	a.frame = piece.Frame{
		Run: r.ID, Visit: v.Command.Visit, Node: v.Command.Node, Number: v.Command.Number, Scope: v.Command.Scope,
		Attempt: v.Attempt, Kind: v.Command.Kind, Level: start.Format(), Script: start.Kind == workflow.KindScript, ByAgent: start.Options.ByAgent, Params: v.Command.Params,
		Context: v.Command.Context, Steering: slices.Clone(r.Memory.Steering[v.Command.Visit]),
		Repositories: start.Options.Repositories, Roles: start.Options.Roles, Backends: start.Options.Backends, Policies: start.Options.Policies,
		Launch: start.Launch, Checks: start.Options.Checks, Setup: start.Options.Setup, Deadline: r.Gate.Deadline(r.Last), Timeouts: start.Options.Timeouts, Now: r.Last,
		Traits: piece.Traits{Effect: v.Command.Effect, AI: v.Command.AI, Provider: v.Command.Provider},
	}
	r.live[v.Command.Visit] = a
	if r.free != nil && r.next == nil {
		r.next = a
		return
	}
	r.e.wg.Add(1)
	go r.pursue(ctx, a)
}

// work runs the piece; a panic is an error with a stack.
func (a *attempt) work() (res workflow.Settled, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = workflow.Errorf(workflow.CodePanic, "piece %s panicked at %s: %v\n%s", a.cmd.Kind, a.cmd.Node, p, debug.Stack())
		}
	}()
	p, ok := a.r.e.cfg.Pieces.Get(a.cmd.Kind)
	if !ok || p.Run == nil {
		return res, workflow.Errorf(workflow.CodePieceNotAvailable, "kind %s cannot run in this program: %s", a.cmd.Kind, p.Missing)
	}
	res, err = p.Run(a.ctx, a)
	if err == nil {
		err = a.certify(a.ctx, p, &res)
	}
	return res, err
}

// Frame implements piece.Context.
func (a *attempt) Frame() piece.Frame { return a.frame }

// Load implements piece.Context.
func (a *attempt) Load(v workflow.Value) (json.RawMessage, error) { return v.Load(a.r.Values) }

// heldBack bounds the unfinished word that streamed text keeps back.
const heldBack = 512

// Progress implements piece.Context and executor.Host. Streamed text is shown up
// to its last blank: a secret that comes in two pieces is still one word.
func (a *attempt) Progress(p executor.Progress) {
	if p.Kind == "text" || p.Kind == "reasoning" {
		a.mu.Lock()
		text := a.word + p.Text
		cut := strings.LastIndexAny(text, " \t\n") + 1
		if len(text)-cut > heldBack {
			cut = len(text)
		}
		p.Text, a.word = text[:cut], text[cut:]
		a.mu.Unlock()
		if p.Text == "" && p.Tokens == 0 {
			return
		}
	}
	p.Text = a.r.e.cfg.Redact.Redact(p.Text)
	if a.r.e.cfg.Observe != nil {
		a.r.e.cfg.Observe(Notice{Run: a.r.ID, Visit: a.cmd.Visit, Node: a.cmd.Node, Progress: &p})
	}
}

// Turn implements piece.Context.
func (a *attempt) Turn(ctx context.Context, t executor.Turn) (executor.Reply, error) {
	if a.r.e.cfg.Executor == nil {
		return executor.Reply{}, workflow.Errorf(workflow.CodeProviderNotFound, "provider %q: no providers are configured", t.Provider)
	}
	ex, err := a.r.e.cfg.Executor(t.Provider)
	if err != nil {
		return executor.Reply{}, err
	}
	if t.Node == "" {
		t.Node = a.frame.Node
	}
	if t.Model == "" && !a.r.Start.Options.Routed { // else the executor chooses one, and the provider's own comes last
		t.Model = a.frame.Backends[t.Provider].Model
	}
	t.Run, t.Visit = a.frame.Run, a.frame.Visit
	return ex.Execute(ctx, t, a)
}

// send gives a message to whoever drives the run.
func (a *attempt) send(m message) error {
	if _, driven := a.r.drive(a.r.unending, m, nil); driven {
		return nil
	}
	select {
	case a.r.inbox <- m:
		return nil
	case <-a.r.dead:
		return a.orphaned()
	}
}

// hear waits for the loop's reply to a message.
func hear[T any](a *attempt, reply <-chan T) (T, error) {
	select {
	case v := <-reply:
		return v, nil
	case <-a.r.dead:
		var none T
		return none, a.orphaned()
	}
}

func (a *attempt) orphaned() error {
	return workflow.Errorf(workflow.CodeInterrupted, "run %s is no longer driven by this process", a.r.ID)
}

// peek is a look at the run from an attempt.
type peek struct {
	see  func(*run)
	done chan struct{}
}

func (m *peek) handle(r *run) error {
	m.see(r)
	close(m.done)
	return nil
}

// peek lets see look at the run between two facts.
func (a *attempt) peek(see func(*run)) error {
	m := &peek{see: see, done: make(chan struct{})}
	if err := a.send(m); err != nil {
		return err
	}
	_, err := hear(a, m.done)
	return err
}

// Lookup implements piece.Context.
func (a *attempt) Lookup(_ context.Context, root string, path ...string) (value any, ok bool, err error) {
	gone := a.peek(func(r *run) {
		if reader, can := r.Program.(workflow.Reader); can {
			value, ok, err = reader.Lookup(a.cmd.Visit, root, path)
		}
	})
	if gone != nil {
		return nil, false, gone
	}
	return value, ok, err
}

// fact is something that an attempt wants to have recorded.
type fact struct {
	about ref
	p     workflow.Payload
	reply chan error
}

func (m *fact) handle(r *run) error {
	if err := r.record(m.about, m.p); err != nil {
		return err
	}
	r.after = append(r.after, func() { m.reply <- nil })
	return nil
}

// record returns when the fact is durable.
func (a *attempt) record(p workflow.Payload) error { return a.tell(refOf(a.cmd, a.number), p) }

// tell is record for a fact about something else.
func (a *attempt) tell(about ref, p workflow.Payload) error {
	m := &fact{about: about, p: p, reply: make(chan error, 1)}
	if err := a.send(m); err != nil {
		return err
	}
	told, err := hear(a, m.reply)
	return errors.Join(told, err)
}

// Note implements piece.Context.
func (a *attempt) Note(_ context.Context, kind, text string) error {
	return a.record(&workflow.Progress{Kind: kind, Message: text})
}

type answered struct {
	answer workflow.Answer
	err    error
}

type ask struct {
	a     *attempt
	ask   piece.Ask
	reply chan answered
}

// Ask implements piece.Context.
func (a *attempt) Ask(_ context.Context, q piece.Ask) (workflow.Answer, error) {
	m := &ask{a: a, ask: q, reply: make(chan answered, 1)}
	if err := a.send(m); err != nil {
		return workflow.Answer{}, err
	}
	got, err := hear(a, m.reply)
	if err != nil {
		return workflow.Answer{}, err
	}
	return got.answer, got.err
}

func (m *ask) handle(r *run) error {
	v := m.a.cmd.Visit
	for _, q := range r.Memory.Asked[v] {
		if q.Round != m.ask.Round || q.Key != m.ask.Key {
			continue
		}
		if q.Answer == nil {
			m.a.paused = true
			m.reply <- answered{err: piece.ErrPaused}
			return nil
		}
		ans := *q.Answer
		ans.Question, ans.Bound = q.ID, q.Bound
		m.reply <- answered{answer: ans}
		return nil
	}
	now, name := r.e.now(), fmt.Sprint(m.ask.Round)
	if m.ask.Key != "" {
		name = "key " + m.ask.Key
	}
	q := workflow.Question{
		ID: ident.Derive("q", string(r.ID), string(v), name), Key: m.ask.Key,
		Run: r.ID, Visit: v, Node: m.a.cmd.Node, Kind: m.ask.Kind, Text: m.ask.Text, Schema: m.ask.Schema,
		Options: m.ask.Options, Bound: m.ask.Bound, Round: m.ask.Round, Asked: now,
	}
	if m.ask.Timeout > 0 {
		q.Deadline = now + m.ask.Timeout
		r.clock.begin(q.ID, now)
	}
	m.a.paused = true
	r.dirty = true
	if err := r.record(refOf(m.a.cmd, m.a.number), &workflow.QuestionOpened{Question: q}); err != nil {
		return err
	}
	r.after = append(r.after, func() { m.reply <- answered{err: piece.ErrPaused} })
	return nil
}

// done is the end of an attempt.
type done struct {
	visit  workflow.VisitID
	result workflow.Settled
	err    error
}

func (m *done) handle(r *run) error {
	a := r.live[m.visit]
	delete(r.live, m.visit)
	r.wakeHeld()
	r.wishAgain()
	if a.paused && (errors.Is(m.err, piece.ErrPaused) || a.again != nil) {
		return r.goOn(a)
	}
	if err := r.giveBack(a); err != nil {
		return err
	}
	about := refOf(a.cmd, a.number)
	if cause := context.Cause(a.ctx); m.err != nil && workflow.CodeOf(cause) == workflow.CodeSkipped {
		return r.failed(a, about, cause)
	} else if cause != nil && m.err != nil && !errors.Is(cause, context.Canceled) {
		return r.record(about, r.lostTo(a, cause))
	}
	if m.err != nil {
		return r.failed(a, about, m.err)
	}
	return r.succeeded(a, about, &m.result)
}

// goOn begins the attempt that an answer admitted while the piece was leaving.
func (r *run) goOn(a *attempt) error {
	switch cause := context.Cause(a.ctx); {
	case a.again == nil:
	case r.stopping || cause != nil && !errors.Is(cause, context.Canceled):
		return r.record(refOf(a.cmd, a.number), r.lostTo(a, cmp.Or(cause, error(interruption()))))
	default:
		r.starts = append(r.starts, *a.again)
	}
	return nil
}

// giveBack settles calls that were granted to an attempt and never sent.
func (r *run) giveBack(a *attempt) error {
	for _, c := range sortedCalls(r.Memory.Live) {
		if c.Visit != a.cmd.Visit {
			continue
		}
		about := refOf(a.cmd, a.number)
		about.invocation = c.Invocation
		err := r.record(about, &workflow.InvocationSettled{
			Key: c.Key, Status: workflow.InvocationFailed, Code: workflow.CodeAborted, Usage: nothing(workflow.Usage{}),
			Message: "the attempt ended before the call was sent",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func interruption() *workflow.Error {
	return workflow.Errorf(workflow.CodeInterrupted, "tenon was stopped")
}

// lostTo is the loss of an attempt that the driver itself ended.
func (r *run) lostTo(a *attempt, cause error) *workflow.Lost {
	return &workflow.Lost{
		Code: workflow.CodeOf(cause), Message: cause.Error(),
		Uncertain: a.cmd.Effect == workflow.EffectWrite && a.cmd.Uncertain,
	}
}

// told is an error's text without the node, which every record names itself.
func told(a *attempt, err error) string { return strings.TrimPrefix(err.Error(), a.cmd.Node+": ") }

// failed settles, repeats, or parks an attempt that gave an error.
func (r *run) failed(a *attempt, about ref, err error) error {
	code := workflow.CodeOf(err)
	if l := parked(code, err); l != nil {
		r.dirty = true
		return r.record(about, l)
	}
	if after, ok := r.Gate.Retry(a.cmd.Visit, code, r.e.now()); ok {
		return r.record(about, &workflow.Retrying{Code: code, Message: told(a, err), After: after})
	}
	res := workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Code: code, Message: told(a, err), Node: a.cmd.Node}}
	if slices.Contains(r.e.outcomes(r.Start, a.cmd), "failed") {
		res.Outcome = "failed"
	}
	return r.record(about, &res)
}

func (r *run) succeeded(a *attempt, about ref, res *workflow.Settled) error {
	if res.Error != nil {
		res.Error.Node = a.cmd.Node
		if res.Status == workflow.VisitFailed {
			if after, ok := r.Gate.Retry(a.cmd.Visit, res.Error.Code, r.e.now()); ok {
				return r.record(about, &workflow.Retrying{Code: res.Error.Code, Message: res.Error.Message, After: after})
			}
		}
	}
	if all := r.e.outcomes(r.Start, a.cmd); res.Status != workflow.VisitFailed && !slices.Contains(all, res.Outcome) && len(all) > 0 {
		return r.failed(a, about, workflow.Errorf(workflow.CodeInvalidOutcome, "piece %s gave the outcome %q, which it does not declare", a.cmd.Kind, res.Outcome))
	}
	return r.record(about, res)
}

// outcomes returns what the piece declares for its params.
func (e *Engine) outcomes(start workflow.RunStarted, cmd workflow.StartVisit) []string {
	p, ok := e.cfg.Pieces.Get(cmd.Kind)
	if !ok {
		return nil
	}
	t, _ := p.Describe(cmd.Params, piece.Env{Level: start.Format(), Script: start.Kind == workflow.KindScript, Structural: true, Roles: start.Options.Roles})
	return t.Outcomes
}
