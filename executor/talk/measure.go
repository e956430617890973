package talk

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// Measure returns the digest of what a request asks, without labels and limits,
// and the bytes that are sent.
func Measure(r provider.Request) (workflow.Digest, int, error) {
	r.Metadata, r.MaxOutputTokens = nil, 0
	raw, err := json.Marshal(r)
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
