package artifact

import (
	"github.com/tenonrun/tenon/workflow"
)

// Visibility says who may follow the link of a publication. Only a server can
// keep it.
type Visibility string

// The visibilities.
const (
	Unlisted Visibility = "unlisted" // whoever knows the link
	Team     Visibility = "team"     // the members of a team
)

// Publication is the record of what was sent where. It is no revision: it stays
// on the device that published. What a link shows changes only by another
// publication.
type Publication struct {
	URL        string     `json:"url"`
	Visibility Visibility `json:"visibility"` // "" is Unlisted
	TeamID     string     `json:"teamId,omitempty"`
	Version    int64      `json:"version"`          // the one that was sent
	Digest     string     `json:"sha256,omitempty"` // of its content; the store fills it in
	At         int64      `json:"at,omitempty"`     // milliseconds since 1970
}

// Stale reports whether the link of an artifact shows another text than the
// current version. It is false without a publication.
func (d *Descriptor) Stale() bool {
	p := d.Publication
	return p != nil && p.Digest != d.Digest
}

func (p *Publication) check(id string) error {
	var why string
	switch {
	case p.URL == "" || controls(p.URL):
		why = "its URL is not one"
	case p.Visibility != Unlisted && p.Visibility != Team:
		why = "its visibility is neither unlisted nor team"
	case p.TeamID != "" && p.Visibility != Team:
		why = "only a publication for a team has a team"
	default:
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalidArtifact, "a publication of artifact %s is refused: %s", id, why)
}
