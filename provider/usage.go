package provider

// Usage counts the tokens of one turn. Nil means unknown, never 0.
//
// One rule holds for every vendor, and adapters convert to it:
//
//   - Input is all prompt tokens, cached and cache-written ones included.
//   - Cached and CacheWrite are disjoint parts of Input: read from and written
//     to the vendor's prompt cache.
//   - Output is all generated tokens, reasoning included; Reasoning is a part
//     of Output.
//
// A vendor that does not report Cached or CacheWrite leaves them nil; their
// tokens are in Input all the same.
//
// So Input + Output is the total, and full-price input is
// Input - Cached - CacheWrite.
type Usage struct {
	Input      *int64   `json:"input"`
	Cached     *int64   `json:"cached"`
	CacheWrite *int64   `json:"cacheWrite"`
	Output     *int64   `json:"output"`
	Reasoning  *int64   `json:"reasoning"`
	CostUSD    *float64 `json:"costUsd"` // what the vendor itself charged, else by a configured price; nil is unknown
}

// Total returns Input + Output, and whether both are known.
func (u Usage) Total() (tokens int64, known bool) {
	if u.Input == nil || u.Output == nil {
		return 0, false
	}
	return *u.Input + *u.Output, true
}

// Known reports whether anything at all is known.
func (u Usage) Known() bool { return u != Usage{} }
