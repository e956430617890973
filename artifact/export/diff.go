package export

import (
	"context"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/tenonrun/tenon/artifact"
)

// Bounds of a comparison.
const (
	MaxDiffLines = 20_000  // of both texts together
	MaxDiffBytes = 8 << 20 // of both texts together
)

// Difference is what changed between two versions of an artifact.
type Difference struct {
	From artifact.Revision `json:"from"`
	To   artifact.Revision `json:"to"`
	// Text is a unified difference; "" when the contents are equal, or are not
	// compared.
	Text string `json:"text,omitempty"`
	Same bool   `json:"same"`          // the contents are equal
	Why  string `json:"why,omitempty"` // why they are not compared: pictures, or too large
}

// Diff compares two versions of an artifact. artifact.Latest is the current one.
// Errors have the codes of the store.
func Diff(ctx context.Context, s artifact.Store, id string, from, to int64) (Difference, error) {
	var d Difference
	var before, after string
	var err error
	if d.From, before, err = s.Read(ctx, id, from); err != nil {
		return Difference{}, fmt.Errorf("comparing versions: %w", err)
	}
	if d.To, after, err = s.Read(ctx, id, to); err != nil {
		return Difference{}, fmt.Errorf("comparing versions: %w", err)
	}
	if d.Same = d.From.Digest == d.To.Digest; d.Same {
		return d, nil
	}
	picture := artifact.KindOf(d.From.Mime) == artifact.Image || artifact.KindOf(d.To.Mime) == artifact.Image
	switch {
	case picture:
		d.Why = "pictures are not compared by lines"
	case len(before)+len(after) > MaxDiffBytes:
		d.Why = fmt.Sprintf("the texts are too large to compare: more than %d bytes together", MaxDiffBytes)
	case strings.Count(before, "\n")+strings.Count(after, "\n") > MaxDiffLines:
		d.Why = fmt.Sprintf("the texts are too large to compare: more than %d lines together", MaxDiffLines)
	default:
		d.Text = unified(label(&d.From), before, label(&d.To), after)
	}
	return d, nil
}

// label names a side of a difference, with its author.
func label(r *artifact.Revision) string {
	who := "agent"
	if r.Author == artifact.Person {
		who = "person"
	}
	return fmt.Sprintf("%s@%d (%s)", r.Artifact, r.Version, who)
}

// unified returns the difference without the line that names a command.
func unified(oldName, before, newName, after string) string {
	text := string(diff.Diff(oldName, []byte(before), newName, []byte(after)))
	_, text, _ = strings.Cut(text, "\n")
	return text
}
