package deliverable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// Bounds of messages, in faults and characters.
const (
	maxFaults = 30
	maxLine   = 500
	maxSchema = 8000
)

// name is the spec as messages name it.
func (s *Spec) name() string {
	if s.Title != "" {
		return fmt.Sprintf("%s (%s)", Ref{s.Slug, s.Version}, s.Title)
	}
	return Ref{s.Slug, s.Version}.String()
}

// Correction is the message that asks the model to mend what it delivered. It is
// the same for the same verdict.
func (s *Spec) Correction(v Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The deliverable %s was checked and is not accepted yet. What is wrong:\n\n", s.name())
	list(&b, v.Faults)
	b.WriteString("\nMend exactly this. Keep what is right, and invent no content to pass the check: where something cannot be known, say so in the form that the contract allows.\n\n")
	b.WriteString(s.Instructions())
	b.WriteString("\nThis is the only correction. The result is checked again when your turn ends.\n")
	return b.String()
}

// Violation says for people that the contract is not met, with the faults of both
// attempts where there were two.
func (s *Spec) Violation(before State, v Verdict) string {
	var b strings.Builder
	if v.Mechanical() {
		fmt.Fprintf(&b, "the deliverable %s could not be read in %d attempts:\n", s.name(), before.Harvests)
		list(&b, v.Faults)
		return strings.TrimRight(b.String(), "\n")
	}
	if len(before.First) > 0 {
		fmt.Fprintf(&b, "the deliverable %s does not meet its contract. First attempt:\n", s.name())
		list(&b, before.First)
		b.WriteString("After the correction:\n")
	} else {
		fmt.Fprintf(&b, "the deliverable %s does not meet its contract:\n", s.name())
	}
	list(&b, v.Faults)
	return strings.TrimRight(b.String(), "\n")
}

func list(b *strings.Builder, faults []Fault) {
	for i, f := range faults {
		if i == maxFaults {
			fmt.Fprintf(b, "- and %d more\n", len(faults)-i)
			return
		}
		b.WriteString("- " + text.Head(strings.Join(strings.Fields(f.String()), " "), maxLine, "…") + "\n")
	}
}

// Instructions tell a model what to deliver, and where. Paths are relative to the
// workspace.
func (s *Spec) Instructions() string {
	var b strings.Builder
	c := s.Contract
	if c.Mode == ModeResponse {
		b.WriteString("Deliver it as your last message")
		if s.JSON() {
			b.WriteString(", as JSON and nothing else")
		}
		b.WriteString(".\n")
	} else {
		s.places(&b)
	}
	s.schemas(&b)
	if c.Notes != "" {
		b.WriteString(strings.TrimRight(c.Notes, "\n") + "\n")
	}
	return b.String()
}

func (s *Spec) schemas(b *strings.Builder) {
	where := "The JSON"
	if i := s.mainFile(); i >= 0 && s.Contract.Mode != ModeResponse {
		where = s.Contract.Files[i].Path
	}
	more := "… (the whole is in deliverable-specs/" + s.Slug + ".json)"
	if len(s.Schema) > 0 {
		fmt.Fprintf(b, "%s has to meet this JSON Schema:\n%s\n", where, text.Head(compact(s.Schema), maxSchema, more))
	}
	for _, further := range s.Further {
		fmt.Fprintf(b, "%s has to meet this one as well:\n%s\n", where, text.Head(compact(further), maxSchema, more))
	}
}

func (s *Spec) places(b *strings.Builder) {
	c := s.Contract
	fmt.Fprintf(b, "Deliver in %s/:\n", c.Slot)
	for _, f := range c.Files {
		fmt.Fprintf(b, "- %s (%s", f.Path, f.Content)
		if !f.Required {
			b.WriteString(", optional")
		}
		b.WriteString(")")
		if f.Purpose != "" {
			b.WriteString(": " + f.Purpose)
		}
		b.WriteString("\n")
	}
	if c.Pages != nil {
		if c.Pages.Manifest != "" {
			fmt.Fprintf(b, "- %s (json): the list of pages\n", c.Pages.Manifest)
		}
		for _, p := range c.Pages.Pages {
			fmt.Fprintf(b, "- %s", c.Pages.Path(p.Slug))
			if p.Title != "" {
				b.WriteString(": " + p.Title)
			}
			b.WriteString("\n")
		}
	}
	if len(c.Files) == 0 && c.Pages == nil {
		b.WriteString("- the files of your result, at least one\n")
	}
	if c.Slot.Kind == SlotDeliverables {
		fmt.Fprintf(b, "List them in %s/%s: {\"deliverables\": [{\"path\": \"FILE\", \"kind\": \"WHAT IT IS\"}]}. Write real files, no links.\n", c.Slot, IndexFile)
	}
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw)
	}
	return b.String()
}
