package agent

import (
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// least takes the smaller of each limit, and the stricter of both.
func least(a, b *workflow.AgentLimits) *workflow.AgentLimits {
	switch {
	case a == nil:
		return b.Clone()
	case b == nil:
		return a.Clone()
	}
	return &workflow.AgentLimits{
		MaxDepth: lower(a.MaxDepth, b.MaxDepth), MaxFanout: lower(a.MaxFanout, b.MaxFanout), MaxSpawns: lower(a.MaxSpawns, b.MaxSpawns),
		MaxTokens: lower(a.MaxTokens, b.MaxTokens), MaxCostUSD: lower(a.MaxCostUSD, b.MaxCostUSD),
		MaxDurationMs: lower(a.MaxDurationMs, b.MaxDurationMs), Soft: lower(a.Soft, b.Soft), Grace: lower(a.Grace, b.Grace),
		Strict: a.Strict || b.Strict,
	}
}

func lower[N int | int64 | float64](a, b *N) *N {
	if a == nil || b != nil && *b < *a {
		a = b
	}
	if a == nil {
		return nil
	}
	v := *a
	return &v
}

func limit(own *int64, otherwise int64) time.Duration {
	if own != nil {
		otherwise = *own
	}
	return time.Duration(otherwise) * time.Millisecond
}
