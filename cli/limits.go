package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	near "github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

var limitNames = []string{"maxDepth", "maxFanout", "maxSpawns", "tokenBudget", "maxCostUsd", "maxDuration", "soft", "grace", "strict"}

// parseLimits reads --limits; nil without any.
func parseLimits(list []string) (*workflow.AgentLimits, error) {
	if len(list) == 0 {
		return nil, nil
	}
	l := &workflow.AgentLimits{}
	for _, s := range list {
		for part := range strings.SplitSeq(s, ",") {
			key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
			if !ok && key != "strict" {
				return nil, usage(fmt.Errorf("--limits %s: it needs the form KEY=VALUE", part))
			}
			if err := limitOne(l, key, value); err != nil {
				return nil, usage(fmt.Errorf("--limits %s: %w", part, err))
			}
		}
	}
	return l, nil
}

func limitOne(l *workflow.AgentLimits, key, value string) error {
	switch key {
	case "maxDepth":
		return whole(&l.MaxDepth, value, 0, 64)
	case "maxFanout":
		return whole(&l.MaxFanout, value, 1, 256)
	case "maxSpawns":
		return whole(&l.MaxSpawns, value, 0, 100_000)
	case "tokenBudget":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n <= 0 {
			return errors.New("it needs a number of tokens over 0")
		}
		l.MaxTokens = &n
	case "maxCostUsd":
		usd, err := strconv.ParseFloat(value, 64)
		if err != nil || !(usd > 0 && usd < 1e9) {
			return errors.New("it needs an amount over 0")
		}
		l.MaxCostUSD = &usd
	case "maxDuration":
		d, err := time.ParseDuration(value)
		ms := d.Milliseconds()
		if err != nil || ms <= 0 {
			return errors.New("it needs a duration over 0, such as 90s")
		}
		l.MaxDurationMs = &ms
	case "soft":
		return part(&l.Soft, value, true)
	case "grace":
		return part(&l.Grace, value, false)
	case "strict":
		strict, err := strconv.ParseBool(first(value, "true"))
		if err != nil {
			return errors.New("it needs true or false")
		}
		l.Strict = strict
	default:
		if n := near.Nearest(key, limitNames); n != "" {
			return fmt.Errorf("there is no such limit; did you mean %q?", n)
		}
		return errors.New("there are " + strings.Join(limitNames, ", "))
	}
	return nil
}

func whole(to **int, value string, low, high int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return fmt.Errorf("it needs a number from %d to %d", low, high)
	}
	*to = &n
	return nil
}

// part reads a part of a whole; over says that it cannot be nothing.
func part(to **float64, value string, over bool) error {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f >= 0 && f <= 1) || over && f == 0 {
		return errors.New("it needs a part between 0 and 1, such as 0.8")
	}
	*to = &f
	return nil
}

// boundsText tells limits in one line.
func boundsText(l *workflow.AgentLimits) string {
	if l == nil {
		return "none"
	}
	var parts []string
	add := func(name string, there bool, value any) {
		if there {
			parts = append(parts, fmt.Sprintf("%s %v", name, value))
		}
	}
	add("maxDepth", l.MaxDepth != nil, value(l.MaxDepth))
	add("maxFanout", l.MaxFanout != nil, value(l.MaxFanout))
	add("maxSpawns", l.MaxSpawns != nil, value(l.MaxSpawns))
	add("tokenBudget", l.MaxTokens != nil, value(l.MaxTokens))
	add("maxCostUsd", l.MaxCostUSD != nil, value(l.MaxCostUSD))
	if l.MaxDurationMs != nil {
		parts = append(parts, fmt.Sprint("maxDuration ", time.Duration(*l.MaxDurationMs)*time.Millisecond))
	}
	add("soft", l.Soft != nil, value(l.Soft))
	add("grace", l.Grace != nil, value(l.Grace))
	if l.Strict {
		parts = append(parts, "strict")
	}
	return strings.Join(parts, ", ")
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
