package gemini_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

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
	if key != " at generativelanguage.googleapis.com" {
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

// A request is what the vendor's own client sends, but for the order of
// members and the digits of numbers, which are those of the caller.
func TestBody(t *testing.T) {
	t.Parallel()
	srv, p := start(t)
	req := ask("gemini-3-pro")
	req.System, req.Effort, req.MaxOutputTokens, req.Stop = "be <b> & brief", "low", 77, []string{"END"}
	req.Schema = json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"maximum":9007199254740993}}}`)
	req.Tools = []provider.ToolSpec{
		{Name: "look", Description: "looks", Schema: json.RawMessage(`{"properties":{"z":{},"a":{"maximum":9007199254740993}},"type":"object"}`)},
		{Name: "rest"},
	}
	req.ToolChoice = "look"
	req.Messages = append(req.Messages, provider.Message{Role: provider.RoleAssistant, Parts: []provider.Part{
		{Kind: provider.PartReasoning, Text: "hm", State: json.RawMessage(`"QQ=="`), Wire: gemini.Wire},
		{Kind: provider.PartReasoning, Text: "of another vendor", State: json.RawMessage(`"QQ=="`), Wire: "chat"},
		{Kind: provider.PartText},
		{Kind: provider.PartText, State: json.RawMessage(`"not-base64!"`), Wire: gemini.Wire},
		{Kind: provider.PartToolUse, ID: "1", Name: "look", Input: json.RawMessage(`{"z":1,"a":9007199254740993,"m":"<"}`)},
		{Kind: provider.PartToolUse, ID: "2", Name: "look", RawInput: "x", Invalid: true},
		{Kind: provider.PartToolUse, ID: "3", Name: "look", Input: json.RawMessage(`{"half`)},
	}}, provider.Message{Role: provider.RoleTool, Parts: []provider.Part{
		{Kind: provider.PartToolResult, ID: "1", Name: "look", Text: "found"},
		{Kind: provider.PartToolResult, ID: "2", Name: "look", Text: "lost", IsError: true},
	}}, provider.Message{Role: provider.RoleUser})
	if _, err := p.Stream(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`{"contents":[{"role":"user","parts":[{"text":"a"}]},
{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"QQ=="},{"text":"","thoughtSignature":"not-base64!"},
{"functionCall":{"id":"1","name":"look","args":{"z":1,"a":9007199254740993,"m":"<"}}},
{"functionCall":{"id":"2","name":"look","args":{"invalid_json":"x"}}},
{"functionCall":{"id":"3","name":"look","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"id":"1","name":"look","response":{"output":"found"}}},
{"functionResponse":{"id":"2","name":"look","response":{"error":"lost"}}}]}],
"systemInstruction":{"parts":[{"text":"be <b> & brief"}]},
"generationConfig":{"maxOutputTokens":77,"stopSequences":["END"],"responseMimeType":"application/json",
"responseJsonSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"maximum":9007199254740993}}},
"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}},
"tools":[{"functionDeclarations":[{"name":"look","description":"looks","parametersJsonSchema":{"properties":{"z":{},"a":{"maximum":9007199254740993}},"type":"object"}},
{"name":"rest"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]}}}`, "\n", "")
	if got := strings.TrimSpace(string(srv.Requests()[0].Body)); got != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{"": "", provider.ChoiceAuto: "", provider.ChoiceNone: `{"mode":"NONE"}`, provider.ChoiceRequired: `{"mode":"ANY"}`} {
		srv, p := start(t)
		req := ask("m")
		req.Tools, req.ToolChoice = []provider.ToolSpec{{Name: "look"}}, choice
		if _, err := p.Stream(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		body := string(srv.Requests()[0].Body)
		if !strings.Contains(body, `"functionCallingConfig":`+want) && want != "" || want == "" && strings.Contains(body, "toolConfig") {
			t.Errorf("%q: sent %s", choice, body)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, model, want string }{
		{"", "m", "/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"/", "m", "/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"/proxy/", "models/m", "/proxy/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"?tenant=1", "tunedModels/m", "/v1beta/tunedModels/m:streamGenerateContent?alt=sse&tenant=1"},
		{"", "google/m", "/v1beta/models/google/m:streamGenerateContent?alt=sse"},
		{"", "a b?c#d%2f", "/v1beta/models/a%20b%3Fc%23d%252f:streamGenerateContent?alt=sse"},
		{"", "", ""},
		{"", "../m", ""},
		{"", "models/", ""},
	} {
		srv, _ := start(t)
		p, err := gemini.New(provider.Config{BaseURL: srv.URL + tt.base})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Stream(t.Context(), ask(tt.model), nil)
		if e := provider.AsError(err); tt.want == "" {
			if e == nil || e.Code != provider.CodeInvalidRequest || e.Sent || srv.Total() != 0 {
				t.Errorf("%q: %v, %d requests", tt.model, err, srv.Total())
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.model, err)
		} else if got := srv.Requests()[0].Path; got != tt.want {
			t.Errorf("%q: sent to %s, want %s", tt.model, got, tt.want)
		}
	}
}

// What cannot be made into a request is not sent.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	_, err := gemini.New(provider.Config{Name: "mine", BaseURL: "http://user:secret@[::1", Key: "k"})
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "mine") {
		t.Errorf("got %v", err)
	}
	srv, p := start(t)
	for _, wrong := range []json.RawMessage{json.RawMessage(`[1]`), json.RawMessage(`{"a`), json.RawMessage(`{} {}`)} {
		schema, tool := ask("m"), ask("m")
		schema.Schema, tool.Tools = wrong, []provider.ToolSpec{{Name: "look", Schema: wrong}}
		for _, req := range []provider.Request{schema, tool} {
			_, err := p.Stream(t.Context(), req, nil)
			if e := provider.AsError(err); e == nil || e.Code != provider.CodeInvalidRequest || e.Sent {
				t.Errorf("%s: got %v", wrong, err)
			}
		}
	}
	if srv.Total() != 0 {
		t.Errorf("%d requests", srv.Total())
	}
}

// The delay and the quota of an error with typed details are heeded.
func TestRetryInfo(t *testing.T) {
	t.Parallel()
	body := func(quota string) string {
		return `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequests` + quota + `"}]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36.5s"}]}}]`
	}
	for quota, want := range map[string]provider.Code{"PerMinute": provider.CodeRateLimited, "PerDay": provider.CodeQuotaExhausted} {
		srv, p := start(t)
		srv.Push(providertest.Reply{Status: 429, Body: body(quota)})
		_, err := p.Stream(t.Context(), ask("m"), nil)
		e := provider.AsError(err)
		if e == nil || e.Code != want || e.RetryAfter != 36500*time.Millisecond || e.Status != 429 {
			t.Errorf("%s: got %v", quota, err)
		}
	}
}

// Parts of kinds that were not asked for are passed over.
func TestForeignParts(t *testing.T) {
	t.Parallel()
	_, p := start(t, `data: {"candidates":[{"content":{"role":"model","parts":[{"executableCode":{"code":"1"}},{"functionResponse":{"name":"f","response":{"n":1}}},`+
		`{"inlineData":{"data":"QQ=="}},{"text":"said"}]},"finishReason":"STOP"}]}`+"\n\n")
	resp, err := p.Stream(t.Context(), ask("m"), nil)
	if err != nil || resp.Text() != "said" || len(resp.Parts) != 1 || resp.Stop != provider.StopEnd {
		t.Errorf("got %+v, %v", resp, err)
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
