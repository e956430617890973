// Package chat speaks the Chat Completions protocol, of OpenAI and of the many
// servers that imitate it.
//
// Holds: the [Provider], which turns a request into a chat completion and its
// stream into a response.
//
// Guarantees: what package provider asks of a Provider. What imitations do
// differently is read leniently: reasoning under two names, tool calls without
// their own index or id, missing finish reasons, usage that leaves reasoning
// out.
//
// Does not: retry or read the environment.
package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/wire"
)

// Wire marks the state parts that this protocol writes.
const Wire = "chat"

// BaseURL is the endpoint when the configuration names none.
const BaseURL = "https://api.openai.com/v1"

// Provider is one endpoint.
type Provider struct {
	cfg     provider.Config
	service openai.ChatCompletionService
}

// New makes the provider. The base URL is the part before /chat/completions.
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
	return &Provider{cfg: cfg, service: openai.NewChatCompletionService(opts...)}
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.cfg.Name }

// Capabilities returns what the protocol can carry; servers differ in what
// they heed.
func (p *Provider) Capabilities(string) provider.Capabilities {
	return provider.Capabilities{
		Effort: true, Efforts: []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"},
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
	r := reader{a: a, calls: map[int64]call{}}
	for ev, err := range x.Events() {
		if err != nil {
			return err
		}
		var c openai.ChatCompletionChunk
		if err := c.UnmarshalJSON(ev.Data); err != nil {
			return &wire.BrokenError{What: "the stream holds an event of an unknown shape", Err: err}
		}
		r.chunk(c)
	}
	if r.finish == "" && !x.Marked() {
		return provider.Incomplete("a finish_reason")
	}
	r.keepReasoning()
	a.Response.Stop, a.Response.StopDetail = r.stop(), r.finish
	return nil
}

type call struct{ key, id string }

type reader struct {
	a         *provider.Assembly
	calls     map[int64]call // by index, the latest
	finish    string
	refused   bool
	reasoning strings.Builder
	// reasoningName is the member in which the server sends reasoning.
	reasoningName string
}

func (r *reader) chunk(c openai.ChatCompletionChunk) {
	if c.ID != "" {
		r.a.Response.ID = c.ID
	}
	if c.Model != "" {
		r.a.Response.Model = c.Model
	}
	if c.JSON.Usage.Valid() {
		r.a.Response.Usage = usage(c.Usage)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		r.delta(choice.Delta)
		if choice.FinishReason != "" {
			r.finish = choice.FinishReason
		}
	}
}

func (r *reader) delta(d openai.ChatCompletionChunkChoiceDelta) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var s string
		if raw := d.JSON.ExtraFields[name].Raw(); raw != "" && json.Unmarshal([]byte(raw), &s) == nil && s != "" {
			r.reasoningName = name
			r.reasoning.WriteString(s)
			r.a.Reasoning(Wire, s)
			break
		}
	}
	r.a.Text("", d.Content)
	if d.Refusal != "" {
		r.refused = true
		r.a.Text("", d.Refusal)
	}
	for _, tc := range d.ToolCalls {
		c, seen := r.calls[tc.Index]
		if !seen || tc.ID != "" && c.id != "" && tc.ID != c.id {
			c = call{key: fmt.Sprintf("%d/%s", tc.Index, tc.ID)}
		}
		if tc.ID != "" {
			c.id = tc.ID
		}
		r.calls[tc.Index] = c
		r.a.ToolUse(c.key, tc.ID, tc.Function.Name)
		r.a.ToolInput(c.key, tc.Function.Arguments)
	}
}

// keepReasoning keeps readable reasoning as state: some servers want it back
// with the results of the tools.
func (r *reader) keepReasoning() {
	if r.reasoning.Len() == 0 {
		return
	}
	state, _ := json.Marshal(map[string]string{r.reasoningName: r.reasoning.String()}) // a map of strings always encodes
	r.a.State(Wire, provider.PartReasoning, Wire, state)
}

func (r *reader) stop() provider.StopReason {
	switch {
	case r.refused, r.finish == "content_filter":
		return provider.StopRefusal
	case r.finish == "length":
		return provider.StopMaxTokens
	case len(r.calls) > 0:
		return provider.StopToolUse
	case r.finish == "stop":
		return provider.StopEnd
	}
	return provider.StopOther
}

// usage converts to the contract's rule. Prompt tokens hold the cached ones.
// Completion tokens hold the reasoning, except where the total says otherwise.
func usage(u openai.CompletionUsage) provider.Usage {
	out := provider.Usage{
		Input:      known(u.JSON.PromptTokens.Valid(), u.PromptTokens),
		Cached:     known(u.PromptTokensDetails.JSON.CachedTokens.Valid(), u.PromptTokensDetails.CachedTokens),
		CacheWrite: known(u.PromptTokensDetails.JSON.CacheWriteTokens.Valid(), u.PromptTokensDetails.CacheWriteTokens),
		Output:     known(u.JSON.CompletionTokens.Valid(), u.CompletionTokens),
		Reasoning:  known(u.CompletionTokensDetails.JSON.ReasoningTokens.Valid(), u.CompletionTokensDetails.ReasoningTokens),
	}
	var hit int64
	if raw := u.JSON.ExtraFields["prompt_cache_hit_tokens"].Raw(); out.Cached == nil && raw != "" && json.Unmarshal([]byte(raw), &hit) == nil {
		out.Cached = &hit
	}
	var cost float64
	if raw := u.JSON.ExtraFields["cost"].Raw(); raw != "" && raw != "null" && json.Unmarshal([]byte(raw), &cost) == nil && cost >= 0 {
		out.CostUSD = &cost
	}
	if out.Input != nil && out.Output != nil && out.Reasoning != nil && *out.Reasoning > 0 &&
		u.TotalTokens == *out.Input+*out.Output+*out.Reasoning {
		*out.Output += *out.Reasoning
	}
	return out
}

func known(valid bool, n int64) *int64 {
	if !valid || n < 0 {
		return nil
	}
	return &n
}
