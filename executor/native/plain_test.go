package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// speaker is a provider that says what is in its list.
type speaker struct {
	says []func(ctx context.Context, req provider.Request, emit func(provider.Delta)) (provider.Response, error)
	got  []provider.Request
}

func (s *speaker) Name() string { return "voice" }

func (s *speaker) Stream(ctx context.Context, req provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	s.got = append(s.got, req)
	return s.says[len(s.got)-1](ctx, req, emit)
}

func (s *speaker) Capabilities(string) provider.Capabilities {
	return provider.Capabilities{Effort: true, Efforts: []string{"low", "high"}}
}

type line = func(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error)

// words is an answer of 10 tokens in, 2 out.
func spoken(text string, files ...provider.File) line {
	return func(_ context.Context, _ provider.Request, emit func(provider.Delta)) (provider.Response, error) {
		emit(provider.Delta{Kind: provider.DeltaText, Text: text})
		return provider.Response{
			Parts: []provider.Part{{Kind: provider.PartText, Text: text}}, Stop: provider.StopEnd, Model: "m-real",
			Usage: provider.Usage{Input: number(10), Output: number(2)}, Files: files,
		}, nil
	}
}

func stopped(text string, stop provider.StopReason) line {
	return func(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error) {
		return provider.Response{Parts: []provider.Part{{Kind: provider.PartText, Text: text}}, Stop: stop}, nil
	}
}

func breaks(e *provider.Error) line {
	return func(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error) {
		return provider.Response{}, e
	}
}

// host keeps memos and what it was told.
type host struct {
	memo  map[string]json.RawMessage
	calls []executor.Call
	done  []executor.Done
	shown []executor.Progress
}

func (h *host) Call(ctx context.Context, c executor.Call) (json.RawMessage, error) {
	h.calls = append(h.calls, c)
	if memo, ok := h.memo[c.Key]; ok {
		return memo, nil
	}
	done, err := c.Do(ctx, executor.Grant{MaxOutput: c.MaxOutput / 2, Ordinal: 3})
	h.done = append(h.done, done)
	if err != nil {
		return nil, err
	}
	if h.memo == nil {
		h.memo = map[string]json.RawMessage{}
	}
	h.memo[c.Key] = done.Memo
	return done.Memo, nil
}

func (h *host) Progress(p executor.Progress) { h.shown = append(h.shown, p) }

func TestPlainTurn(t *testing.T) {
	t.Parallel()
	s, h := &speaker{says: []line{spoken("hello")}}, &host{}
	e := native.New(native.Config{Provider: s, Model: "m"})
	in := executor.Turn{Key: "t", Kind: "initial", Node: "work/fix", Instructions: "be kind", Prompt: "hi", Effort: "low"}
	for range 2 { // the second run gets the memo
		r, err := e.Execute(t.Context(), in, h)
		if err != nil {
			t.Fatal(err)
		}
		if r.Text != "hello" || r.Model != "m-real" || r.Rounds != 1 || *r.Usage.Input != 10 || *r.Usage.Output != 2 || r.Usage.CostUSD != nil {
			t.Errorf("reply %+v", r)
		}
	}
	if len(s.got) != 1 {
		t.Fatalf("%d calls were sent", len(s.got))
	}
	req := s.got[0]
	if req.System != "be kind" || len(req.Messages) != 1 || req.Messages[0].Text() != "hi" || req.Model != "m" || req.Effort != "low" ||
		req.MaxOutputTokens != provider.DefaultMaxOutputTokens/2 || req.Metadata[provider.MetaNode] != "work/fix" || req.Metadata[provider.MetaAttempt] != "3" {
		t.Errorf("request %+v", req)
	}
	c := h.calls[0]
	if c.Key != "t/1" || c.Kind != "initial" || c.Provider != "voice" || c.Model != "m" || c.Effort != "low" || c.PromptBytes != 9 ||
		c.ContextMode != "full" || c.MaxOutput != provider.DefaultMaxOutputTokens || len(c.Request) != 64 || c.Request != h.calls[1].Request {
		t.Errorf("call %+v", c)
	}
	if len(h.shown) != 1 || h.shown[0].Kind != "text" || h.shown[0].Text != "hello" {
		t.Errorf("shown %+v", h.shown)
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	got := native.New(native.Config{Provider: &speaker{}, Model: "m", Native: true}).Capabilities("m")
	if got.Model != "m" || strings.Join(got.Efforts, " ") != "low high" || !got.Native || got.Sessions || got.Tools || got.Uncertain {
		t.Errorf("got %+v", got)
	}
}

func TestPlainFailures(t *testing.T) {
	t.Parallel()
	of := func(c provider.Code) line { return breaks(&provider.Error{Code: c, Provider: "voice", RetryAfter: 7}) }
	for name, tc := range map[string]struct {
		line line
		want workflow.Code
	}{
		"rate":      {of(provider.CodeRateLimited), workflow.CodeRateLimited},
		"quota":     {of(provider.CodeQuotaExhausted), workflow.CodeQuotaExhausted},
		"overload":  {of(provider.CodeOverloaded), workflow.CodeProviderOverloaded},
		"context":   {of(provider.CodeContextLength), workflow.CodeContextLength},
		"auth":      {of(provider.CodeAuth), workflow.CodeProviderAuth},
		"request":   {of(provider.CodeInvalidRequest), workflow.CodeProviderRefused},
		"model":     {of(provider.CodeModelUnknown), workflow.CodeModelUnknown},
		"refused":   {of(provider.CodeRefused), workflow.CodeProviderRefused},
		"transport": {of(provider.CodeTransport), workflow.CodeProviderRequest},
		"stream":    {of(provider.CodeStreamBroken), workflow.CodeProviderRequest},
		"server":    {of(provider.CodeServerError), workflow.CodeProviderRequest},
		"timeout":   {of(provider.CodeTimeout), workflow.CodeTimeout},
		"empty":     {spoken(" \n"), workflow.CodeIncompleteResponse},
		"cut":       {stopped("half", provider.StopMaxTokens), workflow.CodeIncompleteResponse},
		"declined":  {stopped("no", provider.StopRefusal), workflow.CodeProviderRefused},
	} {
		h := &host{}
		_, err := native.New(native.Config{Provider: &speaker{says: []line{tc.line}}}).Execute(t.Context(), executor.Turn{Key: "t", Node: "n", Prompt: "p"}, h)
		if workflow.CodeOf(err) != tc.want || !strings.HasPrefix(err.Error(), "n: ") {
			t.Errorf("%s: %v (%s), want %s", name, err, workflow.CodeOf(err), tc.want)
		}
		if len(h.memo) != 0 {
			t.Errorf("%s: a failed call left a memo", name)
		}
	}
}

func TestFailureKeepsTheProvidersError(t *testing.T) {
	t.Parallel()
	want := &provider.Error{Code: provider.CodeRateLimited, RetryAfter: 7, Usage: provider.Usage{Input: number(5)}}
	h := &host{}
	_, err := native.New(native.Config{Provider: &speaker{says: []line{breaks(want)}}}).Execute(t.Context(), executor.Turn{Key: "t"}, h)
	if got := provider.AsError(err); got != want {
		t.Errorf("chain of %v holds %+v", err, got)
	}
	if u := h.done[0].Usage; u.Input == nil || *u.Input != 5 || u.Output != nil {
		t.Errorf("usage of the failed call: %+v", u)
	}
}

func TestPlainStructured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		line line
		want string
	}{
		"plain":  {spoken(`{"n":1}`), `{"n":1}`},
		"fenced": {spoken("Here:\n```json\n{\n  \"n\": 1\n}\n```"), `{"n":1}`},
		"inside": {spoken(`I line {"x":2}, or rather {"n": 3}.`), `{"n":3}`},
		"cut":    {stopped(`{"n":4} and then`, provider.StopMaxTokens), `{"n":4}`},
	} {
		s := &speaker{says: []line{tc.line}}
		r, err := native.New(native.Config{Provider: s}).Execute(t.Context(), executor.Turn{Key: "t", Prompt: "p", Schema: json.RawMessage(shape)}, &host{})
		if err != nil || string(r.Structured) != tc.want || r.Rounds != 1 {
			t.Errorf("%s: %s, %+v, %v", name, r.Structured, r, err)
		}
		if req := s.got[0]; string(req.Schema) != shape || !strings.Contains(req.Messages[0].Text(), shape) || !strings.HasPrefix(req.Messages[0].Text(), "p\n") {
			t.Errorf("%s: request %+v", name, req)
		}
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	s, h := &speaker{says: []line{spoken("none"), spoken(`{"n":"x"}`), spoken(`{"n":5}`)}}, &host{}
	e := native.New(native.Config{Provider: s})
	in := executor.Turn{Key: "t", Kind: "initial", Prompt: "p", Schema: json.RawMessage(shape), Repairs: 2}
	for range 2 {
		r, err := e.Execute(t.Context(), in, h)
		if err != nil || string(r.Structured) != `{"n":5}` || r.Rounds != 3 || *r.Usage.Input != 30 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if len(s.got) != 3 || h.calls[0].Key != "t/1" || h.calls[1].Key != "t/2" || h.calls[1].Kind != "repair" || h.calls[2].Key != "t/3" || h.calls[3].Key != "t/1" {
		t.Errorf("%d calls were sent: %+v", len(s.got), h.calls)
	}
	last := s.got[2].Messages
	if len(last) != 5 || last[1].Role != provider.RoleAssistant || last[1].Text() != "none" || !strings.Contains(last[2].Text(), "no JSON value") ||
		!strings.Contains(last[4].Text(), "/n: want integer, have string") {
		t.Errorf("conversation %+v", last)
	}
}

func TestNeverFits(t *testing.T) {
	t.Parallel()
	s, h := &speaker{says: []line{spoken(`{"n":"x"}`), spoken(`{"n":"last"}`), spoken(`{"n":7}`)}}, &host{}
	e := native.New(native.Config{Provider: s})
	in := executor.Turn{Key: "t", Node: "n", Prompt: "p", Schema: json.RawMessage(shape), Repairs: 1}
	_, err := e.Execute(t.Context(), in, h)
	var misfit *executor.Misfit
	if workflow.CodeOf(err) != workflow.CodeStructuredOutput || !errors.As(err, &misfit) || misfit.Text != `{"n":"last"}` || len(misfit.Problems) != 1 {
		t.Fatalf("%v, %+v", err, misfit)
	}
	if u := h.done[1].Usage; u.Input == nil || *u.Input != 10 {
		t.Errorf("the last call was paid: %+v", u)
	}
	// A retry takes the memo of the first answer and asks once more.
	if r, err := e.Execute(t.Context(), in, h); err != nil || string(r.Structured) != `{"n":7}` || len(s.got) != 3 {
		t.Errorf("retry: %+v, %v, %d calls", r, err, len(s.got))
	}
}

func TestMaxTurnsBoundsRepairs(t *testing.T) {
	t.Parallel()
	s := &speaker{says: []line{spoken("no")}}
	_, err := native.New(native.Config{Provider: s}).Execute(t.Context(),
		executor.Turn{Key: "t", Schema: json.RawMessage(shape), Repairs: 3, MaxTurns: 1}, &host{})
	if workflow.CodeOf(err) != workflow.CodeStructuredOutput || len(s.got) != 1 {
		t.Errorf("%v after %d calls", err, len(s.got))
	}
}

func TestRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		turn executor.Turn
		want workflow.Code
	}{
		"schema":  {executor.Turn{Schema: json.RawMessage(`{"typ":"object"}`)}, workflow.CodeInvalidPieceParams},
		"native":  {executor.Turn{Native: &executor.Native{ID: "opsx:ff"}}, workflow.CodeNativeCommand},
		"session": {executor.Turn{Session: "s1"}, workflow.CodeSessionNotFound},
	} {
		h := &host{}
		_, err := native.New(native.Config{Provider: &speaker{}}).Execute(t.Context(), tc.turn, h)
		if workflow.CodeOf(err) != tc.want || len(h.calls) > 0 {
			t.Errorf("%s: %v after %d calls", name, err, len(h.calls))
		}
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	render := func(id, args string) (string, bool) { return "rendered " + id + " with " + args, id == "known" }
	for _, tc := range []struct{ id, args, want string }{
		{"known", "a b", "rendered known with a b"},
		{"opsx:ff", "change", "/opsx:ff change"},
		{"opsx:ff", "", "/opsx:ff"},
	} {
		s := &speaker{says: []line{spoken("ok")}}
		e := native.New(native.Config{Provider: s, Command: render, Native: true})
		if _, err := e.Execute(t.Context(), executor.Turn{Key: "t", Native: &executor.Native{ID: tc.id, Args: tc.args}}, &host{}); err != nil {
			t.Fatal(err)
		}
		if got := s.got[0]; got.Messages[0].Text() != tc.want || got.Metadata[provider.MetaCommand] != tc.id {
			t.Errorf("%s: %q, %v", tc.id, got.Messages[0].Text(), got.Metadata)
		}
	}
}
