package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of the waits for a provider that asks to be left alone.
const (
	maxRateWaits     = 8
	maxOverloadWaits = 4
	firstBackoff     = time.Second
	maxBackoff       = time.Minute
)

// granted is the answer to a reserve.
type granted struct {
	memo       workflow.Value
	settled    bool // memo is the result of a call that was made before
	invocation int
	ordinal    int
	output     int
	err        error
}

// reserve asks for one call.
type reserve struct {
	a     *attempt
	call  executor.Call
	reply chan granted
}

func (m *reserve) answer(g granted) { m.reply <- g }

// Call implements executor.Host.
func (a *attempt) Call(ctx context.Context, c executor.Call) (json.RawMessage, error) {
	for waits := 0; ; waits++ {
		g, err := a.reserve(ctx, c)
		if err != nil {
			return nil, err
		}
		if g.settled {
			return a.Load(g.memo)
		}
		memo, err := a.perform(ctx, c, g, waits)
		var w *waitError
		if !errors.As(err, &w) {
			return memo, err
		}
		if err := a.sleep(ctx, w); err != nil {
			return nil, err
		}
	}
}

// waitError says that the call is worth repeating at a time.
type waitError struct {
	at  workflow.Time
	err error
}

func (w *waitError) Error() string { return w.err.Error() }

func (w *waitError) Unwrap() error { return w.err }

func (a *attempt) sleep(ctx context.Context, w *waitError) error {
	d := max(0, w.at.Std().Sub(a.r.e.cfg.Now()))
	a.Progress(executor.Progress{Kind: "waiting", Text: fmt.Sprintf("%s: again in %s", workflow.CodeOf(w.err), d.Round(time.Millisecond))})
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *attempt) reserve(ctx context.Context, c executor.Call) (granted, error) {
	m := &reserve{a: a, call: c, reply: make(chan granted, 1)}
	if err := a.send(m); err != nil {
		return granted{}, err
	}
	select {
	case g := <-m.reply:
		return g, g.err
	case <-a.r.dead:
		return granted{}, a.orphaned()
	case <-ctx.Done():
		return granted{}, context.Cause(ctx) // a grant that comes anyway is given back when the attempt ends
	}
}

func (m *reserve) handle(r *run) error {
	v := m.a.cmd.Visit
	if memo, ok := r.Memory.Memos[v][m.call.Key]; ok {
		m.answer(granted{memo: memo, settled: true})
		return nil
	}
	if r.stopping {
		m.answer(granted{err: interruption()})
		return nil
	}
	if b, open := r.Gate.Breakers()[m.call.Provider]; open {
		m.answer(granted{err: &unavailable{until: b.Until, err: workflow.Errorf(b.Code, "provider %s takes no calls in this run: %s", m.call.Provider, b.Message)}})
		return nil
	}
	wish := admission.Call{PromptBytes: m.call.PromptBytes, MaxOutput: m.call.MaxOutput, MaxCost: m.call.MaxCost}
	if wish.MaxOutput <= 0 {
		wish.MaxOutput = admission.DefaultMaxOutput
	}
	hold, narrow := r.within(m, &wish)
	switch {
	case narrow != nil:
		m.answer(granted{err: narrow})
		return nil //nolint:nilerr // the attempt is told
	case hold:
		r.held = append(r.held, m)
		return nil
	}
	offer, refusal := r.Gate.Reserve(v, wish, r.e.now())
	switch {
	case refusal != nil:
		m.answer(granted{err: workflow.Errorf(refusal.Code, "%s", refusal.Message)})
		return nil
	case offer.Hold:
		r.held = append(r.held, m)
		return nil
	}
	n := r.Memory.Calls[v] + 1
	about := refOf(m.a.cmd, m.a.number)
	about.invocation = n
	ordinal := r.Memory.Tries[v][m.call.Key] + 1
	err := r.record(about, &workflow.InvocationReserved{
		Key: m.call.Key, Agent: m.call.Agent, RouteReason: m.call.Reason, Provider: m.call.Provider, Model: m.call.Model, Effort: m.call.Effort, Kind: m.call.Kind,
		ContextMode: m.call.ContextMode, PromptBytes: m.call.PromptBytes, Tokens: offer.Tokens, CostUSD: offer.CostUSD, RequestDigest: m.call.Request,
	})
	r.after = append(r.after, func() { m.answer(granted{invocation: n, ordinal: ordinal, output: offer.Output}) })
	return err
}

// wakeHeld lets calls that waited for others ask again.
func (r *run) wakeHeld() {
	held := r.held
	r.held = nil
	for _, m := range held {
		if err := m.handle(r); err != nil {
			m.answer(granted{err: err})
		}
	}
}

// outcome is how a call ended.
type outcome struct {
	status  string
	err     error
	retryAt workflow.Time
	breaker *workflow.BreakerOpened
	took    time.Duration
}

// perform sends the call and settles it.
func (a *attempt) perform(ctx context.Context, c executor.Call, g granted, waits int) (json.RawMessage, error) {
	e := a.r.e
	if e.calls != nil {
		select {
		case e.calls <- struct{}{}:
			defer func() { <-e.calls }()
		case <-ctx.Done():
			err := context.Cause(ctx)
			return nil, errors.Join(err, a.settle(c, g, executor.Done{}, outcome{status: workflow.InvocationFailed, err: err}))
		}
	}
	e.cfg.Probe("call")
	begun := e.cfg.Now()
	d, err := c.Do(ctx, executor.Grant{MaxOutput: g.output, Ordinal: g.ordinal})
	o := outcome{status: workflow.InvocationOK, err: err, took: e.cfg.Now().Sub(begun)}
	if err != nil {
		a.classify(ctx, c, &o, d.Usage, waits)
		if o.status == workflow.InvocationFailed {
			d.Usage = nothing(d.Usage)
		}
	} else {
		d.Memo = e.cfg.Redact.RedactJSON(d.Memo)
	}
	if serr := a.settle(c, g, d, o); serr != nil {
		return nil, serr
	}
	switch {
	case err == nil:
		return d.Memo, nil
	case o.retryAt != 0:
		return nil, &waitError{at: o.retryAt, err: err}
	case o.breaker != nil:
		return nil, &unavailable{until: o.breaker.Until, err: workflow.Errorf(o.breaker.Code, "%w", err)}
	}
	return nil, err
}

// nothing is the usage of a call that was refused: none, where nothing is told.
func nothing(u workflow.Usage) workflow.Usage {
	var zero int64
	var free float64
	if u.Input == nil {
		u.Input = &zero
	}
	if u.Output == nil {
		u.Output = &zero
	}
	if u.CostUSD == nil {
		u.CostUSD = &free
	}
	return u
}

// classify decides what a failed call means: whether it may have been billed,
// whether it is repeated, and whether the provider takes calls at all.
func (a *attempt) classify(ctx context.Context, c executor.Call, o *outcome, u workflow.Usage, waits int) {
	o.status = workflow.InvocationFailed
	pe := provider.AsError(o.err)
	if _, told := u.Tokens(); !told && (pe == nil || pe.Ambiguous()) {
		o.status = workflow.InvocationLost
	}
	if pe == nil || ctx.Err() != nil {
		return
	}
	now := a.r.e.now()
	switch pe.Code {
	case provider.CodeRateLimited:
		wait := pe.RetryAfter
		if !pe.ResetAt.IsZero() {
			wait = max(wait, pe.ResetAt.Sub(now.Std()))
		}
		if wait == 0 {
			wait = backoff(waits)
		}
		if waits < maxRateWaits && wait <= a.r.e.cfg.WaitFor.RateLimit {
			o.retryAt = now.Add(wait)
			return
		}
		o.breaker = &workflow.BreakerOpened{Provider: c.Provider, Code: workflow.CodeRateLimited, Message: pe.Message, Until: now.Add(wait)}
	case provider.CodeOverloaded:
		if waits < maxOverloadWaits {
			o.retryAt = now.Add(max(pe.RetryAfter, backoff(waits)))
		}
	case provider.CodeQuotaExhausted:
		o.breaker = &workflow.BreakerOpened{Provider: c.Provider, Code: workflow.CodeQuotaExhausted, Message: pe.Message, Until: workflow.TimeOf(pe.ResetAt)}
		if pe.ResetAt.IsZero() && pe.RetryAfter > 0 {
			o.breaker.Until = now.Add(pe.RetryAfter)
		}
	}
}

func backoff(n int) time.Duration {
	return min(maxBackoff, firstBackoff<<min(n, 10))
}

// callDone settles a call.
type callDone struct {
	a     *attempt
	call  executor.Call
	g     granted
	done  executor.Done
	out   outcome
	reply chan error
}

func (m *callDone) answer(err error) { m.reply <- err }

// settle records the end of a call and returns after the append.
func (a *attempt) settle(c executor.Call, g granted, d executor.Done, o outcome) error {
	m := &callDone{a: a, call: c, g: g, done: d, out: o, reply: make(chan error, 1)}
	if err := a.send(m); err != nil {
		return err
	}
	told, err := hear(a, m.reply)
	return errors.Join(told, err)
}

func (m *callDone) handle(r *run) error {
	about := refOf(m.a.cmd, m.a.number)
	about.invocation = m.g.invocation
	p := &workflow.InvocationSettled{
		Key: m.call.Key, Status: m.out.status, Model: m.done.Model, Usage: m.done.Usage, RetryAt: m.out.retryAt,
		DurationMs: m.out.took.Milliseconds(), ToolCalls: m.done.ToolCalls,
	}
	if m.out.err != nil {
		p.Code, p.Message = workflow.CodeOf(m.out.err), m.out.err.Error()
	} else {
		p.Memo = workflow.Inline(slices.Clone(m.done.Memo))
	}
	if err := r.record(about, p); err != nil {
		return err
	}
	if b := m.out.breaker; b != nil {
		if _, open := r.Gate.Breakers()[b.Provider]; !open {
			if err := r.record(ref{}, b); err != nil {
				return err
			}
		}
	}
	r.after = append(r.after, func() { m.answer(nil) })
	r.wakeHeld()
	return nil
}

// unavailable is a provider that is worth trying again at a time.
type unavailable struct {
	err   *workflow.Error
	until workflow.Time
}

// Error tells why.
func (u *unavailable) Error() string { return u.err.Error() }

// Unwrap gives the coded error.
func (u *unavailable) Unwrap() error { return u.err }

// parked returns the loss of an attempt that a limit or a provider stopped: the
// visit has no result and goes on after a raise or a resume. Nil for others.
func parked(code workflow.Code, err error) *workflow.Lost {
	switch code {
	case workflow.CodeBudgetExhausted, workflow.CodeQuotaExhausted, workflow.CodeRateLimited, workflow.CodeProviderOverloaded:
	default:
		return nil
	}
	l := &workflow.Lost{Code: code, Message: err.Error()}
	var u *unavailable
	if errors.As(err, &u) {
		l.Until = u.until
	}
	return l
}
