package providertest

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/tenonrun/tenon/provider"
)

// Key is the key that the maker of a suite's provider configures.
const Key = "sk-test-0123456789-secret"

// Model is the model that the suite asks for.
const Model = "model-1"

// Suite is the contract of a provider over HTTP. Make returns a provider of
// the protocol for a base URL, with [Key]. It uses the default transport.
func Suite(t *testing.T, protocol Protocol, make func(baseURL string) provider.Provider) {
	s := suite{protocol, make}
	t.Run("text", s.text)
	t.Run("request", s.request)
	t.Run("usage", s.usage)
	t.Run("tools", s.tools)
	t.Run("arguments", s.arguments)
	t.Run("reasoning", s.reasoning)
	t.Run("stop", s.stop)
	t.Run("blank", s.blank)
	t.Run("large", s.large)
	t.Run("concurrent", s.concurrent)
	t.Run("status", s.status)
	t.Run("stream", s.stream)
	t.Run("told", s.told)
	t.Run("unreachable", s.unreachable)
	t.Run("deadline", s.deadline)
	t.Run("cancel", s.cancel)
	t.Run("key", s.key)
	t.Run("leaks", s.leaks)
}

type suite struct {
	protocol Protocol
	make     func(string) provider.Provider
}

// start returns a server that gives the replies, and a provider for it.
func (s suite) start(t *testing.T, replies ...Reply) (*Server, provider.Provider) {
	t.Helper()
	srv := NewServer(t, nil)
	srv.Push(replies...)
	return srv, s.make(srv.Base(s.protocol))
}

func ask(prompt string) provider.Request {
	return provider.Request{Model: Model, Messages: []provider.Message{provider.UserText(prompt)}}
}

func turn(t *testing.T, p provider.Provider, req provider.Request) provider.Response {
	t.Helper()
	resp, err := p.Stream(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (s suite) text(t *testing.T) {
	srv, p := s.start(t, Reply{Text: "héllo, wörld: 你好", Model: "model-1-real"})
	var got strings.Builder
	n := 0
	resp, err := p.Stream(context.Background(), ask("hi"), func(d provider.Delta) {
		if d.Kind == provider.DeltaText {
			n++
			got.WriteString(d.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Text() != "héllo, wörld: 你好" || got.String() != resp.Text() || n < 2 {
		t.Errorf("text %q, deltas %q in %d pieces", resp.Text(), got.String(), n)
	}
	if len(resp.Parts) != 1 || resp.Stop != provider.StopEnd {
		t.Errorf("parts %v, stop %q", resp.Parts, resp.Stop)
	}
	if resp.Model != "model-1-real" || resp.ID == "" {
		t.Errorf("model %q, id %q", resp.Model, resp.ID)
	}
	if r := srv.Requests(); len(r) != 1 || r[0].Prompt != "hi" || !r[0].Stream || !r[0].Key || srv.Calls("hi") != 1 {
		t.Errorf("requests %+v", r)
	}
}

func (s suite) request(t *testing.T) {
	srv, p := s.start(t)
	effort := "low"
	req := ask("second")
	req.Messages = []provider.Message{
		provider.UserText("first"),
		{Role: provider.RoleAssistant, Parts: []provider.Part{{Kind: provider.PartText, Text: "yes"}}},
		provider.UserText("second"),
	}
	req.System, req.Effort, req.MaxOutputTokens, req.Cache = "be brief", effort, 321, true
	req.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	req.Tools = []provider.ToolSpec{
		{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)},
		{Name: "stop_it"},
	}
	req.Metadata = map[string]string{provider.MetaNode: "not for the vendor"}
	turn(t, p, req)
	r := srv.Requests()[0]
	want := Request{
		Protocol: s.protocol, Model: Model, Prompt: "second", System: "be brief", Turn: 2, Stream: true,
		Tools: []string{"look", "stop_it"}, Schema: true, MaxTokens: 321, Effort: effort, Key: true,
	}
	want.Path, want.Header, want.Body, want.Value = r.Path, r.Header, r.Body, r.Value
	if !reflect.DeepEqual(r, want) {
		t.Errorf("sent %+v", r)
	}
	if strings.Contains(string(r.Body), "not for the vendor") {
		t.Error("metadata was sent")
	}
	turn(t, p, ask("plain"))
	if r := srv.Requests()[1]; r.MaxTokens != provider.DefaultMaxOutputTokens || r.Schema || r.Effort != "" || r.Tools != nil {
		t.Errorf("sent %+v", r)
	}
}

func (s suite) usage(t *testing.T) {
	all := &Tokens{Input: 1000, Cached: 400, CacheWrite: 100, Output: 50, Reasoning: 20}
	want := provider.Usage{Input: new(int64(1000)), Cached: new(int64(400)), Output: new(int64(50)), Reasoning: new(int64(20))}
	if s.protocol == Anthropic { // the only one that reports what it wrote
		want.CacheWrite = new(int64(100))
	}
	_, p := s.start(t, Reply{Tokens: all}, Reply{NoUsage: true})
	if got := turn(t, p, ask("hi")).Usage; !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, want %s", encode(got), encode(want))
	}
	if got := turn(t, p, ask("hi")).Usage; got.Known() {
		t.Errorf("unknown usage became %s", encode(got))
	}
}

func (s suite) tools(t *testing.T) {
	args := `{"path":"a/b.go","n":[1,2],"text":"ünï \"quoted\""}`
	srv, p := s.start(t,
		Reply{Text: "looking", Calls: []Call{{Name: "read", Args: args}, {Name: "list", Args: "{}"}}},
		Reply{Text: "done"})
	req := ask("look")
	req.Tools = []provider.ToolSpec{{Name: "read"}, {Name: "list"}}
	var began []string
	first, err := p.Stream(context.Background(), req, func(d provider.Delta) {
		if d.Kind == provider.DeltaToolUse {
			began = append(began, d.Name+" "+d.ID)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	uses := first.ToolUses()
	if first.Stop != provider.StopToolUse || first.Text() != "looking" || len(uses) != 2 {
		t.Fatalf("got %s", encode(first))
	}
	if uses[0].Name != "read" || !sameJSON(uses[0].Input, args) || uses[1].Name != "list" || !sameJSON(uses[1].Input, "{}") {
		t.Errorf("got %s", encode(uses))
	}
	if uses[0].ID == "" || uses[0].ID == uses[1].ID {
		t.Errorf("ids %q and %q", uses[0].ID, uses[1].ID)
	}
	if want := []string{"read " + uses[0].ID, "list " + uses[1].ID}; !reflect.DeepEqual(began, want) {
		t.Errorf("deltas %q, want %q", began, want)
	}
	journaled := roundTrip(t, first)
	req.Messages = append(req.Messages, journaled.Message(), provider.Message{
		Role: provider.RoleTool, Parts: []provider.Part{
			{Kind: provider.PartToolResult, ID: uses[0].ID, Name: "read", Text: "content"},
			{Kind: provider.PartToolResult, ID: uses[1].ID, Name: "list", Text: "no such folder", IsError: true},
		},
	})
	if got := turn(t, p, req); got.Text() != "done" {
		t.Errorf("got %s", encode(got))
	}
	r := srv.Requests()[1]
	if r.Turn != 2 || len(r.Results) != 2 || r.Results[0] != "content" || !strings.HasSuffix(r.Results[1], "no such folder") {
		t.Errorf("turn %d, results %q", r.Turn, r.Results)
	}
	if !strings.Contains(string(r.Body), "a/b.go") || strings.Count(string(r.Body), uses[0].ID) != 2 {
		t.Errorf("the call was not sent back: %s", r.Body)
	}
}

func roundTrip(t *testing.T, resp provider.Response) provider.Response {
	t.Helper()
	b, err := json.Marshal(resp)
	if err != nil {
		t.Fatal(err)
	}
	var back provider.Response
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func sameJSON(a []byte, b string) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func (s suite) arguments(t *testing.T) {
	for _, raw := range []string{`{"path": "a`, `[1]`, `"text"`, `not json`} {
		if s.protocol == Gemini && !json.Valid([]byte(raw)) {
			continue // its arguments are no text
		}
		srv, p := s.start(t, Reply{Calls: []Call{{Name: "read", Args: raw}}})
		req := ask("look")
		req.Tools = []provider.ToolSpec{{Name: "read"}}
		first := roundTrip(t, turn(t, p, req))
		use := first.ToolUses()[0]
		if !use.Invalid || use.RawInput != raw || use.Input != nil {
			t.Errorf("%s: got %s", raw, encode(use))
		}
		req.Messages = append(req.Messages, first.Message(), provider.Message{
			Role:  provider.RoleTool,
			Parts: []provider.Part{{Kind: provider.PartToolResult, ID: use.ID, Name: "read", Text: "not valid", IsError: true}},
		})
		turn(t, p, req)
		if body := string(srv.Requests()[1].Body); !strings.Contains(body, "invalid_json") {
			t.Errorf("%s: sent back %s", raw, body)
		}
	}
	_, p := s.start(t, Reply{Calls: []Call{{Name: "read", Args: ""}}})
	if use := turn(t, p, ask("look")).ToolUses()[0]; use.Invalid || string(use.Input) != "{}" {
		t.Errorf("no arguments: got %s", encode(use))
	}
}

func (s suite) reasoning(t *testing.T) {
	const thought, sign = "let me see", "c2lnbmF0dXJl"
	srv, p := s.start(t, Reply{Reasoning: thought, Signature: sign, Text: "so", Calls: []Call{{Name: "read", Args: `{"a":1}`}}})
	req := ask("think")
	req.Tools = []provider.ToolSpec{{Name: "read"}}
	var reasoned, said string
	first, err := p.Stream(context.Background(), req, func(d provider.Delta) {
		switch d.Kind {
		case provider.DeltaReasoning:
			reasoned += d.Text
		case provider.DeltaText:
			said += d.Text
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if reasoned != thought || said != "so" || first.Text() != "so" {
		t.Errorf("reasoning %q, text %q, response %s", reasoned, said, encode(first))
	}
	use := first.ToolUses()[0]
	req.Messages = append(req.Messages, roundTrip(t, first).Message(), provider.Message{
		Role: provider.RoleTool, Parts: []provider.Part{{Kind: provider.PartToolResult, ID: use.ID, Name: "read", Text: "x"}},
	})
	turn(t, p, req)
	want := sign
	if s.protocol == Chat {
		want = thought
	}
	if body := string(srv.Requests()[1].Body); !strings.Contains(body, want) {
		t.Errorf("the vendor's state was not sent back: %s", body)
	}
	// A conversation begun elsewhere goes on without its foreign state.
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			req.Messages[i].Parts[j].Wire = "another"
		}
	}
	turn(t, p, req)
	if body := string(srv.Requests()[2].Body); strings.Contains(body, sign) || strings.Contains(body, thought) {
		t.Errorf("foreign state was sent: %s", body)
	}
}

func (s suite) stop(t *testing.T) {
	words := map[Protocol]map[string]provider.StopReason{
		Anthropic: {"max_tokens": provider.StopMaxTokens, "refusal": provider.StopRefusal, "stop_sequence": provider.StopEnd, "new_word": provider.StopOther},
		Chat:      {"length": provider.StopMaxTokens, "content_filter": provider.StopRefusal, "new_word": provider.StopOther},
		Responses: {"max_output_tokens": provider.StopMaxTokens, "content_filter": provider.StopRefusal, "new_word": provider.StopOther},
		Gemini:    {"MAX_TOKENS": provider.StopMaxTokens, "SAFETY": provider.StopRefusal, "NEW_WORD": provider.StopOther},
	}
	for word, want := range words[s.protocol] {
		_, p := s.start(t, Reply{Text: "half", Stop: word})
		got := turn(t, p, ask("hi"))
		if got.Stop != want || !strings.Contains(got.StopDetail, word) || got.Text() != "half" {
			t.Errorf("%s: got %s", word, encode(got))
		}
	}
}

func (s suite) blank(t *testing.T) {
	_, p := s.start(t, Reply{Blank: true})
	if got := turn(t, p, ask("hi")); got.Text() != "" || len(got.Parts) != 0 || got.Stop != provider.StopEnd {
		t.Errorf("got %s", encode(got))
	}
}

func (s suite) large(t *testing.T) {
	size := 15 << 20
	if s.protocol == Responses {
		size /= 4 // it repeats the text in five events
	}
	big := strings.Repeat("a\x00é\u2028", size/7)
	_, p := s.start(t, Reply{Text: big, Chunk: -1})
	if got := turn(t, p, ask("hi")).Text(); got != big {
		t.Errorf("got %d bytes of %d", len(got), len(big))
	}
}

func (s suite) concurrent(t *testing.T) {
	srv := NewServer(t, func(r Request) Reply { return Reply{Text: "answer to " + r.Prompt} })
	p := s.make(srv.Base(s.protocol))
	var wg sync.WaitGroup
	for _, prompt := range strings.Fields("a b c d e f g h") {
		wg.Go(func() {
			resp, err := p.Stream(context.Background(), ask(prompt), nil)
			if err != nil || resp.Text() != "answer to "+prompt {
				t.Errorf("%s: got %q, %v", prompt, resp.Text(), err)
			}
		})
	}
	wg.Wait()
	if srv.Total() != 8 {
		t.Errorf("%d requests", srv.Total())
	}
}
