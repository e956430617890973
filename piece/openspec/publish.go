package openspec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// publisher brings the files of a repository into the state of a manifest. Each
// step leaves a file in its old or in its new state, so that it can be stopped
// and begun again anywhere.
type publisher struct {
	v     *visit
	m     *manifest
	desk  string
	to    *os.Root // OpenSpec folder of the repository
	from  *os.Root // the prepared one
	new   places
	begun bool     // at least one operation is done
	left  []string // directories that could not be removed
}

// publish does what is not done yet. It returns directories that stay because
// other files are in them.
func (v *visit) publish(m *manifest, desk string) ([]string, error) {
	to, err := os.OpenRoot(v.path(folder))
	if err != nil {
		return nil, v.errorf(workflow.CodePublishConflict, "opening the folder to publish to: %w", err)
	}
	defer to.Close()
	from, err := os.OpenRoot(filepath.Join(desk, preparedName, folder))
	if err != nil {
		return nil, v.errorf(workflow.CodePublishConflict, "opening what was prepared: %w", err)
	}
	defer from.Close()
	p := &publisher{v: v, m: m, desk: desk, to: to, from: from, new: places{}}
	todo, err := p.todo()
	if err != nil {
		return nil, err
	}
	for _, dir := range m.Make {
		p.new.add(dir)
		if err := to.MkdirAll(dir, 0o755); err != nil {
			return nil, p.broken(dir, err)
		}
	}
	if err := p.all(todo); err != nil {
		return nil, err
	}
	err = p.finish()
	return p.left, err
}

// all does the operations. What is new is durable before anything goes.
func (p *publisher) all(todo []operation) error {
	if err := p.drafts(todo); err != nil {
		return err
	}
	for i, o := range todo {
		if i > 0 && o.order() != todo[i-1].order() {
			if err := p.sync(); err != nil {
				return err
			}
		}
		if err := p.v.Probe("publishing " + o.Path); err != nil {
			return err
		}
		p.new.add(o.Path)
		if err := p.do(o); err != nil {
			return err
		}
	}
	return p.sync()
}

// drafts writes all that is new beside its place, so that a full disk is met
// before anything changes.
func (p *publisher) drafts(todo []operation) error {
	for _, o := range todo {
		if o.After == stateAbsent {
			continue
		}
		if err := p.v.Probe("drafting " + o.Path); err != nil {
			return err
		}
		if err := p.draft(o); err != nil {
			p.withdraw()
			return p.broken(o.Path, err)
		}
	}
	return p.sync()
}

// withdraw removes drafts, and directories that were made for them alone.
func (p *publisher) withdraw() {
	for _, o := range p.m.Operations {
		_ = p.to.Remove(draftOf(o.Path)) // what stays is removed by the next attempt
	}
	for _, dir := range slices.Backward(p.m.Make) {
		_ = p.to.Remove(dir)
	}
}

func (p *publisher) sync() error {
	if err := p.new.sync(p.to); err != nil {
		return p.broken("", err)
	}
	return nil
}

// todo returns the operations that are not done, in order. A file that is in
// neither state stops the archive before anything else is changed.
func (p *publisher) todo() (todo []operation, err error) {
	for _, o := range p.m.Operations { // an attempt that was stopped leaves drafts, and names that are not durable
		p.new.add(o.Path)
		if err := p.to.Remove(draftOf(o.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, p.broken(o.Path, err)
		}
	}
	for _, o := range p.m.Operations {
		is, err := stateOf(p.to, o.Path)
		if err != nil {
			return nil, p.broken(o.Path, err)
		}
		switch is {
		case o.After:
			p.begun = true
		case o.Before:
			todo = append(todo, o)
		default:
			p.withdraw()
			return nil, p.conflict(o)
		}
	}
	return todo, nil
}

// do brings one path from its old state to the new one.
func (p *publisher) do(o operation) error {
	if is, err := stateOf(p.to, o.Path); err != nil || is != o.Before {
		p.withdraw()
		return p.conflict(o)
	}
	if err := p.v.Probe("placing " + o.Path); err != nil {
		return err
	}
	if err := p.place(o); err != nil {
		return p.broken(o.Path, err)
	}
	p.begun = true
	return nil
}

func (p *publisher) place(o operation) error {
	switch {
	case o.After == stateAbsent:
		return p.to.Remove(o.Path)
	case o.Before == stateAbsent && !strings.HasPrefix(o.After, prefixLink):
		return p.create(o)
	}
	return p.to.Rename(draftOf(o.Path), o.Path)
}

// create gives a draft its name, and never takes one that is in use, where the
// file system can tell.
func (p *publisher) create(o operation) error {
	draft := draftOf(o.Path)
	switch err := p.to.Link(draft, o.Path); {
	case err == nil:
		if err := p.v.Probe("clearing " + o.Path); err != nil {
			return err
		}
		return p.to.Remove(draft)
	case errors.Is(err, fs.ErrExist):
		p.withdraw()
		return p.conflict(o)
	}
	return p.to.Rename(draft, o.Path)
}

// draft writes the new content beside its place.
func (p *publisher) draft(o operation) error {
	draft := draftOf(o.Path)
	if err := p.to.MkdirAll(path.Dir(o.Path), 0o755); err != nil {
		return err
	}
	if strings.HasPrefix(o.After, prefixLink) {
		text, err := p.from.Readlink(o.Path)
		switch {
		case err != nil:
			return err
		case linkState(text) != o.After:
			return errPrepared
		}
		return p.to.Symlink(text, draft)
	}
	into, err := p.to.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := into.Chmod(o.Perm); err != nil {
		return errors.Join(err, into.Close())
	}
	state, err := digest(p.from, o.Path, o.Perm, synced{into})
	if err == nil && state != o.After {
		err = errPrepared
	}
	return err
}

var errPrepared = errors.New("the prepared file is not what the manifest says")

// synced is a file that is durable when it is closed.
type synced struct{ *os.File }

// Close flushes and closes.
func (s synced) Close() error { return errors.Join(s.Sync(), s.File.Close()) }

// finish removes the directories that the archive emptied.
func (p *publisher) finish() error {
	for _, dir := range p.m.Remove {
		if err := p.v.Probe("removing " + dir); err != nil {
			return err
		}
		p.new.add(dir)
		if err := p.to.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.left = append(p.left, dir)
		}
	}
	if err := p.sync(); err != nil {
		return err
	}
	return p.v.Probe("done")
}

// draftOf is the name beside a file under which its new content is written. It
// is short, whatever the name of the file.
func draftOf(name string) string {
	return path.Join(path.Dir(name), ".tenon-"+canon.Sum([]byte(path.Base(name)))[:16])
}

// conflict is the error about a file that is neither old nor new.
func (p *publisher) conflict(o operation) error {
	return p.v.errorf(workflow.CodePublishConflict, "%s was changed by somebody else while the archive of %s was being published; it was not touched",
		p.v.path(folder+"/"+o.Path), p.m.Change).WithHint("%s", p.byHand())
}

// byHand is how a person finishes what cannot be finished here.
func (p *publisher) byHand() string {
	if !p.begun {
		return "nothing is published: mend it, and archive the change again"
	}
	return fmt.Sprintf("the finished folder is %s: take your change over into it and put it in the place of %s",
		filepath.Join(p.desk, preparedName, folder), p.v.path(folder))
}

// broken is the error about a step that the file system refused.
func (p *publisher) broken(name string, err error) error {
	var stop *workflow.Error
	if errors.As(err, &stop) {
		return err
	}
	return p.v.errorf(workflow.CodePublishConflict, "publishing %s: %w", p.v.path(folder+"/"+name), err).WithHint("%s", p.byHand())
}
