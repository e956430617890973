package deliverable

import "fmt"

// Strictness of a review.
const (
	Lenient  = "lenient"  // what is wrong is a warning
	Standard = "standard" // what is wrong is an error
	Strict   = "strict"   // warnings are errors too
)

// Severities of issues.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Verdicts of a report.
const (
	Pass   = "pass"
	Warn   = "warn"
	Failed = "fail"
)

// Codes of issues beside the reasons of faults.
const (
	InsufficientArtifacts = "INSUFFICIENT_ARTIFACTS"
	ExcessArtifacts       = "EXCESS_ARTIFACTS"
	Note                  = "NOTE" // a warning of the verdict
)

// Issue is one finding of a review.
type Issue struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Path     string `json:"path,omitempty"`
}

// Report is a review of artifacts that exist already. Nothing is asked of a model.
type Report struct {
	Verdict string  `json:"verdict"` // Pass, Warn or Failed
	Issues  []Issue `json:"issues"`
}

// Review holds a harvest against the spec: how many files there are, and all that
// Judge looks at. Strictness "" is Standard.
func (s *Spec) Review(h Harvest, strictness string) Report {
	severity, noted := SeverityError, SeverityWarning
	switch strictness {
	case Lenient:
		severity = SeverityWarning
	case Strict:
		noted = SeverityError
	}
	r := Report{Issues: []Issue{}}
	least := 1
	if s.Rules.Min != nil {
		least = *s.Rules.Min
	}
	n := len(h.Files)
	if s.Contract.Mode != ModeResponse && n < least {
		r.Issues = append(r.Issues, Issue{severity, InsufficientArtifacts, fmt.Sprintf("%d artifacts, at least %d are wanted", n, least), ""})
	}
	if most := s.Rules.Max; most != nil && n > *most {
		r.Issues = append(r.Issues, Issue{severity, ExcessArtifacts, fmt.Sprintf("%d artifacts, at most %d are wanted", n, *most), ""})
	}
	if n > 0 || s.Contract.Mode == ModeResponse {
		v := s.Judge(h)
		for _, f := range v.Faults {
			r.Issues = append(r.Issues, Issue{severity, string(f.Reason), f.Message, f.Path})
		}
		for _, w := range v.Warnings {
			r.Issues = append(r.Issues, Issue{noted, Note, w, ""})
		}
	}
	r.Verdict = Pass
	for _, issue := range r.Issues {
		if issue.Severity == SeverityError {
			r.Verdict = Failed
			break
		}
		r.Verdict = Warn
	}
	return r
}
