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

// marked says what is wrong with the marks of limits that no schema has seen.
func marked(l *workflow.AgentLimits) error {
	for _, m := range []struct {
		name string
		part *float64
	}{{"soft", l.Soft}, {"grace", l.Grace}} {
		if m.part != nil && !(*m.part >= 0 && *m.part <= 1) || m.name == "soft" && m.part != nil && *m.part == 0 {
			return workflow.Errorf(workflow.CodeInvalidPieceParams, "limits.%s is %v, which is not a part between 0 and 1", m.name, *m.part).WithHint("write one such as 0.8")
		}
	}
	return nil
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
