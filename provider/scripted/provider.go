package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider"
)

// Name is the name of a provider that was given none.
const Name = "scripted"

const (
	defaultChunk = 40 // characters of a delta
	promptHead   = 200
)

// Provider answers from a script.
type Provider struct {
	name   string
	script *Script

	mu   sync.Mutex
	used []int // answers given, by reply
}

// New makes the provider. An empty name is [Name]; a nil script is [Default].
func New(name string, script *Script) *Provider {
	if name == "" {
		name = Name
	}
	if script == nil {
		script = Default()
	}
	return &Provider{name: name, script: script, used: make([]int, len(script.replies))}
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.name }

// Capabilities returns that every wish is accepted.
func (p *Provider) Capabilities(string) provider.Capabilities {
	return provider.Capabilities{Effort: true, Schema: true, Tools: true, Stop: true, Reasoning: true}
}

// Stream answers with the first reply that fits.
func (p *Provider) Stream(ctx context.Context, req provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	if err := ctx.Err(); err != nil {
		return provider.Response{}, p.ended(err, "", false)
	}
	c := describe(req)
	r, index, ok := p.choose(c)
	if !ok {
		return provider.Response{}, p.unmatched(c)
	}
	if r.Hang {
		<-ctx.Done()
		return provider.Response{}, p.ended(ctx.Err(), "", true)
	}
	if err := wait(ctx, r.delay); err != nil {
		return provider.Response{}, p.ended(err, "", true)
	}
	resp, err := r.say(ctx, p.name, req, emit)
	if err != nil {
		return provider.Response{}, p.ended(err, resp.Text(), true)
	}
	resp.Usage = r.count(req, resp)
	if r.Error != nil {
		return provider.Response{}, p.failed(r.Error, resp)
	}
	resp.Model, resp.Files = req.Model, r.Files
	if resp.Model == "" {
		resp.Model = Name
	}
	resp.ID = fmt.Sprintf("scripted-%d-%d", index+1, c.turn)
	return resp, nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call is what replies look at in a request.
type call struct {
	texts   map[string]string // by name of the condition
	turn    int
	attempt int
}

func describe(req provider.Request) call {
	c := call{turn: 1, texts: map[string]string{
		"system": req.System, "model": req.Model,
		"node": req.Metadata[provider.MetaNode], "command": req.Metadata[provider.MetaCommand],
	}}
	for _, m := range req.Messages {
		switch m.Role {
		case provider.RoleAssistant:
			c.turn++
		case provider.RoleUser:
			c.texts["match"] = m.Text()
		}
	}
	c.attempt, _ = strconv.Atoi(req.Metadata[provider.MetaAttempt]) // 0, which no reply asks for
	return c
}

func (r *reply) fits(c call) bool { return r.suits(c) && (r.Attempt == 0 || r.Attempt == c.attempt) }

// suits reports whether the reply fits some attempt of the call.
func (r *reply) suits(c call) bool {
	for _, cond := range r.conditions {
		if !cond.holds(c.texts[cond.what]) {
			return false
		}
	}
	return r.Turn == 0 || r.Turn == c.turn
}

// MaxCost returns the greatest cost of the replies that the turn may get, now or
// when it is repeated; it is not known when one of them does not tell.
func (p *Provider) MaxCost(req provider.Request, _ int) (most provider.MaxCost, ok bool) {
	c := describe(req)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.script.replies {
		r := &p.script.replies[i]
		if !r.suits(c) || r.Times > 0 && p.used[i] >= r.Times {
			continue
		}
		if r.usage == nil || r.usage.Cost == nil {
			return provider.MaxCost{}, false
		}
		most.Sent = max(most.Sent, *r.usage.Cost)
		if r.Times == 0 && r.Attempt == 0 {
			break // no later one is asked
		}
	}
	return most, true
}

func (p *Provider) choose(c call) (*reply, int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.script.replies {
		r := &p.script.replies[i]
		if r.fits(c) && (r.Times == 0 || p.used[i] < r.Times) {
			p.used[i]++
			return r, i, true
		}
	}
	return nil, 0, false
}

// workspaceToken stands in the arguments of a call for the directory of the
// agent's workspace.
const workspaceToken = "{{workspace}}"

// say builds the answer and streams it.
func (r *reply) say(ctx context.Context, name string, req provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	a := provider.Assemble(provider.Config{Name: name}, req, emit)
	a.Response.Stop = provider.StopEnd
	chunk := r.Chunk
	if chunk == 0 {
		chunk = defaultChunk
	}
	for _, piece := range pieces(r.Reasoning, chunk) {
		a.Reasoning("", piece)
	}
	for _, piece := range pieces(r.text(req), chunk) {
		if err := ctx.Err(); err != nil {
			return a.Done(), err
		}
		a.Text("", piece)
	}
	for i, tc := range r.ToolCalls {
		key := strconv.Itoa(i)
		a.ToolUse(key, "", tc.Name)
		a.ToolInput(key, strings.ReplaceAll(tc.input(), workspaceToken, req.Metadata[provider.MetaSpace]))
		a.Response.Stop = provider.StopToolUse
	}
	if r.Stop != "" {
		a.Response.Stop = provider.StopReason(r.Stop)
	}
	a.Response.StopDetail = string(a.Response.Stop)
	return a.Done(), nil
}

// text is what the reply says. One that says nothing is "ok", or the smallest
// answer that fits the schema.
func (r *reply) text(req provider.Request) string {
	var s string
	switch {
	case r.Text != nil:
		s = *r.Text
	case r.JSON != nil:
		s = compact(r.JSON)
	case len(r.ToolCalls) == 0 && r.Error == nil && r.PadWith == nil:
		s = "ok"
		if fits := fitting(req); fits != nil {
			s = string(fits)
		}
	}
	if r.PadWith != nil {
		s += strings.Repeat(r.PadWith.Char, r.PadWith.Count)
	}
	return s
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// input is the text of the arguments: a string stands for itself.
func (tc toolCall) input() string {
	var s string
	if json.Unmarshal(tc.Args, &s) == nil {
		return s
	}
	return compact(tc.Args)
}

func pieces(s string, size int) []string {
	var out []string
	start, n := 0, 0
	for i := range s {
		if n == size {
			out, start, n = append(out, s[start:i]), i, 0
		}
		n++
	}
	return append(out, s[start:])
}

// count returns the usage of the reply: as written, by length, or unknown.
func (r *reply) count(req provider.Request, resp provider.Response) provider.Usage {
	u := r.usage
	switch {
	case u == nil:
		return provider.Usage{}
	case u.auto:
		in := length(req.System)
		for _, m := range req.Messages {
			in += partsLength(m.Parts)
		}
		return provider.Usage{
			Input: new((in + 3) / 4), Cached: new(int64(0)), CacheWrite: new(int64(0)),
			Output: new((partsLength(resp.Parts) + 3) / 4), Reasoning: new((length(r.Reasoning) + 3) / 4),
		}
	}
	return provider.Usage{
		Input: u.In, Cached: u.Cached, CacheWrite: u.CacheWrite, Output: u.Out, Reasoning: u.Reasoning, CostUSD: u.Cost,
	}
}

func length(s string) int64 { return int64(utf8.RuneCountInString(s)) }

func partsLength(parts []provider.Part) int64 {
	var n int64
	for _, p := range parts {
		n += length(p.Text) + length(p.Name) + length(string(p.Input)) + length(p.RawInput)
	}
	return n
}

// ended is the error of a turn whose context ended.
func (p *Provider) ended(cause error, partial string, sent bool) *provider.Error {
	e := &provider.Error{
		Code: provider.CodeCanceled, Provider: p.name, Message: "the turn was canceled",
		Partial: partial, Sent: sent, Err: cause,
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		e.Code, e.Message = provider.CodeTimeout, "the turn took longer than it may"
	}
	return e
}

func (p *Provider) failed(f *failure, resp provider.Response) *provider.Error {
	e := &provider.Error{
		Code: f.Code, Provider: p.name, Status: f.Status, Message: f.Message, RetryAfter: f.retryAfter,
		Partial: resp.Text(), Usage: resp.Usage, Sent: true,
	}
	switch {
	case e.Partial != "" && f.Code == provider.CodeTransport:
		e.Code = provider.CodeStreamBroken
	case f.Code == provider.CodeTransport:
		e.Sent = false
	case f.Status == 0:
		e.Sent = e.Partial != "" || f.Code == provider.CodeStreamBroken || f.Code == provider.CodeTimeout
	}
	if e.Message == "" {
		e.Message = "the script says so"
	}
	if f.resetAfter > 0 {
		e.ResetAt = time.Now().Add(f.resetAfter)
	}
	return e
}

// unmatched says what was asked and what the script has.
func (p *Provider) unmatched(c call) *provider.Error {
	var b strings.Builder
	fmt.Fprintf(&b, "no reply of %s fits turn %d of the prompt %q; its replies are", p.script.name, c.turn, text.Head(c.texts["match"], promptHead, "..."))
	for i := range p.script.replies {
		if i == 20 {
			fmt.Fprintf(&b, " and %d more", len(p.script.replies)-i)
			break
		}
		fmt.Fprintf(&b, " [%d: %s]", i+1, p.script.replies[i].label())
	}
	return &provider.Error{Code: provider.CodeInvalidRequest, Provider: p.name, Message: b.String()}
}

func (r *reply) label() string {
	var out []string
	for _, c := range r.conditions {
		out = append(out, fmt.Sprintf("%s %q", c.what, text.Head(c.want, 60, "...")))
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"turn", r.Turn}, {"attempt", r.Attempt}, {"times", r.Times}} {
		if n.n != 0 {
			out = append(out, fmt.Sprintf("%s %d", n.name, n.n))
		}
	}
	if out == nil {
		return "anything"
	}
	return strings.Join(out, ", ")
}
