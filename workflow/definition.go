package workflow

import "encoding/json"

// Definition is an immutable graph document, in its parsed form. The document
// itself is kept as text: its identity is the digest of that text without its
// version, and this form is derived from it.
type Definition struct {
	SchemaVersion int               `json:"schemaVersion"`
	ID            string            `json:"id"`
	Version       string            `json:"version,omitempty"`
	Title         string            `json:"title"`
	Journal       string            `json:"journal,omitempty"` // format 1: ledger-only | implementation
	Change        string            `json:"change,omitempty"`  // new | existing | none
	Inputs        json.RawMessage   `json:"inputs,omitempty"`  // format 2: JSON Schema of the launch inputs
	Roles         []string          `json:"roles,omitempty"`
	Components    map[string]Body   `json:"components,omitempty"`
	Budget        Budget            `json:"budget,omitzero"`
	Policies      Policies          `json:"policies,omitzero"`
	Delivery      Delivery          `json:"delivery,omitzero"`
	Dimensions    map[string]string `json:"dimensions,omitempty"` // format 2: extra dimensions of the model choice
	Body
}

// Body is a graph of nodes with one entry: the root, a component, a map body or
// a parallel branch.
type Body struct {
	Entry          string          `json:"entry"`
	Nodes          map[string]Node `json:"nodes"`
	MaxTransitions int             `json:"maxTransitions,omitempty"`
	InputNames     []string        `json:"-"` // components: names of parent variables copied in
	Outputs        []string        `json:"outputs,omitempty"`
	OnExhausted    string          `json:"onExhausted,omitempty"` // format 2: node that takes the last visit
}

// Node is one place of a graph.
type Node struct {
	Kind   string             `json:"kind"`
	Params json.RawMessage    `json:"params"`
	Ends   map[string]*string `json:"ends"` // outcome → node, nil ends the body
	Retry  Retry              `json:"retry,omitzero"`
	Label  string             `json:"label,omitempty"`
	Group  string             `json:"group,omitempty"`
}

// Retry says how often and when a failed attempt is repeated. The zero value
// means the defaults: two attempts for AI pieces, one for others.
type Retry struct {
	MaxAttempts int    `json:"maxAttempts,omitempty"` // 1..10
	BackoffMs   *int64 `json:"backoffMs,omitempty"`   // 0..600000, default 5000
	RetryOn     []Code `json:"retryOn,omitempty"`     // default idle_timeout, provider_request_error
}

// Budget is what a run may spend. Zero means no limit.
type Budget struct {
	MaxCostUSD    float64 `json:"maxCostUsd,omitempty"`
	MaxTokens     int64   `json:"maxTokens,omitempty"`
	MaxDurationMs int64   `json:"maxDurationMs,omitempty"` // owned time, waiting for people excluded
}

// Policies are the rules of a run. Zero means the default of the format.
type Policies struct {
	FailFast        int `json:"failFast,omitempty"`        // consecutive failed AI attempts that stop AI work
	NoProgress      int `json:"noProgress,omitempty"`      // "continue" verdicts over an unchanged candidate
	HistoryMaxChars int `json:"historyMaxChars,omitempty"` // bound of $history, code points
	Concurrency     int `json:"concurrency,omitempty"`     // AI pieces at once
}

// Delivery says what a success must prove.
type Delivery struct {
	RequiresVerified *bool `json:"requiresVerified,omitempty"`
}

// UnmarshalJSON reads the body and, where "inputs" is a list of names, the
// inputs of a component.
func (b *Body) UnmarshalJSON(raw []byte) error {
	type plain Body
	var aux struct {
		plain
		Inputs json.RawMessage `json:"inputs"`
	}
	if err := json.Unmarshal(raw, &aux); err != nil {
		return err
	}
	*b = Body(aux.plain)
	if len(aux.Inputs) > 0 && aux.Inputs[0] == '[' {
		return json.Unmarshal(aux.Inputs, &b.InputNames)
	}
	return nil
}

// UnmarshalJSON reads a definition; Body is promoted, so it is read by hand.
func (d *Definition) UnmarshalJSON(raw []byte) error {
	type root struct {
		SchemaVersion int               `json:"schemaVersion"`
		ID            string            `json:"id"`
		Version       string            `json:"version"`
		Title         string            `json:"title"`
		Journal       string            `json:"journal"`
		Change        string            `json:"change"`
		Inputs        json.RawMessage   `json:"inputs"`
		Roles         []string          `json:"roles"`
		Components    map[string]Body   `json:"components"`
		Budget        Budget            `json:"budget"`
		Policies      Policies          `json:"policies"`
		Delivery      Delivery          `json:"delivery"`
		Dimensions    map[string]string `json:"dimensions"`
	}
	var r root
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	var b Body
	if err := json.Unmarshal(raw, &b); err != nil {
		return err
	}
	*d = Definition{
		SchemaVersion: r.SchemaVersion, ID: r.ID, Version: r.Version, Title: r.Title,
		Journal: r.Journal, Change: r.Change, Inputs: r.Inputs, Roles: r.Roles,
		Components: r.Components, Budget: r.Budget, Policies: r.Policies,
		Delivery: r.Delivery, Dimensions: r.Dimensions, Body: b,
	}
	return nil
}
