package providertest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Request is a recorded request.
type Request struct {
	Protocol  Protocol
	Path      string // with the query
	Model     string
	Prompt    string // text of the last user message
	System    string
	Turn      int // assistant messages before it, plus one
	Stream    bool
	Tools     []string // names
	Results   []string // texts of the tool results since the last assistant message
	Schema    bool
	MaxTokens int
	Effort    string
	Header    http.Header // without the key
	Key       bool        // a key was sent
	Body      []byte
	Value     map[string]any // the body, decoded
}

var keyHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

func record(r *http.Request, body []byte) Request {
	req := Request{Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body, Turn: 1}
	for _, h := range keyHeaders {
		req.Key = req.Key || r.Header.Get(h) != ""
		req.Header.Del(h)
	}
	_ = json.Unmarshal(body, &req.Value) // a body that is no object leaves it nil
	p := r.URL.Path
	m := obj(req.Value)
	switch {
	case strings.HasSuffix(p, "/messages"):
		req.anthropic(m)
	case strings.HasSuffix(p, "/chat/completions"):
		req.chat(m)
	case strings.HasSuffix(p, "/responses"):
		req.responses(m)
	case strings.Contains(p, ":streamGenerateContent"), strings.Contains(p, ":generateContent"):
		name, _, _ := strings.Cut(p[strings.LastIndex(p, "/")+1:], ":")
		req.Model, req.Stream = name, strings.Contains(p, ":stream")
		req.gemini(m)
	}
	return req
}

// said notes one message.
func (r *Request) said(role, text string) {
	switch role {
	case "assistant", "model":
		r.Turn++
		r.Results = nil
	case "user":
		r.Prompt = text
	case "tool":
		r.Results = append(r.Results, text)
	case "system", "developer":
		r.System += text
	}
}

func (r *Request) anthropic(m obj) {
	r.Protocol, r.Model, r.Stream = Anthropic, m.str("model"), m.yes("stream")
	r.System = textOf(m["system"])
	r.MaxTokens = m.num("max_tokens")
	r.Effort = m.obj("output_config").str("effort")
	r.Schema = len(m.obj("output_config").obj("format")) > 0
	for _, t := range m.list("tools") {
		r.Tools = append(r.Tools, t.str("name"))
	}
	for _, msg := range m.list("messages") {
		text := textOf(msg["content"])
		if msg.str("role") == "assistant" || text != "" {
			r.said(msg.str("role"), text)
		}
		for _, c := range msg.list("content") {
			if c.str("type") == "tool_result" {
				r.said("tool", textOf(c["content"]))
			}
		}
	}
}

func (r *Request) chat(m obj) {
	r.Protocol, r.Model, r.Stream = Chat, m.str("model"), m.yes("stream")
	r.MaxTokens = max(m.num("max_tokens"), m.num("max_completion_tokens"))
	r.Effort = m.str("reasoning_effort")
	r.Schema = m.obj("response_format").str("type") == "json_schema"
	for _, t := range m.list("tools") {
		r.Tools = append(r.Tools, t.obj("function").str("name"))
	}
	for _, msg := range m.list("messages") {
		r.said(msg.str("role"), textOf(msg["content"]))
	}
}

func (r *Request) responses(m obj) {
	r.Protocol, r.Model, r.Stream = Responses, m.str("model"), m.yes("stream")
	r.System = m.str("instructions")
	r.MaxTokens = m.num("max_output_tokens")
	r.Effort = m.obj("reasoning").str("effort")
	r.Schema = m.obj("text").obj("format").str("type") == "json_schema"
	for _, t := range m.list("tools") {
		r.Tools = append(r.Tools, t.str("name"))
	}
	if s := m.str("input"); s != "" {
		r.said("user", s)
	}
	assistant := false // items of one assistant turn are one message
	for _, it := range m.list("input") {
		role := it.str("role")
		switch {
		case strings.HasSuffix(it.str("type"), "_output"):
			r.said("tool", textOf(it["output"]))
			assistant = false
		case role == "" || role == "assistant":
			if !assistant {
				r.said("assistant", "")
			}
			assistant = true
		default:
			r.said(role, textOf(it["content"]))
			assistant = false
		}
	}
}

func (r *Request) gemini(m obj) {
	r.Protocol = Gemini
	r.System = textOf(m.obj("systemInstruction")["parts"])
	cfg := m.obj("generationConfig")
	r.MaxTokens = cfg.num("maxOutputTokens")
	r.Effort = strings.ToLower(cfg.obj("thinkingConfig").str("thinkingLevel"))
	r.Schema = cfg["responseJsonSchema"] != nil || cfg["responseSchema"] != nil
	for _, t := range m.list("tools") {
		for _, f := range t.list("functionDeclarations") {
			r.Tools = append(r.Tools, f.str("name"))
		}
	}
	for _, c := range m.list("contents") {
		text := textOf(c["parts"])
		if c.str("role") == "model" || text != "" {
			r.said(c.str("role"), text)
		}
		for _, p := range c.list("parts") {
			if fr := p.obj("functionResponse"); len(fr) > 0 {
				out := fr.obj("response")
				r.said("tool", out.str("output")+out.str("error"))
			}
		}
	}
}

// obj is a decoded JSON object, read leniently.
type obj map[string]any

func (o obj) str(key string) string { s, _ := o[key].(string); return s }
func (o obj) yes(key string) bool   { b, _ := o[key].(bool); return b }
func (o obj) num(key string) int    { n, _ := o[key].(float64); return int(n) }
func (o obj) obj(key string) obj    { m, _ := o[key].(map[string]any); return m }

func (o obj) list(key string) []obj {
	items, _ := o[key].([]any)
	out := make([]obj, 0, len(items))
	for _, it := range items {
		m, _ := it.(map[string]any)
		out = append(out, m)
	}
	return out
}

// textOf joins the texts of a string or a list of parts.
func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	for _, p := range (obj{"v": v}).list("v") {
		b.WriteString(p.str("text"))
	}
	return b.String()
}
