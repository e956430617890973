// Package gemini speaks the Gemini generateContent protocol.
//
// Holds: the [Provider], which turns a request into a streamed
// generateContent call and its stream into a response.
//
// Guarantees: what package provider asks of a Provider. Thought signatures
// come back on the parts they came with.
//
// Does not: retry, take keys or endpoints from the environment, or speak to
// Vertex AI.
package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/wire"
)

// Wire marks the state parts that this protocol writes.
const Wire = "gemini"

// BaseURL is the endpoint when the configuration names none.
const BaseURL = "https://generativelanguage.googleapis.com"

// Provider is one endpoint.
type Provider struct {
	cfg    provider.Config
	base   *url.URL
	client *http.Client
}

// New makes the provider. The base URL is the part before /v1beta.
func New(cfg provider.Config) (*Provider, error) {
	if cfg.Name == "" {
		cfg.Name = Wire
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = BaseURL
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil { // its text repeats the URL, which may hold a password
		return nil, fmt.Errorf("making provider %s: its base URL is not a URL; write it like %s", cfg.Name, BaseURL)
	}
	return &Provider{cfg: cfg, base: base, client: wire.Client(cfg.HTTPClient)}, nil
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.cfg.Name }

// Capabilities returns what the protocol can carry.
func (p *Provider) Capabilities(string) provider.Capabilities {
	return provider.Capabilities{
		Effort: true, Efforts: []string{"minimal", "low", "medium", "high"},
		Schema: true, Tools: true, Stop: true, Reasoning: true,
	}
}

// Stream carries out one turn.
func (p *Provider) Stream(ctx context.Context, req provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	x := wire.Begin(ctx)
	defer x.Close()
	a := provider.Assemble(p.cfg, req, emit)
	err := p.send(x, req)
	if err == nil {
		err = read(x, a)
	}
	if err != nil {
		return provider.Response{}, a.Fail(x, err)
	}
	x.Finish()
	return a.Done(), nil
}

// send carries the request to where the exchange can read its answer.
func (p *Provider) send(x *wire.Exchange, req provider.Request) error {
	target, err := p.target(req.Model)
	if err != nil {
		return err
	}
	body, err := p.body(req)
	if err != nil {
		return err
	}
	out, err := http.NewRequestWithContext(x.Context(), http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	out.Header.Set("Content-Type", "application/json")
	out.Header.Set("User-Agent", "tenon")
	if p.cfg.Key != "" {
		out.Header.Set("X-Goog-Api-Key", p.cfg.Key)
	}
	resp, err := p.client.Do(out)
	if err == nil {
		_ = resp.Body.Close() // it is empty: the exchange has the answer
	}
	if x.Err() != nil {
		return x.Err()
	}
	return err
}

// target is the URL that a turn of the model is sent to. A name with a
// collection ("tunedModels/a") is taken as it is.
func (p *Provider) target(model string) (string, error) {
	name := strings.Split(model, "/")
	for i, s := range name {
		if s == "" || s == "." || s == ".." {
			return "", errors.New("the request names no model that a URL can hold")
		}
		name[i] = url.PathEscape(s)
	}
	if name[0] != "models" && name[0] != "tunedModels" {
		name = append([]string{"models"}, name...)
	}
	u := p.base.JoinPath("v1beta", strings.Join(name, "/")+":streamGenerateContent")
	q := u.Query()
	q.Set("alt", "sse")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// chunk is one event.
type chunk struct {
	ResponseID   string `json:"responseId"`
	ModelVersion string `json:"modelVersion"`
	Candidates   []struct {
		Index         int     `json:"index"`
		Content       content `json:"content"`
		FinishReason  string  `json:"finishReason"`
		FinishMessage string  `json:"finishMessage"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason        string `json:"blockReason"`
		BlockReasonMessage string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *usage `json:"usageMetadata"`
}

type usage struct {
	Prompt     *int64 `json:"promptTokenCount"`
	ToolPrompt int64  `json:"toolUsePromptTokenCount"`
	Cached     int64  `json:"cachedContentTokenCount"`
	Candidates *int64 `json:"candidatesTokenCount"`
	Thoughts   int64  `json:"thoughtsTokenCount"`
}

// into converts to the contract's rule: the vendor's candidates leave thoughts
// out, and a count that is 0 is not sent.
func (u usage) into(out *provider.Usage) {
	if u.Prompt == nil {
		return
	}
	out.Input, out.Cached = new(*u.Prompt+u.ToolPrompt), new(u.Cached)
	if u.Candidates != nil || u.Thoughts > 0 {
		sum := u.Thoughts
		if u.Candidates != nil {
			sum += *u.Candidates
		}
		out.Output, out.Reasoning = &sum, new(u.Thoughts)
	}
}

func read(x *wire.Exchange, a *provider.Assembly) error {
	r := reader{a: a}
	for ev, err := range x.Events() {
		if err != nil {
			return err
		}
		var c chunk
		if err := json.Unmarshal(ev.Data, &c); err != nil {
			return &wire.BrokenError{What: "the stream holds an event of an unknown shape", Err: err}
		}
		if err := r.chunk(c); err != nil {
			return err
		}
	}
	if r.finish == "" {
		return provider.Incomplete("a finishReason")
	}
	a.Response.Stop = r.stop()
	return nil
}

type reader struct {
	a      *provider.Assembly
	parts  int
	calls  int
	finish string
}

func (r *reader) chunk(c chunk) error {
	out := &r.a.Response
	if c.ResponseID != "" {
		out.ID = c.ResponseID
	}
	if c.ModelVersion != "" {
		out.Model = c.ModelVersion
	}
	if c.Usage != nil {
		c.Usage.into(&out.Usage)
	}
	for _, cand := range c.Candidates {
		if cand.Index != 0 {
			continue
		}
		for _, p := range cand.Content.Parts {
			r.part(p)
		}
		if cand.FinishReason != "" {
			r.finish, out.StopDetail = cand.FinishReason, cand.FinishReason
			if cand.FinishMessage != "" {
				out.StopDetail += ": " + cand.FinishMessage
			}
		}
	}
	if why := c.PromptFeedback.BlockReason; why != "" && r.finish == "" && r.parts == 0 {
		if c.PromptFeedback.BlockReasonMessage != "" {
			why += ": " + c.PromptFeedback.BlockReasonMessage
		}
		return &provider.Refusal{Reason: why}
	}
	return nil
}

// part takes one part. Texts that follow each other are one part, but a
// signature stays with the very part it came on.
func (r *reader) part(p part) {
	r.parts++
	key, text := "", ""
	if p.Text != nil {
		text = *p.Text
	}
	if p.Signature != "" || p.FunctionCall != nil {
		key = fmt.Sprint(r.parts)
	}
	kind := provider.PartText
	switch {
	case p.FunctionCall != nil:
		kind = provider.PartToolUse
		r.calls++
		r.a.ToolUse(key, p.FunctionCall.ID, p.FunctionCall.Name)
		if args := string(p.FunctionCall.Args); args != "null" {
			r.a.ToolInput(key, args)
		}
	case p.Thought:
		kind = provider.PartReasoning
		r.a.Reasoning(key, text)
	default:
		r.a.Text(key, text)
	}
	if p.Signature != "" {
		state, _ := json.Marshal(p.Signature) // a string always encodes
		r.a.State(key, kind, Wire, state)
	}
}

func (r *reader) stop() provider.StopReason {
	switch r.finish {
	case "STOP":
		if r.calls > 0 {
			return provider.StopToolUse
		}
		return provider.StopEnd
	case "MAX_TOKENS":
		return provider.StopMaxTokens
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE":
		return provider.StopRefusal
	}
	return provider.StopOther
}
