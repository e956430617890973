package anthropic_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/anthropic"
	"github.com/tenonrun/tenon/provider/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, providertest.Anthropic, func(url string) provider.Provider {
		return anthropic.New(provider.Config{Name: "mine", BaseURL: url, Key: providertest.Key})
	})
}

// start returns a provider whose server answers with the streams.
func start(t *testing.T, key string, streams ...string) (*providertest.Server, *anthropic.Provider) {
	t.Helper()
	srv := providertest.NewServer(t, nil)
	for _, s := range streams {
		srv.Push(providertest.Reply{Raw: s})
	}
	return srv, anthropic.New(provider.Config{BaseURL: srv.Base(providertest.Anthropic), Key: key})
}

const end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-From-Environment: yes")
	srv, p := start(t, "", end)
	if _, err := p.Stream(t.Context(), provider.Request{Model: "m", Messages: []provider.Message{provider.UserText("a")}}, nil); err != nil {
		t.Fatal(err)
	}
	if r := srv.Requests()[0]; r.Key || r.Header.Get("X-From-Environment") != "" {
		t.Errorf("sent %+v", r.Header)
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	stream := `data: {"type":"message_start","message":{"id":"m1","model":"real","usage":{"input_tokens":5}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"c2VjcmV0"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"begun, "}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"done"}}

data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{"n":9007199254740993}}}

data: {"type":"content_block_start","index":3,"content_block":{"type":"new_block","x":1}}

data: {"type":"new_event"}

`
	srv, p := start(t, "k", stream+end, end)
	req := provider.Request{Model: "m", Cache: true, System: "s", Messages: []provider.Message{provider.UserText("a")}}
	resp, err := p.Stream(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	use := resp.ToolUses()
	if resp.Text() != "begun, done" || len(use) != 1 || string(use[0].Input) != `{"n":9007199254740993}` || len(resp.Parts) != 3 {
		t.Errorf("got %+v", resp)
	}
	if u := resp.Usage; *u.Input != 5 || *u.Output != 3 || u.Cached != nil || u.CacheWrite != nil || u.Reasoning != nil {
		t.Errorf("usage %+v", u)
	}
	req.Messages = append(req.Messages, resp.Message(), provider.UserText(""), provider.UserText("b"))
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	body := string(srv.Requests()[1].Body)
	for _, want := range []string{`"data":"c2VjcmV0"`, `"type":"redacted_thinking"`, `9007199254740993`, `"cache_control":{"type":"ephemeral"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	if strings.Contains(body, `"text":""`) {
		t.Errorf("an empty text was sent: %s", body)
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{
		"": "", "auto": "", "none": `"tool_choice":{"type":"none"}`, "required": `"tool_choice":{"type":"any"}`, "read": `"tool_choice":{"name":"read","type":"tool"}`,
	} {
		srv, p := start(t, "k", end)
		_, err := p.Stream(t.Context(), provider.Request{
			Model: "m", Messages: []provider.Message{provider.UserText("a")}, Tools: []provider.ToolSpec{{Name: "read"}}, ToolChoice: choice,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body := string(srv.Requests()[0].Body); !strings.Contains(body, want) || want == "" && strings.Contains(body, "tool_choice") {
			t.Errorf("%s: sent %s", choice, body)
		}
	}
}
