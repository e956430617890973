package openspec

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// Names on the desk of a visit.
const (
	manifestName = "manifest.json"
	preparedName = "prepared" // a root with the OpenSpec folder after the archive
)

// manifest is the decision to publish an archive and all that is needed to
// finish it. It is on disk before the first file of the repository changes.
type manifest struct {
	Format     int         `json:"format"`
	Change     string      `json:"change"`
	Repository string      `json:"repository"`
	Candidate  string      `json:"candidate"` // that the gates were checked against
	Archive    archived    `json:"archive"`
	Operations []operation `json:"operations"` // in the order in which they are done
	Make       []string    `json:"make,omitempty"`
	Remove     []string    `json:"remove,omitempty"` // directories, deepest first
}

const manifestFormat = 1

// operation replaces one state of a path by another. Paths are slash-separated
// and relative to the OpenSpec folder.
type operation struct {
	Path   string      `json:"path"`
	Before string      `json:"before"`
	After  string      `json:"after"`
	Perm   fs.FileMode `json:"perm,omitempty"`
}

// order puts what is new first and what goes last, so that the change is whole
// in one of its two places at every moment.
func (o operation) order() int {
	switch {
	case o.After == stateAbsent:
		return 2
	case o.Before == stateAbsent && strings.HasPrefix(o.Path, "changes/"):
		return 0
	}
	return 1
}

// plan fills in what leads from one tree to the other.
func (m *manifest) plan(before, after tree) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		is, was := after[name], before[name]
		switch {
		case is.State == was.State:
		case is.State == stateDir:
			m.Make = append(m.Make, name)
		default:
			m.Operations = append(m.Operations, operation{Path: name, Before: was.State, After: is.State, Perm: is.Perm})
		}
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(before))) {
		switch _, stays := after[name]; {
		case stays:
		case before[name].State == stateDir:
			m.Remove = append(m.Remove, name)
		default:
			m.Operations = append(m.Operations, operation{Path: name, Before: before[name].State})
		}
	}
	slices.SortStableFunc(m.Operations, func(a, b operation) int {
		return cmp.Or(a.order()-b.order(), strings.Compare(a.Path, b.Path))
	})
}

// stray returns a path that an archive of the change has no business with, ""
// when there is none.
func (m *manifest) stray() string {
	allowed := func(name string) bool {
		return below(name, "specs") || below(name, "changes/"+m.Change) || below(name, m.place())
	}
	for _, o := range m.Operations {
		if !allowed(o.Path) || o.Before == stateDir || o.After == stateDir {
			return o.Path
		}
	}
	for _, dir := range slices.Concat(m.Make, m.Remove) {
		if !allowed(dir) && dir != "changes/archive" {
			return dir
		}
	}
	return ""
}

// place is where the change lies after the archive.
func (m *manifest) place() string { return "changes/archive/" + m.Archive.ArchivedAs }

// save decides: it returns when the manifest and all that it names are durable.
func (m *manifest) save(desk string, probe func(string) error) error {
	root, err := os.OpenRoot(filepath.Join(desk, preparedName, folder))
	if err != nil {
		return err
	}
	defer root.Close()
	touched := places{}
	for _, o := range m.Operations {
		if o.After == stateAbsent {
			continue
		}
		touched.add(o.Path)
		if !strings.HasPrefix(o.After, prefixLink) {
			if err := syncPath(root, o.Path); err != nil {
				return err
			}
		}
	}
	if err := touched.sync(root); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	if err := probe("writing the manifest"); err != nil {
		return err
	}
	draft := filepath.Join(desk, manifestName+".draft")
	if err := writeSynced(draft, raw); err != nil {
		return err
	}
	if err := probe("deciding"); err != nil {
		return err
	}
	if err := os.Rename(draft, filepath.Join(desk, manifestName)); err != nil {
		return err
	}
	on, err := os.OpenRoot(desk)
	if err != nil {
		return err
	}
	defer on.Close()
	return syncDir(on, ".")
}

// decided returns the manifest of an earlier attempt, nil when there is none.
func (v *visit) decided(desk string) (*manifest, error) {
	raw, err := os.ReadFile(filepath.Join(desk, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil || m.Format != manifestFormat || m.Change != v.change || m.Repository != v.repo.ID {
		return nil, v.errorf(workflow.CodePublishConflict, "the manifest in %s cannot be used for change %s of repository %s: %w", desk, v.change, v.repo.ID, cmp.Or(err, errOther)).
			WithHint("compare %s with the prepared folder there, and fork the run before this node", v.path(folder))
	}
	return &m, nil
}

var errOther = errors.New("it was written for another change or by another version of tenon")

func writeSynced(name string, raw []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncPath makes the content of a file durable.
func syncPath(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) { // a file nobody may write can still be flushed
		f, err = root.Open(name)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// places are directories whose names are not durable yet.
type places map[string]bool

// add notes that a name was made, replaced or removed, perhaps with the
// directories above it.
func (p places) add(name string) {
	for dir := path.Dir(name); !p[dir]; dir = path.Dir(dir) {
		p[dir] = true
	}
}

// sync makes them durable. One that is gone is durable with the one above it.
func (p places) sync(root *os.Root) error {
	for _, dir := range slices.Sorted(maps.Keys(p)) {
		if err := syncDir(root, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	clear(p)
	return nil
}

// syncDir makes the names in a directory durable, where the system can.
func syncDir(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
