package talk

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// Measure returns the digest of what a request asks, without labels and limits,
// and the bytes that are sent.
func Measure(r provider.Request) (workflow.Digest, int, error) {
	raw, err := encode(r)
	if err != nil {
		return "", 0, fmt.Errorf("measuring a request: %w", err)
	}
	size := len(r.System) + len(r.Schema)
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			size += len(p.Text) + len(p.State) + len(p.Input) + len(p.RawInput)
		}
	}
	for _, t := range r.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return workflow.Digest(canon.Sum(raw)), size, nil
}

// encode gives a request as JSON, without labels and limits. Its tools, which are
// most of it and the same in every call, are encoded once.
func encode(r provider.Request) ([]byte, error) {
	if len(r.Tools) == 0 {
		r.Metadata, r.MaxOutputTokens = nil, 0
		return json.Marshal(r)
	}
	head, err := json.Marshal(provider.Request{Model: r.Model, System: r.System, Messages: r.Messages})
	if err != nil {
		return nil, err
	}
	tail, err := json.Marshal(struct {
		ToolChoice string          `json:"toolChoice,omitempty"`
		Schema     json.RawMessage `json:"schema,omitempty"`
		Effort     string          `json:"effort,omitempty"`
		Stop       []string        `json:"stop,omitempty"`
		Cache      bool            `json:"cache,omitempty"`
	}{r.ToolChoice, r.Schema, r.Effort, r.Stop, r.Cache})
	if err != nil {
		return nil, err
	}
	size := len(head) + len(tail) + len(`"tools":[]`)
	for _, t := range r.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema) + 64
	}
	raw := append(append(make([]byte, 0, size), head[:len(head)-1]...), `,"tools":[`...)
	for i, t := range r.Tools {
		one, err := encoded.tool(t)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, one...)
	}
	raw = append(raw, ']')
	if len(tail) > len("{}") {
		return append(append(raw, ','), tail[1:]...), nil
	}
	return append(raw, '}'), nil
}

// maxEncoded bounds how many tools are remembered.
const maxEncoded = 1024

// encoding remembers tools as JSON.
type encoding struct {
	mu    sync.Mutex
	tools map[toolKey][]byte
}

type toolKey struct{ name, description, schema string }

var encoded = encoding{tools: map[toolKey][]byte{}}

func (e *encoding) tool(t provider.ToolSpec) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if raw, ok := e.tools[toolKey{t.Name, t.Description, string(t.Schema)}]; ok {
		return raw, nil
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if len(e.tools) >= maxEncoded {
		clear(e.tools)
	}
	e.tools[toolKey{t.Name, t.Description, string(t.Schema)}] = raw
	return raw, nil
}

// UsageOf gives what a provider told of a call.
func UsageOf(u provider.Usage) workflow.Usage {
	return workflow.Usage{
		Input: u.Input, Cached: u.Cached, CacheWrite: u.CacheWrite,
		Output: u.Output, Reasoning: u.Reasoning, CostUSD: u.CostUSD,
	}
}

// Sum adds the usage of a call to that of the calls before it. A number that is
// unknown for one call is unknown in the sum.
func Sum(total, next workflow.Usage, first bool) workflow.Usage {
	if first {
		return next
	}
	return workflow.Usage{
		Input: plus(total.Input, next.Input), Cached: plus(total.Cached, next.Cached),
		CacheWrite: plus(total.CacheWrite, next.CacheWrite), Output: plus(total.Output, next.Output),
		Reasoning: plus(total.Reasoning, next.Reasoning), CostUSD: plus(total.CostUSD, next.CostUSD),
	}
}

func plus[N int64 | float64](a, b *N) *N {
	if a == nil || b == nil {
		return nil
	}
	n := *a + *b
	return &n
}
