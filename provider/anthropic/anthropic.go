// Package anthropic speaks the Anthropic Messages protocol.
//
// Holds: the [Provider], which turns a request into a message call and its
// stream into a response.
//
// Guarantees: what package provider asks of a Provider. Thinking blocks come
// back as they were, with their signatures.
//
// Does not: retry, read the environment, or use server-side tools.
package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/wire"
)

// Wire marks the state parts that this protocol writes.
const Wire = "anthropic"

// Provider is one endpoint.
type Provider struct {
	cfg    provider.Config
	client sdk.Client
}

// New makes the provider. The base URL is the part before /v1/messages.
func New(cfg provider.Config) *Provider {
	if cfg.Name == "" {
		cfg.Name = Wire
	}
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithMaxRetries(0),
		option.WithHTTPClient(wire.Client(cfg.HTTPClient)),
	}
	if cfg.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(cfg.BaseURL))
	}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	return &Provider{cfg: cfg, client: sdk.NewClient(opts...)}
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.cfg.Name }

// Capabilities returns what the protocol can carry; older models refuse effort
// and schema.
func (p *Provider) Capabilities(string) provider.Capabilities {
	return provider.Capabilities{
		Effort: true, Efforts: []string{"low", "medium", "high", "xhigh", "max"},
		Schema: true, Tools: true, Stop: true, Reasoning: true,
	}
}

// Stream carries out one turn.
func (p *Provider) Stream(ctx context.Context, req provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	x := wire.Begin(ctx)
	defer x.Close()
	a := provider.Assemble(p.cfg, req, emit)
	params, err := p.params(req)
	if err == nil {
		stream := p.client.Messages.NewStreaming(x.Context(), params)
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
	a.Response.RequestID = x.Header().Get("Request-Id")
	r := reader{a: a, thinking: map[string]*thinking{}}
	for ev, err := range x.Events() {
		if err != nil {
			return err
		}
		var e sdk.MessageStreamEventUnion
		if err := e.UnmarshalJSON(ev.Data); err != nil {
			return &wire.BrokenError{What: "the stream holds an event of an unknown shape", Err: err}
		}
		if r.event(e); r.stopped {
			return nil
		}
	}
	if a.Response.Stop == "" {
		return provider.Incomplete("a message_stop event")
	}
	return nil
}

type thinking struct{ Text, Signature string }

type reader struct {
	a        *provider.Assembly
	thinking map[string]*thinking
	stopped  bool
}

func (r *reader) event(e sdk.MessageStreamEventUnion) {
	key := strconv.FormatInt(e.Index, 10)
	switch e.Type {
	case "message_start":
		r.a.Response.ID, r.a.Response.Model = e.Message.ID, e.Message.Model
		startUsage(&r.a.Response.Usage, e.Message.Usage)
	case "content_block_start":
		r.begin(key, e.ContentBlock)
	case "content_block_delta":
		r.delta(key, e.Delta)
	case "content_block_stop":
		if t := r.thinking[key]; t != nil {
			r.a.State(key, provider.PartReasoning, Wire, encode(map[string]string{
				"type": "thinking", "thinking": t.Text, "signature": t.Signature,
			}))
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			r.a.Response.Stop, r.a.Response.StopDetail = stop(e.Delta)
		}
		deltaUsage(&r.a.Response.Usage, e.Usage)
	case "message_stop":
		r.stopped = r.a.Response.Stop != ""
	}
}

func (r *reader) begin(key string, b sdk.ContentBlockStartEventContentBlockUnion) {
	switch b.Type {
	case "text":
		r.a.Text(key, b.Text)
	case "tool_use":
		r.a.ToolUse(key, b.ID, b.Name)
		if raw := b.JSON.Input.Raw(); raw != "" && raw != "{}" && raw != "null" {
			r.a.ToolInput(key, raw)
		}
	case "thinking":
		r.thinking[key] = &thinking{Text: b.Thinking, Signature: b.Signature}
		r.a.Reasoning(key, b.Thinking)
	case "redacted_thinking":
		r.a.State(key, provider.PartReasoning, Wire, encode(map[string]string{
			"type": "redacted_thinking", "data": b.Data,
		}))
	}
}

func (r *reader) delta(key string, d sdk.MessageStreamEventUnionDelta) {
	switch d.Type {
	case "text_delta":
		r.a.Text(key, d.Text)
	case "input_json_delta":
		r.a.ToolInput(key, d.PartialJSON)
	case "thinking_delta":
		if t := r.thinking[key]; t != nil {
			t.Text += d.Thinking
		}
		r.a.Reasoning(key, d.Thinking)
	case "signature_delta":
		if t := r.thinking[key]; t != nil {
			t.Signature += d.Signature
		}
	}
}

func stop(d sdk.MessageStreamEventUnionDelta) (provider.StopReason, string) {
	word := string(d.StopReason)
	switch d.StopReason {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return provider.StopEnd, word
	case sdk.StopReasonToolUse:
		return provider.StopToolUse, word
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return provider.StopMaxTokens, word
	case sdk.StopReasonRefusal:
		if d.StopDetails.Explanation != "" {
			word = fmt.Sprintf("%s: %s", word, d.StopDetails.Explanation)
		}
		return provider.StopRefusal, word
	}
	return provider.StopOther, word
}

func encode(m map[string]string) json.RawMessage {
	b, _ := json.Marshal(m) // a map of strings always encodes
	return b
}
