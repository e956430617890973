package deliverable

import (
	"encoding/json"
	"slices"
)

// Reason is why a deliverable is not accepted. The list is closed.
type Reason string

// Reasons.
const (
	MissingFile     Reason = "MISSING_FILE"     // not there as a file that can be taken in
	MissingPage     Reason = "MISSING_PAGE"     // the same of a page of a document
	SchemaViolation Reason = "SCHEMA_VIOLATION" // the contract is met in form, not in content
	MalformedJSON   Reason = "MALFORMED_JSON"
	EmptyResponse   Reason = "EMPTY_RESPONSE"
	WrongTargetSlot Reason = "WRONG_TARGET_SLOT" // it is, or leads, somewhere else
	HarvestError    Reason = "HARVEST_ERROR"     // the host could not read; no fault of the turn
)

// Fault is one thing that is wrong.
type Fault struct {
	Reason  Reason `json:"reason"`
	Path    string `json:"path,omitempty"`    // of the file, relative to the slot
	Pointer string `json:"pointer,omitempty"` // of the value in it
	Message string `json:"message"`           // what is wrong and what is wanted
}

// String gives REASON PATH#POINTER: MESSAGE.
func (f Fault) String() string {
	at := f.Path
	if f.Pointer != "" {
		at += "#" + f.Pointer
	}
	if at != "" {
		at = " " + at
	}
	return string(f.Reason) + at + ": " + f.Message
}

// Verdict is the judgement of a harvest.
type Verdict struct {
	Faults   []Fault  `json:"faults"`
	Warnings []string `json:"warnings,omitempty"`
	// Content is what is delivered; with faults, what is usable of it.
	Content Content `json:"content"`
}

// Accepted reports whether the contract is met.
func (v Verdict) Accepted() bool { return len(v.Faults) == 0 }

// Mechanical reports whether the harvest failed: nothing is known of the work.
func (v Verdict) Mechanical() bool {
	return slices.ContainsFunc(v.Faults, func(f Fault) bool { return f.Reason == HarvestError })
}

// Content is what a turn delivered.
type Content struct {
	Kind     string          `json:"kind"`               // of the spec
	Value    json.RawMessage `json:"value,omitempty"`    // the JSON that the schema is about
	Files    []File          `json:"files,omitempty"`    // all of them, by path
	Manifest string          `json:"manifest,omitempty"` // of a document with pages
	Pages    []Page          `json:"pages,omitempty"`
	Text     string          `json:"text,omitempty"` // of mode response-only
}

// Judge says whether a harvest meets a spec. After a fault of the harvest nothing
// else is judged: what could not be read is not missing.
func (s *Spec) Judge(h Harvest) Verdict {
	j := judge{spec: s, harvest: &h, content: Content{Kind: s.Kind}, used: map[string]bool{}}
	j.warnings = slices.Clone(h.Warnings)
	broken := slices.DeleteFunc(slices.Clone(h.Faults), func(f Fault) bool { return f.Reason != HarvestError })
	switch {
	case len(broken) > 0:
		j.faults = broken
	case s.Contract.Mode == ModeResponse:
		j.response()
	default:
		j.faults = slices.Clone(h.Faults)
		j.files()
	}
	if j.faults == nil {
		j.faults = []Fault{}
	}
	return Verdict{Faults: j.faults, Warnings: j.warnings, Content: j.content}
}
