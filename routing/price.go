package routing

import "github.com/tenonrun/tenon/workflow"

// Price is what a model cost on a day, in US dollars for a million tokens.
type Price struct {
	In  float64 `json:"in"`
	Out float64 `json:"out"` // reasoning included
	// CacheRead and CacheWrite are of prompt tokens that were read from a cache
	// or written to one; where nothing is said, they cost what others do.
	CacheRead  *float64 `json:"cacheRead,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty"`
	AsOf       string   `json:"asOf"` // the day, as 2026-11-01
}

const million = 1_000_000

// Cost returns what a call cost in US dollars: what the provider said, else what
// the price gives, else nil, which is unknown and not nothing.
func (m Model) Cost(u workflow.Usage) *float64 {
	if u.CostUSD != nil {
		usd := *u.CostUSD
		return &usd
	}
	if m.Price == nil || u.Input == nil || u.Output == nil {
		return nil
	}
	read, write := tokens(u.Cached), tokens(u.CacheWrite)
	fresh := max(0, tokens(u.Input)-read-write)
	usd := (fresh*m.Price.In + read*m.Price.read() + write*m.Price.write() + tokens(u.Output)*m.Price.Out) / million
	return &usd
}

// Bound returns the most that a call can cost in US dollars, given bounds of its
// prompt and of its answer in tokens; nil when the price is not known.
func (m Model) Bound(prompt, output int64) *float64 {
	if m.Price == nil {
		return nil
	}
	dearest := max(m.Price.In, m.Price.read(), m.Price.write())
	usd := (float64(max(0, prompt))*dearest + float64(max(0, output))*m.Price.Out) / million
	return &usd
}

// Bound returns the most that a call can cost with the dearest of the models that
// may answer it; nil when the price of any of them is not known.
func (c Choice) Bound(prompt, output int64) *float64 {
	var most *float64
	for _, m := range c.Models {
		usd := m.Bound(prompt, output)
		if usd == nil {
			return nil
		}
		if most == nil || *usd > *most {
			most = usd
		}
	}
	return most
}

func (p Price) read() float64 { return orElse(p.CacheRead, p.In) }

func (p Price) write() float64 { return orElse(p.CacheWrite, p.In) }

func orElse(v *float64, other float64) float64 {
	if v == nil {
		return other
	}
	return *v
}

func tokens(n *int64) float64 {
	if n == nil {
		return 0
	}
	return float64(max(0, *n))
}
