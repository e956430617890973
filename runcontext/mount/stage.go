package mount

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/workflow"
)

// planFile is what a workspace was made from, at its root.
const planFile = ".plan.json"

// stamp is the content of planFile.
type stamp struct {
	AgentsMD     string          `json:"agentsMdSha256"`
	Context      string          `json:"contextJsonSha256"` // of the file
	Plan         runcontext.Plan `json:"mountPlan"`
	SnapshotHash string          `json:"resolvedAgentSnapshotHash"`
	ContextHash  string          `json:"renderedContextHash"`
}

// Staging is a workspace that is not in its place yet. Commit or Discard ends it.
type Staging struct {
	dir     string // where it will be
	staged  string // where it is
	sources *sources
	done    bool
}

// Workspace is a workspace in its place.
type Workspace struct {
	Dir  string
	Kept bool // it was there already, the same, and nothing was written
	// ReadOnly are the absolute paths that no tool may write, for the fence.
	ReadOnly []string
	// Links are the absolute paths in the workspace that lead to work trees, with
	// the paths of these, for the fence.
	Links map[string]string
}

// Stage copies the entries of a plan into a directory beside dir, which is absolute,
// digesting what it copies. What an earlier process left half made is cleared away;
// the caller makes sure that no other one works on dir.
func Stage(ctx context.Context, dir string, entries []runcontext.Entry, limits Limits) (*Staging, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("staging workspace %q: the path is not absolute", dir)
	}
	parent, base := filepath.Split(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, failed(dir, err)
	}
	if err := sweep(parent, base); err != nil {
		return nil, failed(dir, err)
	}
	src, err := expand(ctx, entries, limits.orDefault())
	if err != nil {
		return nil, err
	}
	staged, err := os.MkdirTemp(parent, stagingPrefix(base))
	if err != nil {
		src.close()
		return nil, failed(dir, err)
	}
	s := &Staging{dir: filepath.Clean(dir), staged: staged, sources: src}
	if err := s.fill(ctx); err != nil {
		return nil, errors.Join(err, s.Discard())
	}
	return s, nil
}

func failed(dir string, err error) error {
	return workflow.Errorf(workflow.CodeMountFailed, "making workspace %s: %w", dir, err).WithHint("check that the state area can be written and has room")
}

func stagingPrefix(base string) string { return "." + base + ".new-" }
func oldName(base string) string       { return "." + base + ".old" }

// sweep finishes or removes what a dead process left beside the workspace.
func sweep(parent, base string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	old := filepath.Join(parent, oldName(base))
	for _, e := range entries {
		switch name := filepath.Join(parent, e.Name()); {
		case e.Name() == oldName(base):
			if _, err := os.Lstat(filepath.Join(parent, base)); errors.Is(err, fs.ErrNotExist) {
				if err := os.Rename(old, filepath.Join(parent, base)); err != nil {
					return err
				}
				continue
			}
			if err := remove(old); err != nil {
				return err
			}
		case strings.HasPrefix(e.Name(), stagingPrefix(base)):
			if err := remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes a tree with read-only directories. Links are not followed.
func remove(dir string) error {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // a directory of ours that goes away
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func (s *Staging) fill(ctx context.Context) error {
	for _, dir := range directories(s.sources.plan) {
		if err := os.Mkdir(filepath.Join(s.staged, filepath.FromSlash(dir)), 0o755); err != nil { //nolint:gosec // closed when it is full
			return failed(s.dir, err)
		}
	}
	return s.sources.digest(ctx, s.staged)
}

// Plan is the plan with every digest, to render the context from.
func (s *Staging) Plan() runcontext.Plan { return s.sources.plan }

// Discard removes the staged files. It does nothing after Commit.
func (s *Staging) Discard() error {
	if s.done {
		return nil
	}
	s.done = true
	s.sources.close()
	return remove(s.staged)
}

// Commit adds the rendered files, closes the read-only slots and puts the workspace
// in its place. A workspace that is there with the same context and without drift is
// kept; another one is replaced, what is in its writable slots carried over. The
// plan of r must be the staging's own.
func (s *Staging) Commit(ctx context.Context, r runcontext.Rendered) (Workspace, error) {
	if s.done {
		return Workspace{}, fmt.Errorf("workspace %s: its staging is over", s.dir)
	}
	w := s.workspace()
	if _, err := os.Lstat(s.dir); err == nil {
		drifts, err := Check(ctx, s.dir, r.ContextHash)
		if err == nil && len(drifts) == 0 && s.sameLinks(w) {
			w.Kept = true
			return w, s.Discard()
		}
	}
	err := s.render(r)
	if err == nil {
		err = s.carry()
	}
	if err == nil {
		err = s.lock()
	}
	if err == nil {
		err = s.swap()
	}
	if err != nil {
		return Workspace{}, errors.Join(failed(s.dir, err), s.Discard())
	}
	s.done = true
	s.sources.close()
	return w, nil
}

func (s *Staging) workspace() Workspace {
	w := Workspace{Dir: s.dir, Links: map[string]string{}, ReadOnly: []string{filepath.Join(s.dir, planFile)}}
	for _, p := range s.sources.plan.ReadOnly() {
		w.ReadOnly = append(w.ReadOnly, filepath.Join(s.dir, filepath.FromSlash(p)))
	}
	slices.Sort(w.ReadOnly)
	for _, e := range s.sources.plan.Entries {
		if e.IsLink() {
			w.Links[filepath.Join(s.dir, filepath.FromSlash(e.Path))] = e.Origin
		}
	}
	return w
}

// sameLinks reports whether the links of the workspace that is there lead where the
// new ones would.
func (s *Staging) sameLinks(w Workspace) bool {
	for name, target := range w.Links {
		if got, err := os.Readlink(name); err != nil || got != target {
			return false
		}
	}
	return true
}

// render writes the rendered files, having compared the plan.
func (s *Staging) render(r runcontext.Rendered) error {
	hash, err := runcontext.ContextHash(r.AgentsMD, r.Context, s.sources.plan)
	if err != nil {
		return err
	}
	if hash != r.ContextHash {
		return errors.New("the context was rendered from another plan than the one that is staged")
	}
	text := r.ContextFileText()
	raw, err := json.MarshalIndent(stamp{
		AgentsMD: canon.Sum([]byte(r.AgentsMD)), Context: canon.Sum(text), Plan: s.sources.plan, SnapshotHash: r.SnapshotHash, ContextHash: r.ContextHash,
	}, "", " ")
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{runcontext.AgentsFile: []byte(r.AgentsMD), runcontext.ContextFile: text, planFile: raw} {
		if err := os.WriteFile(filepath.Join(s.staged, name), content, 0o444); err != nil { //nolint:gosec // read by the agent
			return err
		}
	}
	return nil
}

// carry links what is in the writable slots of the workspace that is there into the
// new one. What the plan itself puts there counts more.
func (s *Staging) carry() error {
	for _, e := range s.sources.plan.Entries {
		if !e.IsDir() || e.Mode != runcontext.ReadWrite {
			continue
		}
		from, to := filepath.Join(s.dir, filepath.FromSlash(e.Path)), filepath.Join(s.staged, filepath.FromSlash(e.Path))
		if info, err := os.Lstat(from); err != nil || !info.IsDir() {
			continue
		}
		if err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return carryOne(name, to+strings.TrimPrefix(name, from), d)
		}); err != nil {
			return fmt.Errorf("carrying over %s: %w", e.Path, err)
		}
	}
	return nil
}

func carryOne(from, to string, d fs.DirEntry) error {
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	switch d.Type() {
	case fs.ModeDir:
		return os.Mkdir(to, 0o755) //nolint:gosec // as the agent made it
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case 0:
		return os.Link(from, to)
	}
	return nil // a socket or pipe is of a process that is gone
}

// lock takes the write bit from every directory that is not of a writable slot,
// and from the root.
func (s *Staging) lock() error {
	for _, dir := range slices.Backward(directories(s.sources.plan)) {
		if writable(s.sources.plan, dir) {
			continue
		}
		if err := os.Chmod(filepath.Join(s.staged, filepath.FromSlash(dir)), 0o555); err != nil { //nolint:gosec // no more than readable
			return err
		}
	}
	return os.Chmod(s.staged, 0o555) //nolint:gosec // no more than readable
}

// swap puts the staged directory in its place. Between its two renames a dead
// process leaves the old workspace under another name, and sweep puts it back.
func (s *Staging) swap() error {
	parent, base := filepath.Split(s.dir)
	old := filepath.Join(parent, oldName(base))
	err := os.Rename(s.dir, old)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return err
	}
	if err := os.Rename(s.staged, s.dir); err != nil {
		if !fresh {
			err = errors.Join(err, os.Rename(old, s.dir))
		}
		return err
	}
	if !fresh {
		return remove(old)
	}
	return nil
}
