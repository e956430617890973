package openspec

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// Changes is what pieces of other rooms need of a change. It is safe for
// concurrent use.
type Changes struct {
	cfg   Config
	known *versions
}

// NewChanges returns a Changes.
func NewChanges(c Config) *Changes { return &Changes{cfg: c.filled(), known: &versions{}} }

// State is what a work tree holds of a change. The zero State is none.
type State struct {
	Digest   string // of the documents of an active change, whatever is ticked off in its tasks
	Archived bool   // there is no active one any more, but an archived one
	Begun    bool   // this visit has decided to archive it, and was stopped
}

// Look tells what the repositories of a visit hold of a change.
func (s *Changes) Look(_ context.Context, c piece.Context, name string) (State, error) {
	uses := func(r workflow.RepositoryInfo) bool { return isDir(filepath.Join(r.Path, folder, "changes")) }
	if !slices.ContainsFunc(c.Frame().Repositories, uses) {
		return State{}, nil
	}
	v, err := s.visit(c, name)
	if err != nil {
		return State{}, err
	}
	var is State
	if d, ok := c.(piece.Desk); ok {
		desk, err := d.Dir()
		if err != nil {
			return State{}, err
		}
		m, err := v.decided(desk)
		if err != nil {
			return State{}, err
		}
		is.Begun = m != nil
	}
	active, err := v.active()
	switch {
	case err != nil:
		return State{}, err
	case !active:
		newest, err := v.archived()
		is.Archived = newest != ""
		return is, err
	}
	d, err := v.collect()
	if err != nil {
		return State{}, err
	}
	sum, err := v.freeze(d)
	is.Digest = string(sum.Digest)
	return is, err
}

// Archive archives a change, if the work tree is still the candidate when it is
// published. Called again in the same visit it finishes what was begun, and
// succeeds when all was done. A change that others archived is an error with
// CodeChangeNotFound.
func (s *Changes) Archive(ctx context.Context, c piece.Context, name, candidate string) error {
	v, err := s.visit(c, name)
	if err != nil {
		return err
	}
	v.p.ReviewedCandidate = &candidate
	done, err := archive(ctx, v)
	if err != nil {
		return err
	}
	if e := done.Error; e != nil {
		return workflow.Errorf(e.Code, "%s", e.Message)
	}
	return nil
}

// visit is the work of a node of another kind on a change.
func (s *Changes) visit(c piece.Context, name string) (*visit, error) {
	v := &visit{Config: s.cfg, known: s.known, c: c, f: c.Frame(), change: name, guest: true}
	if !isName(name) {
		return nil, v.errorf(workflow.CodeInvalidArguments, "%q is not the name of a change", name).WithHint("%s", nameHint)
	}
	return v, v.place()
}
