package artifact

import (
	"unicode/utf8"

	"github.com/tenonrun/tenon/workflow"
)

// DefaultMaxBytes is the size in bytes of the longest content when nothing else
// is configured: 32 MiB.
const DefaultMaxBytes = 32 << 20

// MaxLabel is the length in bytes of the longest title, mime type and language.
const MaxLabel = 4 << 10

// Limits bound what is taken. The zero value has the defaults.
type Limits struct {
	// MaxBytes is the size of the longest content in UTF-8; 0 is DefaultMaxBytes.
	MaxBytes int64
}

// Draft is a whole artifact that somebody writes: a new one, or a revision of the
// one that has its id. It may give it another title and type.
type Draft struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Mime     string `json:"mime"`
	Language string `json:"language,omitempty"` // "" clears that of the revision before
	Content  string `json:"content"`            // UTF-8; kept byte for byte
	Author   Author `json:"author,omitempty"`
	// Key names the write, and becomes the id of its revision: a draft with a key
	// that is in the log is answered as it was then, and nothing is stored. "" is a
	// write of its own.
	Key string `json:"-"`
	// After is the position in the history of the run at which a person writes.
	After int64 `json:"-"`
}

// Edit is a new content that a person gives an artifact. Its title, type and
// language stay.
type Edit struct {
	Artifact string
	Content  string // UTF-8; kept byte for byte
	// Base is the version that the person saw. When it is not the current one any
	// more, the edit is refused with workflow.CodeArtifactConflict. 0 does not ask.
	Base int64
	// After is the position in the history of the run; 0 is not known.
	After int64
}

// Most is the size of the longest content, in bytes.
func (l Limits) Most() int64 {
	if l.MaxBytes <= 0 {
		return DefaultMaxBytes
	}
	return l.MaxBytes
}

// Check tells whether a content may be kept. The error has
// workflow.CodeArtifactTooLarge or CodeInvalidArtifact.
func (l Limits) Check(artifact, content string) error {
	most := l.Most()
	if n := int64(len(content)); n > most {
		return workflow.Errorf(workflow.CodeArtifactTooLarge, "the content of artifact %s has %d bytes, the limit is %d: nothing was stored", artifact, n, most).
			WithHint("split it into several artifacts, or raise the limit")
	}
	if !utf8.ValidString(content) {
		return workflow.Errorf(workflow.CodeInvalidArtifact, "the content of artifact %s is not UTF-8 text: nothing was stored", artifact).
			WithHint("give a picture as base64")
	}
	return nil
}

func checkLabels(title, mime, language string) error {
	for _, l := range []struct{ what, text string }{{"title", title}, {"mime type", mime}, {"language", language}} {
		if len(l.text) > MaxLabel {
			return workflow.Errorf(workflow.CodeInvalidArtifact, "the %s of an artifact has %d bytes, the limit is %d", l.what, len(l.text), MaxLabel)
		}
		if !utf8.ValidString(l.text) {
			return workflow.Errorf(workflow.CodeInvalidArtifact, "the %s of an artifact is not UTF-8 text", l.what)
		}
	}
	return nil
}

func (d *Draft) check(l Limits) error {
	if err := CheckID(d.ID); err != nil {
		return err
	}
	if err := checkLabels(d.Title, d.Mime, d.Language); err != nil {
		return err
	}
	for _, l := range []string{d.Title, d.Mime, d.Language} {
		if controls(l) {
			return workflow.Errorf(workflow.CodeInvalidArtifact, "the title, mime type or language of artifact %s has a control character: %q", d.ID, l).
				WithHint("write it in one line of text")
		}
	}
	if len(d.Key) > MaxID || controls(d.Key) {
		return workflow.Errorf(workflow.CodeInvalidArtifact, "the key of a write of artifact %s is not one", d.ID)
	}
	if d.Author != Model && d.Author != Person {
		return workflow.Errorf(workflow.CodeInvalidArtifact, "the author %q of artifact %s is not known", d.Author, d.ID)
	}
	return l.Check(d.ID, d.Content)
}
