// Package responses speaks the OpenAI Responses protocol.
//
// Holds: the [Provider], which turns a request into a response call and its
// stream into a response.
//
// Guarantees: what package provider asks of a Provider. Nothing is stored at
// the vendor; encrypted reasoning comes back as it was.
//
// Does not: retry, read the environment, or use server-side tools and
// conversations.
package responses

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/wire"
)

// Wire marks the state parts that this protocol writes.
const Wire = "responses"

// BaseURL is the endpoint when the configuration names none.
const BaseURL = "https://api.openai.com/v1"

// Provider is one endpoint.
type Provider struct {
	cfg     provider.Config
	service sdk.ResponseService
}

// New makes the provider. The base URL is the part before /responses.
func New(cfg provider.Config) *Provider {
	if cfg.Name == "" {
		cfg.Name = Wire
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = BaseURL
	}
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithMaxRetries(0),
		option.WithHTTPClient(wire.Client(cfg.HTTPClient)),
	}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	return &Provider{cfg: cfg, service: sdk.NewResponseService(opts...)}
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.cfg.Name }

// Capabilities returns what the protocol can carry. It has no stop sequences.
func (p *Provider) Capabilities(model string) provider.Capabilities {
	return provider.Capabilities{
		Effort: model == "" || reasons(model), Efforts: []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"},
		Schema: true, Tools: true, Reasoning: true,
	}
}

// Stream carries out one turn.
func (p *Provider) Stream(ctx context.Context, req provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	x := wire.Begin(ctx)
	defer x.Close()
	a := provider.Assemble(p.cfg, req, emit)
	params, err := p.params(req)
	if err == nil {
		stream := p.service.NewStreaming(x.Context(), params)
		if err = x.Err(); err == nil {
			err = stream.Err()
		}
		_ = stream.Close() // it was only read
	}
	if err == nil {
		err = read(x, a)
	}
	if err != nil {
		return provider.Response{}, a.Fail(x, err)
	}
	x.Finish()
	return a.Done(), nil
}

func read(x *wire.Exchange, a *provider.Assembly) error {
	a.Response.RequestID = x.Header().Get("X-Request-Id")
	r := reader{a: a}
	for ev, err := range x.Events() {
		if err != nil {
			return err
		}
		var e sdk.ResponseStreamEventUnion
		if err := e.UnmarshalJSON(ev.Data); err != nil {
			return &wire.BrokenError{What: "the stream holds an event of an unknown shape", Err: err}
		}
		if err := r.event(e); err != nil {
			return err
		}
		if a.Response.Stop != "" {
			return nil
		}
	}
	return provider.Incomplete("a response.completed event")
}

type reader struct {
	a       *provider.Assembly
	called  bool
	refused bool
}

// textKey names the text of one content part of one output item.
func textKey(output, content int64) string { return fmt.Sprintf("%d.%d", output, content) }

func itemKey(output int64) string { return fmt.Sprint(output) }

func (r *reader) event(e sdk.ResponseStreamEventUnion) error {
	switch e.Type {
	case "response.created":
		r.a.Response.ID, r.a.Response.Model = e.Response.ID, e.Response.Model
	case "response.output_item.added":
		if e.Item.Type == "function_call" {
			r.called = true
			r.a.ToolUse(itemKey(e.OutputIndex), e.Item.CallID, e.Item.Name)
		}
	case "response.output_text.delta":
		r.a.Text(textKey(e.OutputIndex, e.ContentIndex), e.Delta)
	case "response.refusal.delta":
		r.refused = true
		r.a.Text(textKey(e.OutputIndex, e.ContentIndex), e.Delta)
	case "response.function_call_arguments.delta":
		r.a.ToolInput(itemKey(e.OutputIndex), e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.a.Reasoning(itemKey(e.OutputIndex), e.Delta)
	case "response.output_item.done":
		r.item(e.OutputIndex, e.Item)
	case "response.completed", "response.incomplete":
		r.end(e.Response)
	case "response.failed":
		takeUsage(&r.a.Response.Usage, e.Response.Usage)
		return &wire.EventError{Data: failure(e.Response)}
	}
	return nil
}

// item takes a finished output item, which repeats what was streamed.
func (r *reader) item(index int64, item sdk.ResponseOutputItemUnion) {
	switch item.Type {
	case "function_call":
		r.called = true
		r.a.ToolUse(itemKey(index), item.CallID, item.Name)
		if args := item.Arguments.OfString; args != "" {
			r.a.SetToolInput(itemKey(index), args)
		}
	case "message":
		for i, c := range item.Content {
			key := textKey(index, int64(i))
			if c.Type == "refusal" {
				r.refused = true
				r.a.SetText(key, c.Refusal)
			} else if c.Text != "" {
				r.a.SetText(key, c.Text)
			}
			if i == 0 && item.Phase != "" {
				phase, _ := json.Marshal(string(item.Phase)) // a string always encodes
				r.a.State(key, provider.PartText, Wire, phase)
			}
		}
	case "reasoning":
		if item.EncryptedContent == "" {
			return // an id alone means nothing to a vendor that stores nothing
		}
		r.a.State(itemKey(index), provider.PartReasoning, Wire, reasoningState(item))
	}
}

func reasoningState(item sdk.ResponseOutputItemUnion) json.RawMessage {
	summary := json.RawMessage(item.JSON.Summary.Raw())
	if !json.Valid(summary) {
		summary = json.RawMessage("[]")
	}
	b, _ := json.Marshal(map[string]any{ // strings and valid JSON always encode
		"type": "reasoning", "id": item.ID, "summary": summary, "encrypted_content": item.EncryptedContent,
	})
	return b
}

func (r *reader) end(resp sdk.Response) {
	for i, item := range resp.Output {
		r.item(int64(i), item)
	}
	out := &r.a.Response
	if resp.ID != "" {
		out.ID = resp.ID
	}
	if resp.Model != "" {
		out.Model = resp.Model
	}
	takeUsage(&out.Usage, resp.Usage)
	out.Stop, out.StopDetail = r.stop(resp)
}

func (r *reader) stop(resp sdk.Response) (provider.StopReason, string) {
	word := string(resp.Status)
	why := resp.IncompleteDetails.Reason
	if word == "incomplete" {
		word += ": " + why
	}
	switch {
	case why == "max_output_tokens":
		return provider.StopMaxTokens, word
	case why == "content_filter", r.refused:
		return provider.StopRefusal, word
	case resp.Status == "incomplete":
		return provider.StopOther, word
	case r.called:
		return provider.StopToolUse, word
	}
	return provider.StopEnd, word
}

func failure(resp sdk.Response) []byte {
	if raw := resp.JSON.Error.Raw(); json.Valid([]byte(raw)) {
		return []byte(raw)
	}
	return []byte(`{"message":"the response failed without a reason"}`)
}

func takeUsage(out *provider.Usage, u sdk.ResponseUsage) {
	set := func(to **int64, valid bool, n int64) {
		if valid && n >= 0 {
			*to = &n
		}
	}
	set(&out.Input, u.JSON.InputTokens.Valid(), u.InputTokens)
	set(&out.Cached, u.InputTokensDetails.JSON.CachedTokens.Valid(), u.InputTokensDetails.CachedTokens)
	set(&out.CacheWrite, u.InputTokensDetails.JSON.CacheWriteTokens.Valid(), u.InputTokensDetails.CacheWriteTokens)
	set(&out.Output, u.JSON.OutputTokens.Valid(), u.OutputTokens)
	set(&out.Reasoning, u.OutputTokensDetails.JSON.ReasoningTokens.Valid(), u.OutputTokensDetails.ReasoningTokens)
}
