package providertest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/provider/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+providertest.Key)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// Without a wish to stream, the answer is one document.
func TestWhole(t *testing.T) {
	t.Parallel()
	reply := providertest.Reply{
		Text: "hello", Calls: []providertest.Call{{Name: "look", Args: `{"q":1}`}},
		Tokens: &providertest.Tokens{Input: 9, Cached: 4, Output: 3, Reasoning: 1},
	}
	for _, tt := range []struct{ path, body, want string }{
		{
			"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			`{"id":"msg_1_0","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"toolu_1_1","name":"look","input":{"q":1}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"cache_read_input_tokens":4,"cache_creation_input_tokens":0,"output_tokens":3,"output_tokens_details":{"thinking_tokens":1}}}`,
		},
		{
			"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
			`{"id":"chatcmpl_1_0","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello","tool_calls":[{"id":"call_1_1","type":"function","function":{"name":"look","arguments":"{\"q\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}}`,
		},
		{
			"/v1/responses", `{"model":"m","input":"hi"}`,
			`{"id":"resp_1_0","object":"response","created_at":1,"model":"m","status":"completed","error":null,"incomplete_details":null,"output":[{"type":"message","id":"msg_1_0","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello","annotations":[]}]},{"type":"function_call","id":"fc_1_1","call_id":"call_1_1","name":"look","arguments":"{\"q\":1}","status":"completed"}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":12}}`,
		},
		{
			"/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
			`{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"hello"},{"functionCall":{"name":"look","args":{"q":1}}}]},"finishReason":"STOP"}],"modelVersion":"m","responseId":"gem_1_0","usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":1,"totalTokenCount":12}}`,
		},
	} {
		srv := providertest.NewServer(t, nil)
		srv.Push(reply)
		status, got := post(t, srv.URL+tt.path, tt.body)
		var a, b any
		if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(tt.want), &b) != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s", tt.path, status, got)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.path, x, y)
		}
		r := srv.Requests()[0]
		if r.Prompt != "hi" || r.Model != "m" || r.Stream || r.Turn != 1 || !r.Key || r.Header.Get("Authorization") != "" {
			t.Errorf("%s: recorded %+v", tt.path, r)
		}
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	srv := providertest.NewServer(nil, func(r providertest.Request) providertest.Reply {
		return providertest.Reply{Status: 429, Header: map[string]string{"Retry-After": "3"}, Message: "slow down, " + r.Prompt}
	})
	defer srv.Close()
	for range 2 {
		if status, body := post(t, srv.URL+"/v1/responses", `{"model":"m","input":"hi","stream":true}`); status != 429 || !strings.Contains(body, "slow down, hi") {
			t.Errorf("got %d %s", status, body)
		}
	}
	if srv.Calls("hi") != 2 || srv.Calls("ho") != 0 || srv.Total() != 2 {
		t.Errorf("%d and %d calls of %d", srv.Calls("hi"), srv.Calls("ho"), srv.Total())
	}
	if status, _ := post(t, srv.URL+"/elsewhere", "{}"); status != http.StatusNotFound || srv.Total() != 2 {
		t.Errorf("an unknown path gave %d", status)
	}
	addr := strings.TrimPrefix(srv.URL, "http://")
	if _, err := providertest.Listen(addr, nil); err == nil {
		t.Error("an address was taken twice")
	}
	srv.Close()
	again, err := providertest.Listen(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
