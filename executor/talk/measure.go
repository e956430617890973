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
// and the bytes that are sent. In the digest a tool stands as the digest of its
// own JSON: tools are most of a request, and the same in every call.
func Measure(r provider.Request) (workflow.Digest, int, error) {
	size := len(r.System) + len(r.Schema)
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			size += len(p.Text) + len(p.State) + len(p.Input) + len(p.RawInput)
		}
	}
	asked := struct {
		provider.Request
		Tools []string `json:"tools,omitempty"`
	}{Request: r}
	asked.Metadata, asked.MaxOutputTokens = nil, 0
	for _, t := range r.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema)
		sum, err := sums.of(t)
		if err != nil {
			return "", 0, fmt.Errorf("measuring the tool %s of a request: %w", t.Name, err)
		}
		asked.Tools = append(asked.Tools, sum)
	}
	raw, err := json.Marshal(asked)
	if err != nil {
		return "", 0, fmt.Errorf("measuring a request: %w", err)
	}
	return workflow.Digest(canon.Sum(raw)), size, nil
}

// maxSums bounds how many tools are remembered.
const maxSums = 1024

// toolSums remembers the digests of tools.
type toolSums struct {
	mu    sync.Mutex
	known map[toolKey]string
}

type toolKey struct{ name, description, schema string }

var sums = toolSums{known: map[toolKey]string{}}

func (s *toolSums) of(t provider.ToolSpec) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sum, ok := s.known[toolKey{t.Name, t.Description, string(t.Schema)}]; ok {
		return sum, nil
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	if len(s.known) >= maxSums {
		clear(s.known)
	}
	sum := canon.Sum(raw)
	s.known[toolKey{t.Name, t.Description, string(t.Schema)}] = sum
	return sum, nil
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
