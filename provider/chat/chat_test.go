package chat_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/chat"
	"github.com/tenonrun/tenon/provider/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, providertest.Chat, func(url string) provider.Provider {
		return chat.New(provider.Config{Name: "mine", BaseURL: url, Key: providertest.Key})
	})
}

func start(t *testing.T, key string, streams ...string) (*providertest.Server, *chat.Provider) {
	t.Helper()
	srv := providertest.NewServer(t, nil)
	for _, s := range streams {
		srv.Push(providertest.Reply{Raw: s})
	}
	return srv, chat.New(provider.Config{BaseURL: srv.Base(providertest.Chat), Key: key})
}

func ask() provider.Request {
	return provider.Request{Model: "m", Messages: []provider.Message{provider.UserText("a")}}
}

const end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_ORG_ID", "org-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-From-Environment: yes")
	srv, p := start(t, "", end)
	if _, err := p.Stream(t.Context(), ask(), nil); err != nil {
		t.Fatal(err)
	}
	if r := srv.Requests()[0]; r.Key || r.Header.Get("X-From-Environment") != "" || r.Header.Get("OpenAI-Organization") != "" {
		t.Errorf("sent %+v", r.Header)
	}
}

// What servers that imitate the protocol do differently.
func TestImitations(t *testing.T) {
	t.Parallel()
	delta := func(s string) string { return `data: {"choices":[{"index":0,"delta":` + s + `}]}` + "\n\n" }
	usage := func(s string) string { return `data: {"choices":[],"usage":` + s + `}` + "\n\n" }
	for _, tt := range []struct {
		name, stream string
		want         provider.Response
	}{
		{"null error", `data: {"error":null,"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n" + end, provider.Response{
			Parts: []provider.Part{{Kind: provider.PartText, Text: "a"}}, Stop: provider.StopEnd, StopDetail: "stop",
		}},
		{"no finish reason", delta(`{"content":"a"}`) + "data: [DONE]\n\n", provider.Response{
			Parts: []provider.Part{{Kind: provider.PartText, Text: "a"}}, Stop: provider.StopOther,
		}},
		{"calls of one index", delta(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}]}`) +
			delta(`{"tool_calls":[{"index":0,"id":"2","function":{"name":"b","arguments":"{}"}}]}`) + end, provider.Response{
			Parts: []provider.Part{
				{Kind: provider.PartToolUse, ID: "1", Name: "a", Input: []byte("{}")},
				{Kind: provider.PartToolUse, ID: "2", Name: "b", Input: []byte("{}")},
			}, Stop: provider.StopToolUse, StopDetail: "stop",
		}},
		{"call without id", delta(`{"tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}`) + end, provider.Response{
			Parts: []provider.Part{{Kind: provider.PartToolUse, ID: "call-1-1", Name: "a", Input: []byte("{}")}},
			Stop:  provider.StopToolUse, StopDetail: "stop",
		}},
		{"reasoning", delta(`{"reasoning":"hm"}`) + delta(`{"reasoning":"m"}`) + end, provider.Response{
			Parts: []provider.Part{{Kind: provider.PartReasoning, Text: "hmm", State: []byte(`{"reasoning":"hmm"}`), Wire: chat.Wire}},
			Stop:  provider.StopEnd, StopDetail: "stop",
		}},
		{"refusal", delta(`{"refusal":"no"}`) + end, provider.Response{
			Parts: []provider.Part{{Kind: provider.PartText, Text: "no"}}, Stop: provider.StopRefusal, StopDetail: "stop",
		}},
		{"cost", usage(`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cost":0.5,"prompt_cache_hit_tokens":4}`) + end, provider.Response{
			Stop: provider.StopEnd, StopDetail: "stop",
			Usage: provider.Usage{Input: new(int64(10)), Cached: new(int64(4)), Output: new(int64(5)), CostUSD: new(0.5)},
		}},
		{"reasoning beside output", usage(`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":22,"completion_tokens_details":{"reasoning_tokens":7}}`) + end, provider.Response{
			Stop: provider.StopEnd, StopDetail: "stop",
			Usage: provider.Usage{Input: new(int64(10)), Output: new(int64(12)), Reasoning: new(int64(7))},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, p := start(t, "k", tt.stream)
			got, err := p.Stream(t.Context(), ask(), nil)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestLimitName(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://127.0.0.1/v1": "max_tokens", "https://api.openai.com/v1": "max_completion_tokens", "https://x.openai.azure.com/openai/v1": "max_completion_tokens",
	} {
		var sent string
		p := chat.New(provider.Config{BaseURL: base, HTTPClient: &http.Client{Transport: transport(func(r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			sent = string(b)
		})}})
		if _, err := p.Stream(t.Context(), ask(), nil); err == nil {
			t.Error("the transport answered")
		}
		if !strings.Contains(sent, `"`+want+`":8192`) {
			t.Errorf("%s: sent %s", base, sent)
		}
	}
}

type transport func(*http.Request)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, io.EOF
}
