package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/scripted"
)

var (
	_ provider.Provider = (*scripted.Provider)(nil)
	_ provider.Capable  = (*scripted.Provider)(nil)
	_ provider.Priced   = (*scripted.Provider)(nil)
)

func load(t *testing.T, yaml string) *scripted.Provider {
	t.Helper()
	s, err := scripted.Load("replies.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New("fixture", s)
}

func ask(prompt string) provider.Request {
	return provider.Request{Model: "m", Messages: []provider.Message{provider.UserText(prompt)}}
}

func answer(t *testing.T, p provider.Provider, req provider.Request) provider.Response {
	t.Helper()
	resp, err := p.Stream(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestConditions(t *testing.T) {
	t.Parallel()
	p := load(t, `
version: 1
replies:
  - {match: only twice, times: 2, text: counted}
  - {match: only twice, text: passed over}
  - {attempt: 2, text: second try}
  - {match: /^fix .* bug$/, turn: 2, text: second turn}
  - {match: /^fix .* bug$/, text: first turn}
  - {model: big, text: by model}
  - {node: review, text: by node}
  - {command: "opsx:apply", text: by command}
  - {system: /(?i)reviewer/, text: by system}
  - {match: a/b, text: a slash}
  - {match: anything, text: any}
`)
	withModel := ask("x")
	withModel.Model = "big"
	withSystem := ask("x")
	withSystem.System = "You are a REVIEWER."
	meta := func(k, v string) provider.Request {
		req := ask("x")
		req.Metadata = map[string]string{k: v}
		return req
	}
	later := ask("fix the bug")
	later.Messages = append(later.Messages,
		provider.Message{Role: provider.RoleAssistant, Parts: []provider.Part{{Kind: provider.PartToolUse, ID: "1", Name: "read"}}},
		provider.Message{Role: provider.RoleTool, Parts: []provider.Part{{Kind: provider.PartToolResult, ID: "1", Text: "anything"}}})
	for _, tt := range []struct {
		req  provider.Request
		want string
	}{
		{ask("only twice"), "counted"},
		{ask("only twice"), "counted"},
		{ask("only twice"), "passed over"},
		{meta(provider.MetaAttempt, "2"), "second try"},
		{ask("fix the bug"), "first turn"},
		{later, "second turn"},
		{withModel, "by model"},
		{meta(provider.MetaNode, "review"), "by node"},
		{meta(provider.MetaCommand, "opsx:apply"), "by command"},
		{withSystem, "by system"},
		{ask("see a/b/c"), "a slash"},
		{ask("say anything at all"), "any"},
	} {
		if got := answer(t, p, tt.req).Text(); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.req, got, tt.want)
		}
	}
	_, err := p.Stream(context.Background(), ask("Nobody expects this. "+strings.Repeat("long ", 100)), nil)
	e := provider.AsError(err)
	if e == nil || e.Code != provider.CodeInvalidRequest || e.Retryable() || e.Ambiguous() {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"replies.yaml", "Nobody expects", `match "only twice", times 2`, `model "big"`, "turn 2", "attempt 2"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q is not in %q", want, e.Message)
		}
	}
	if len(e.Message) > 1500 {
		t.Errorf("%d bytes of message", len(e.Message))
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	p := load(t, `
version: 1
replies:
  - match: structured
    json: {b: 1, a: [true, null], n: 12345678901234567890}
  - match: tools
    text: looking
    tool_calls: [{name: read, args: {path: a.go, n: 9007199254740993}}, {name: bad, args: "{not json"}, {name: list}]
    usage: {in: 100, cached: 40, cache_write: 10, out: 20, reasoning: 5, cost: 0.25}
  - match: files
    files: [{path: a/b.txt, content: "x\n"}, {path: old, delete: true}]
    usage: auto
  - match: refuse
    text: I will not
    stop: refusal
    reasoning: hmm
  - match: big
    pad_with: {char: ab, count: 1000}
    chunk: 7
  - match: empty
    text: ""
  - match: plain
`)
	if got := answer(t, p, ask("structured")); got.Text() != `{"b":1,"a":[true,null],"n":12345678901234567890}` || got.Usage.Known() {
		t.Errorf("got %+v", got)
	}
	got := answer(t, p, ask("tools"))
	want := provider.Response{
		Parts: []provider.Part{
			{Kind: provider.PartText, Text: "looking"},
			{Kind: provider.PartToolUse, ID: "call-1-1", Name: "read", Input: json.RawMessage(`{"path":"a.go","n":9007199254740993}`)},
			{Kind: provider.PartToolUse, ID: "call-1-2", Name: "bad", RawInput: "{not json", Invalid: true},
			{Kind: provider.PartToolUse, ID: "call-1-3", Name: "list", Input: json.RawMessage(`{}`)},
		},
		Stop: provider.StopToolUse, StopDetail: "tool_use", Model: "m", ID: "scripted-2-1",
		Usage: provider.Usage{
			Input: new(int64(100)), Cached: new(int64(40)), CacheWrite: new(int64(10)), Output: new(int64(20)), Reasoning: new(int64(5)), CostUSD: new(0.25),
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	got = answer(t, p, ask("files"))
	if !reflect.DeepEqual(got.Files, []provider.File{{Path: "a/b.txt", Content: "x\n"}, {Path: "old", Delete: true}}) || got.Text() != "ok" {
		t.Errorf("got %+v", got)
	}
	if *got.Usage.Input != 2 || *got.Usage.Output != 1 || *got.Usage.Cached != 0 { // 5 and 2 characters
		t.Errorf("usage by length: %d in, %d out", *got.Usage.Input, *got.Usage.Output)
	}
	if got := answer(t, p, ask("refuse")); got.Stop != provider.StopRefusal || got.Parts[0].Kind != provider.PartReasoning || got.Text() != "I will not" {
		t.Errorf("got %+v", got)
	}
	if got := answer(t, p, ask("empty")); got.Text() != "" || got.Stop != provider.StopEnd {
		t.Errorf("got %+v", got)
	}
	if got := answer(t, p, ask("plain")); got.Text() != "ok" {
		t.Errorf("got %+v", got)
	}
	var deltas []string
	resp, err := p.Stream(context.Background(), ask("big"), func(d provider.Delta) { deltas = append(deltas, d.Text) })
	if err != nil || len(resp.Text()) != 2000 || len(deltas) != 2000/7+1 || strings.Join(deltas, "") != resp.Text() {
		t.Errorf("%d bytes in %d deltas, %v", len(resp.Text()), len(deltas), err)
	}
}

func TestDefaultScript(t *testing.T) {
	t.Parallel()
	p := scripted.New("", nil)
	got := answer(t, p, ask("whatever"))
	if p.Name() != scripted.Name || got.Text() != "ok" || !got.Usage.Known() {
		t.Errorf("got %+v", got)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, reply string
		want        provider.Error
		ambiguous   bool
	}{
		{"code", `error: {code: overloaded, message: busy}`, provider.Error{Code: provider.CodeOverloaded, Message: "busy"}, false},
		{"status", `error: {status: 429, retry_after: 2s}`, provider.Error{Code: provider.CodeRateLimited, Status: 429, RetryAfter: 2 * time.Second, Sent: true, Message: "the script says so"}, false},
		{"gateway", `error: {status: 504}`, provider.Error{Code: provider.CodeServerError, Status: 504, Sent: true, Message: "the script says so"}, true},
		{"transport", `error: {code: transport, message: refused}`, provider.Error{Code: provider.CodeTransport, Message: "refused"}, false},
		{"stream", `text: half, error: {code: transport, message: cut}, usage: {in: 5}`, provider.Error{
			Code: provider.CodeStreamBroken, Message: "cut", Partial: "half", Sent: true, Usage: provider.Usage{Input: new(int64(5))},
		}, true},
		{"timeout", `error: {code: timeout, message: slow}`, provider.Error{Code: provider.CodeTimeout, Message: "slow", Sent: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := load(t, "version: 1\nreplies: [{"+tt.reply+"}]")
			resp, err := p.Stream(context.Background(), ask("hi"), nil)
			e := provider.AsError(err)
			if e == nil || len(resp.Parts) != 0 {
				t.Fatalf("got %+v, %v", resp, err)
			}
			tt.want.Provider = "fixture"
			if !reflect.DeepEqual(*e, tt.want) || e.Ambiguous() != tt.ambiguous {
				t.Errorf("got %+v, ambiguous %v", *e, e.Ambiguous())
			}
		})
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := load(t, "version: 1\nreplies: [{match: slow, delay: 3s}, {match: hang, hang: true}, {error: {code: quota_exhausted, reset_after: 1h}}]")
		from := time.Now()
		answer(t, p, ask("slow"))
		if took := time.Since(from); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		for _, prompt := range []string{"slow", "hang"} {
			from := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err := p.Stream(ctx, ask(prompt), nil)
			cancel()
			e := provider.AsError(err)
			if e == nil || e.Code != provider.CodeTimeout || !e.Ambiguous() || !errors.Is(err, context.DeadlineExceeded) || time.Since(from) != time.Second {
				t.Errorf("%s: got %v after %s", prompt, err, time.Since(from))
			}
		}
		_, err := p.Stream(context.Background(), ask("quota"), nil)
		if e := provider.AsError(err); e == nil || !e.ResetAt.Equal(time.Now().Add(time.Hour)) || e.Retryable() {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = p.Stream(ctx, ask("slow"), nil)
		if e := provider.AsError(err); e == nil || e.Code != provider.CodeCanceled || e.Ambiguous() {
			t.Errorf("got %v", err)
		}
	})
}

func TestCanceledWhileItSpeaks(t *testing.T) {
	t.Parallel()
	p := load(t, "version: 1\nreplies: [{text: one two three, chunk: 4}]")
	ctx, cancel := context.WithCancel(context.Background())
	_, err := p.Stream(ctx, ask("hi"), func(provider.Delta) { cancel() })
	if e := provider.AsError(err); e == nil || e.Code != provider.CodeCanceled || e.Partial != "one " || !e.Ambiguous() {
		t.Errorf("got %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"key", "version: 1\nreplies:\n  - mach: x\n", `replies.yaml:3:5: there is no "mach" here (did you mean match?)`},
		{"far key", "version: 1\nextra: 1\n", `replies.yaml:2:1: there is no "extra" here (the members are version, replies)`},
		{"nested key", "version: 1\nreplies: [{usage: {input: 1}}]\n", `replies.yaml:2:20: there is no "input" here (the members are in, cached, cache_write, out, reasoning, cost)`},
		{"version", "version: 2\nreplies: []\n", "replies.yaml:1:10: the version of the script is 2 (write version: 1)"},
		{"type", "version: 1\nreplies: [{times: many}]\n", "replies.yaml:2:19: "},
		{"expression", "version: 1\nreplies: [{match: '/a(/'}]\n", "replies.yaml:2:19: error parsing regexp"},
		{"duration", "version: 1\nreplies: [{delay: 3}]\n", "replies.yaml:2:19: "},
		{"bad duration", "version: 1\nreplies: [{delay: soon}]\n", `replies.yaml:2:19: "soon" is no duration`},
		{"both", "version: 1\nreplies: [{text: a, json: {}}]\n", "replies.yaml:2:27: a reply has text or json, not both"},
		{"code", "version: 1\nreplies: [{error: {code: overloded}}]\n", `replies.yaml:2:26: there is no error code "overloded" (did you mean overloaded?)`},
		{"no code", "version: 1\nreplies: [{error: {message: m}}]\n", "replies.yaml:2:19: an error has neither code nor status (add code or status)"},
		{"status", "version: 1\nreplies: [{error: {status: 200}}]\n", "replies.yaml:2:28: status 200 is no failure"},
		{"hang", "version: 1\nreplies: [{hang: true, error: {status: 500}}]\n", "replies.yaml:2:18: a reply that hangs does not fail"},
		{"usage", "version: 1\nreplies: [{usage: some}]\n", "replies.yaml:2:19: usage is neither"},
		{"negative", "version: 1\nreplies: [{usage: {in: -1}}]\n", "replies.yaml:2:24: a count is negative"},
		{"turn", "version: 1\nreplies: [{turn: -1}]\n", "replies.yaml:2:18: turn is -1"},
		{"stop", "version: 1\nreplies: [{stop: why}]\n", "replies.yaml:2:18: there is no stop reason"},
		{"tool", "version: 1\nreplies: [{tool_calls: [{args: {}}]}]\n", "replies.yaml:2:25: a tool call has no name"},
		{"file", "version: 1\nreplies: [{files: [{content: a}]}]\n", "replies.yaml:2:20: a file has no path"},
		{"padding", "version: 1\nreplies: [{pad_with: {char: a, count: 99999999999}}]\n", "replies.yaml:2:22: padding needs"},
		{"syntax", "version: [", "replies.yaml:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Load("replies.yaml", []byte(tt.text))
			var found source.Errors
			if !errors.As(err, &found) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLoadFindsAll(t *testing.T) {
	t.Parallel()
	_, err := scripted.Load("s.json", []byte(`{"version":1,"replies":[{"txt":"a"},{"delai":"1s"}]}`))
	var found source.Errors
	if !errors.As(err, &found) || len(found) != 2 {
		t.Errorf("got %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("version: 1\nreplies: [{match: /a/, text: b, pad_with: {char: x, count: 3}}]")
	f.Add(`{"version":1,"replies":[{"json":{"a":1},"usage":"auto","tool_calls":[{"name":"x","args":"{"}]}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		script, err := scripted.Load("s.yaml", []byte(s))
		if err != nil {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := scripted.New("", script).Stream(ctx, ask("a"), nil); err == nil {
			t.Error("a canceled turn succeeded")
		}
	})
}

func TestMaxCost(t *testing.T) {
	t.Parallel()
	p := load(t, `
version: 1
replies:
  - {match: first, times: 1, usage: {cost: 0.5}}
  - {match: first, usage: {cost: 0.2}}
  - {match: first, usage: {cost: 9}}
  - {match: again, attempt: 2, usage: {cost: 0.7}}
  - {match: again, usage: {cost: 0.1}}
  - {match: later, turn: 2, usage: {cost: 3}}
  - {match: later, usage: {cost: 0.3}}
  - {match: half, times: 1, usage: {cost: 0.1}}
  - {match: half, text: who knows}
  - {match: free, usage: {cost: 0}}
  - {match: auto, usage: auto}
`)
	for _, step := range []struct {
		prompt string
		want   float64
		known  bool
	}{
		{"first", 0.5, true}, {"first", 0.2, true}, {"again", 0.7, true}, {"later", 0.3, true},
		{"half", 0, false}, {"free", 0, true}, {"auto", 0, false}, {"nothing fits", 0, true},
	} {
		got, known := p.MaxCost(ask(step.prompt), 100)
		if got != (provider.MaxCost{Sent: step.want}) || known != step.known {
			t.Errorf("%s: %+v, %v", step.prompt, got, known)
		}
		if step.prompt == "first" {
			if cost := answer(t, p, ask("first")).Usage.CostUSD; *cost > got.Sent {
				t.Errorf("it cost $%g, at most $%g", *cost, got.Sent)
			}
		}
	}
}
