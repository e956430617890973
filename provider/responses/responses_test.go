package responses_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/providertest"
	"github.com/tenonrun/tenon/provider/responses"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, providertest.Responses, func(url string) provider.Provider {
		return responses.New(provider.Config{Name: "mine", BaseURL: url, Key: providertest.Key})
	})
}

func start(t *testing.T, key string, streams ...string) (*providertest.Server, *responses.Provider) {
	t.Helper()
	srv := providertest.NewServer(t, nil)
	for _, s := range streams {
		srv.Push(providertest.Reply{Raw: s})
	}
	return srv, responses.New(provider.Config{BaseURL: srv.Base(providertest.Responses), Key: key})
}

func ask(model string) provider.Request {
	return provider.Request{Model: model, Messages: []provider.Message{provider.UserText("a")}}
}

const end = `data: {"type":"response.completed","response":{"id":"r1","model":"real","status":"completed","output":[]}}` + "\n\n"

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	srv, p := start(t, "", end)
	if _, err := p.Stream(t.Context(), ask("m"), nil); err != nil {
		t.Fatal(err)
	}
	if srv.Requests()[0].Key {
		t.Error("a key was sent")
	}
}

// The answer may come whole with the last event.
func TestWholeAtTheEnd(t *testing.T) {
	t.Parallel()
	srv, p := start(t, "k", `data: {"type":"response.completed","response":{"id":"r1","model":"real","status":"completed","output":[
data: {"type":"message","id":"m1","phase":"commentary","content":[{"type":"output_text","text":"first"}]},
data: {"type":"message","id":"m2","content":[{"type":"refusal","refusal":"no"}]},
data: {"type":"function_call","call_id":"c1","name":"read","arguments":"{\"n\":9007199254740993}"}]}}

`, end)
	var text string
	resp, err := p.Stream(t.Context(), ask("m"), func(d provider.Delta) {
		if d.Kind == provider.DeltaText {
			text += d.Text
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Part{
		{Kind: provider.PartText, Text: "first", State: json.RawMessage(`"commentary"`), Wire: responses.Wire},
		{Kind: provider.PartText, Text: "no"},
		{Kind: provider.PartToolUse, ID: "c1", Name: "read", Input: json.RawMessage(`{"n":9007199254740993}`)},
	}
	if !reflect.DeepEqual(resp.Parts, want) || text != "firstno" || resp.Stop != provider.StopRefusal {
		t.Errorf("got %+v, deltas %q", resp, text)
	}
	req := ask("m")
	req.Messages = append(req.Messages, resp.Message(), provider.UserText("b"))
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if body := string(srv.Requests()[1].Body); !strings.Contains(body, `"phase":"commentary"`) || !strings.Contains(body, "9007199254740993") {
		t.Errorf("sent %s", body)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	_, p := start(t, "k",
		`data: {"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 6s."},"usage":{"input_tokens":7}}}`+"\n\n",
		`data: {"type":"response.failed","response":{"status":"failed"}}`+"\n\n")
	_, err := p.Stream(t.Context(), ask("m"), nil)
	e := provider.AsError(err)
	if e == nil || e.Code != provider.CodeRateLimited || e.RetryAfter != 6*time.Second || e.Usage.Input == nil || *e.Usage.Input != 7 {
		t.Errorf("got %v", err)
	}
	_, err = p.Stream(t.Context(), ask("m"), nil)
	if e := provider.AsError(err); e == nil || e.Code != provider.CodeServerError || e.Message == "" {
		t.Errorf("got %v", err)
	}
}

func TestReasoningModels(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{"gpt-5.2": true, "o3-mini": true, "gpt-10": true, "gpt-4.1": false, "gpt-5-chat-latest": false, "qwen3": false} {
		srv, p := start(t, "k", end)
		if _, err := p.Stream(t.Context(), ask(model), nil); err != nil {
			t.Fatal(err)
		}
		body := string(srv.Requests()[0].Body)
		if strings.Contains(body, "reasoning.encrypted_content") != want || p.Capabilities(model).Effort != want || !strings.Contains(body, `"store":false`) {
			t.Errorf("%s: sent %s", model, body)
		}
	}
}
