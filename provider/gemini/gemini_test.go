package gemini_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/gemini"
	"github.com/tenonrun/tenon/provider/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, providertest.Gemini, func(url string) provider.Provider {
		p, err := gemini.New(provider.Config{Name: "mine", BaseURL: url, Key: providertest.Key})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

func start(t *testing.T, streams ...string) (*providertest.Server, *gemini.Provider) {
	t.Helper()
	srv := providertest.NewServer(t, nil)
	for _, s := range streams {
		srv.Push(providertest.Reply{Raw: s})
	}
	p, err := gemini.New(provider.Config{BaseURL: srv.Base(providertest.Gemini)})
	if err != nil {
		t.Fatal(err)
	}
	return srv, p
}

func ask(model string) provider.Request {
	return provider.Request{Model: model, Messages: []provider.Message{provider.UserText("a")}}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "environment-key")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	var key string
	p, err := gemini.New(provider.Config{HTTPClient: &http.Client{Transport: transport(func(r *http.Request) {
		key = r.Header.Get("X-Goog-Api-Key") + " at " + r.URL.Host
	})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stream(t.Context(), ask("m"), nil); err == nil {
		t.Error("the transport answered")
	}
	if key != "none at generativelanguage.googleapis.com" {
		t.Errorf("sent %s", key)
	}
}

type transport func(*http.Request)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, io.EOF
}

func TestBlockedPrompt(t *testing.T) {
	t.Parallel()
	_, p := start(t, `data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}`+"\n\n")
	_, err := p.Stream(t.Context(), ask("m"), nil)
	e := provider.AsError(err)
	if e == nil || e.Code != provider.CodeRefused || !strings.Contains(e.Message, "PROHIBITED_CONTENT") || *e.Usage.Input != 7 || e.Retryable() {
		t.Errorf("got %v", err)
	}
}

// Signatures stay with the very part they came on.
func TestSignatures(t *testing.T) {
	t.Parallel()
	part := func(s, finish string) string {
		return `data: {"candidates":[{"content":{"parts":[` + s + `]}` + finish + `}]}` + "\n\n"
	}
	srv, p := start(t, part(`{"text":"one "}`, "")+part(`{"text":"two"}`, "")+
		part(`{"functionCall":{"name":"read","args":{"n":9007199254740993}},"thoughtSignature":"QQ=="}`, "")+
		part(`{"text":"","thoughtSignature":"Qg=="}`, `,"finishReason":"STOP"`))
	resp, err := p.Stream(t.Context(), ask("m"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Part{
		{Kind: provider.PartText, Text: "one two"},
		{Kind: provider.PartToolUse, ID: "call-1-1", Name: "read", Input: json.RawMessage(`{"n":9007199254740993}`), State: json.RawMessage(`"QQ=="`), Wire: gemini.Wire},
		{Kind: provider.PartText, State: json.RawMessage(`"Qg=="`), Wire: gemini.Wire},
	}
	if !reflect.DeepEqual(resp.Parts, want) || resp.Stop != provider.StopToolUse {
		t.Errorf("got %+v", resp)
	}
	req := ask("m")
	req.Messages = append(req.Messages, resp.Message())
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	body := string(srv.Requests()[1].Body)
	for _, want := range []string{`"thoughtSignature":"QQ=="`, `"thoughtSignature":"Qg=="`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
}

func TestEffort(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{"gemini-2.5-flash": `"thinkingBudget":8192`, "gemini-3-pro": `"thinkingLevel":"MEDIUM"`} {
		srv, p := start(t)
		req := ask(model)
		req.Effort = "medium"
		if _, err := p.Stream(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if body := string(srv.Requests()[0].Body); !strings.Contains(body, want) {
			t.Errorf("%s: sent %s", model, body)
		}
	}
}
