package artifact

import (
	"cmp"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// Author says who wrote a revision.
type Author string

// The authors.
const (
	Model  Author = ""     // an agent, a script or a workflow
	Person Author = "user" // somebody at a terminal or a page
)

// Revision is one version of an artifact, without its content: what a log keeps.
// A deletion is a revision too, that says which ones are gone.
type Revision struct {
	ID       string `json:"id,omitempty"`     // of the revision, the same on every device; old logs have none
	Seq      int64  `json:"seq,omitempty"`    // the collection's Lamport time; old logs have none
	Device   string `json:"device,omitempty"` // where it was written
	Artifact string `json:"artifact"`         // the id of the artifact
	Title    string `json:"title"`
	Mime     string `json:"mime"`
	Language string `json:"language,omitempty"` // for highlighting
	Version  int64  `json:"version"`            // 1, 2, 3…; of a deletion the highest number that was given, 0 when it does not say
	Digest   string `json:"sha256,omitempty"`   // of the content, 64 lower hex digits
	Bytes    int64  `json:"bytes"`              // of the content in UTF-8
	At       int64  `json:"at"`                 // milliseconds since 1970
	Author   Author `json:"author,omitempty"`
	Deleted  bool   `json:"deleted,omitempty"` // what came before it is gone
	After    int64  `json:"after,omitempty"`   // of a person's: the position in the history of the run when it was written; 0 is not known
}

// before orders the revisions of a log: by Lamport time, device and id. Revisions
// of old logs have none of these; they come first, by their time.
func (r *Revision) before(o *Revision) bool { return r.compare(o) < 0 }

func (r *Revision) compare(o *Revision) int {
	if r.Seq != o.Seq {
		return cmp.Compare(r.Seq, o.Seq)
	}
	return cmp.Or(
		cmp.Compare(r.Device, o.Device),
		cmp.Compare(r.ID, o.ID),
		cmp.Compare(r.At, o.At),
		cmp.Compare(r.Artifact, o.Artifact),
		cmp.Compare(r.Version, o.Version),
		cmp.Compare(r.Digest, o.Digest),
		cmp.Compare(r.Title, o.Title),
	)
}

// age orders the revisions of an artifact. The number counts; of twins, which two
// devices wrote under one number, the order of the log.
func (r *Revision) age(o *Revision) int {
	return cmp.Or(cmp.Compare(r.Version, o.Version), r.compare(o))
}

// newer reports whether r is more current than o.
func (r *Revision) newer(o *Revision) bool { return r.age(o) > 0 }

// Check tells whether a revision is whole. The error has
// workflow.CodeInvalidArtifactID, CodeSeqOutOfRange or CodeInvalidArtifact.
func (r *Revision) Check() error {
	if err := CheckID(r.Artifact); err != nil {
		return err
	}
	if err := checkLabels(r.Title, r.Mime, r.Language); err != nil {
		return err
	}
	if r.Seq < 0 || r.Seq > MaxSeq || r.Version > MaxSeq {
		return workflow.Errorf(workflow.CodeSeqOutOfRange, "a revision of %s has the counter %d and the number %d, beyond %d", r.Artifact, r.Seq, r.Version, int64(MaxSeq)).
			WithHint("the device that wrote it is broken; leave its log out")
	}
	var why string
	switch {
	case r.Version < 1 && !(r.Deleted && r.Version == 0):
		why = "its number is below 1"
	case r.Author != Model && r.Author != Person:
		why = "its author is not known here"
	case len(r.ID) > MaxID || len(r.Device) > MaxID || controls(r.ID+r.Device):
		why = "its id or device is not one"
	case r.Deleted && (r.ID == "" || r.Seq == 0):
		why = "a deletion has an id and a counter"
	case !r.Deleted && !isDigest(r.Digest):
		why = "the digest of its content is not one"
	case r.After < 0 || r.After > MaxSeq:
		why = "its position in a history is not one"
	case r.Bytes < 0:
		why = "its size is below 0"
	default:
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalidArtifact, "a revision of %s is refused: %s", r.Artifact, why)
}

// Key returns the key of a write that is named by its parts: the run, the visit and
// the step that make it.
func Key(parts ...string) string { return canon.Sum([]byte(strings.Join(parts, "\x00"))) }

func isDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Digest returns the digest under which a content is kept.
func Digest(content string) string { return canon.Sum([]byte(content)) }

func controls(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// key is what makes a revision the same as another one. One without an id is the
// same when all that happened is.
func (r *Revision) key() any {
	if r.ID != "" {
		return r.ID
	}
	return bare{r.Artifact, r.Digest, r.Version, r.At}
}

type bare struct {
	artifact, digest string
	version, at      int64
}

// Version is a revision as a reader sees it.
type Version struct {
	Version   int64  `json:"version"`
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"createdAt"` // milliseconds since 1970
	Author    Author `json:"author,omitempty"`
	Device    string `json:"device,omitempty"`
	Digest    string `json:"sha256"`
}

// Descriptor tells of an artifact without its content. It is what events carry.
type Descriptor struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	Mime         string       `json:"mime"`
	Kind         Kind         `json:"kind"`
	Language     string       `json:"language,omitempty"`
	Version      int64        `json:"version"`          // the current one
	Bytes        int64        `json:"bytes"`            // of the current version
	Author       Author       `json:"author,omitempty"` // of the current version
	VersionCount int          `json:"versionCount"`     // twins count each
	Publication  *Publication `json:"publication,omitempty"`
	Digest       string       `json:"sha256"`        // of the current version
	Seq          int64        `json:"seq,omitempty"` // the Lamport time of the current version
}

// Made tells a run of the artifact as it wrote it.
func (d *Descriptor) Made(collection string) *workflow.Made {
	return &workflow.Made{
		Collection: collection, ID: d.ID, Title: d.Title, Mime: d.Mime, Kind: string(d.Kind), Language: d.Language,
		Version: d.Version, Bytes: d.Bytes, Digest: d.Digest,
	}
}

// Artifact is a thing with all its versions, by number and, among twins, in the
// order in which they were written; the last one is the current one.
type Artifact struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Mime        string       `json:"mime"`
	Kind        Kind         `json:"kind"`
	Language    string       `json:"language,omitempty"`
	Versions    []Version    `json:"versions"`
	Publication *Publication `json:"publication,omitempty"`
}

// Find returns a version by its number, of twins the last one; false when there
// is none of that number.
func (a *Artifact) Find(version int64) (Version, bool) {
	for i := len(a.Versions) - 1; i >= 0; i-- {
		if a.Versions[i].Version == version {
			return a.Versions[i], true
		}
	}
	return Version{}, false
}

// Current returns the current version.
func (a *Artifact) Current() Version {
	if len(a.Versions) == 0 {
		return Version{}
	}
	return a.Versions[len(a.Versions)-1]
}

// Twins returns the numbers that more than one device gave, in order.
func (a *Artifact) Twins() []int64 {
	var twins []int64
	for i, v := range a.Versions {
		again := i > 0 && a.Versions[i-1].Version == v.Version
		if again && (len(twins) == 0 || twins[len(twins)-1] != v.Version) {
			twins = append(twins, v.Version)
		}
	}
	return twins
}
