package scope

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Files in the directory of a turn.
const (
	manifestFile = "capture.json" // written last: a capture without it is none
	packFile     = "bytes"        // contents, one after the other
	foundFile    = "found.json"   // what was found and done so far
	asideDir     = "outside"      // what the turn wrote outside of the scopes
)

const manifestVersion = 1

// manifest is a capture on disk.
type manifest struct {
	Version      int          `json:"version"`
	Repositories []repository `json:"repositories"`
}

// repository is what lay outside of the scopes of a repository.
type repository struct {
	ID      string  `json:"id"`
	Trees   []nest  `json:"trees,omitempty"` // git work trees; none: it was walked
	Entries []entry `json:"entries"`
	// Manifests are the package manifests inside the scopes: Path and Sum.
	Manifests []entry `json:"manifests,omitempty"`
	// Folders are directories that are kept when they become empty.
	Folders []name `json:"folders,omitempty"`
}

// nest is a git work tree in a repository.
type nest struct {
	Prefix   name   `json:"prefix,omitempty"`
	Base     string `json:"base,omitempty"` // commit that was checked out; "" is none
	Excludes string `json:"excludes"`       // file with the rules of .git/info/exclude, in the directory of the turn
}

// Capture is what lies outside of the scopes before a turn. A nil Capture guards
// nothing.
type Capture struct {
	guard *Guard
	turn  Turn
	held  manifest
	at    time.Time // when it was complete
	found found
}

// Before records what lies outside of the scopes, durably, or takes up the
// record that an earlier attempt of the turn left behind. It is nil when no
// repository has a scope.
func (g *Guard) Before(ctx context.Context, t Turn) (*Capture, error) {
	if !t.Guards() {
		return nil, nil
	}
	c := &Capture{guard: g, turn: t}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return nil, fault(ctx, "preparing the change scope of", t.Repositories[0].ID, err)
	}
	if err := c.resume(); err != nil {
		return nil, fault(ctx, "reading what was recorded of", t.Repositories[0].ID, err)
	}
	if c.found.Done || c.held.Version != 0 {
		return c, nil
	}
	pack, err := newPack(c.path(packFile), g.cfg)
	if err != nil {
		return nil, fault(ctx, "recording", t.Repositories[0].ID, err)
	}
	defer pack.file.Close() //nolint:errcheck // flushed below
	for _, r := range t.Repositories {
		if len(scopes(r.Scope)) == 0 {
			continue
		}
		p, err := g.enter(r, t.Change)
		if err != nil {
			return nil, fault(ctx, "opening", r.ID, err)
		}
		recorded, err := c.record(ctx, p, pack)
		p.root.Close()
		if err != nil {
			return nil, fault(ctx, "recording what is outside of the scope of", r.ID, err)
		}
		c.held.Repositories = append(c.held.Repositories, recorded)
	}
	c.held.Version = manifestVersion
	if err := errors.Join(pack.flush(), c.save()); err != nil {
		return nil, fault(ctx, "recording what is outside of the scope of", t.Repositories[0].ID, err)
	}
	return c, nil
}

func (c *Capture) path(file string) string { return filepath.Join(c.turn.Dir, file) }

// resume reads what an earlier attempt left.
func (c *Capture) resume() error {
	if err := readJSON(c.path(foundFile), &c.found); err != nil {
		return err
	}
	if err := readJSON(c.path(manifestFile), &c.held); err != nil || c.held.Version == 0 {
		return err
	}
	if c.held.Version != manifestVersion {
		return fmt.Errorf("%s has version %d, this program knows %d", c.path(manifestFile), c.held.Version, manifestVersion)
	}
	info, err := os.Stat(c.path(manifestFile))
	if err == nil {
		c.at = info.ModTime()
	}
	return err
}

func (c *Capture) save() error {
	if err := writeJSON(c.path(manifestFile), c.held); err != nil {
		return err
	}
	info, err := os.Stat(c.path(manifestFile))
	if err == nil {
		c.at = info.ModTime()
	}
	return err
}

// record measures a repository.
func (c *Capture) record(ctx context.Context, p *place, pack *pack) (repository, error) {
	r := repository{ID: p.id}
	paths, blobs, err := c.survey(ctx, p, &r)
	if err != nil {
		return r, err
	}
	untracked := 0
	for _, at := range slices.Sorted(maps.Keys(paths)) {
		if p.scoped(at) {
			if isManifest(at) {
				r.Manifests = append(r.Manifests, entry{Path: name(at), Sum: p.sum(at)})
			}
			continue
		}
		e, err := p.look(at)
		if err != nil {
			return r, err
		}
		if e.Kind != file {
			if e.Kind == link {
				r.Entries = append(r.Entries, e)
			}
			continue
		}
		if !paths[at] {
			untracked++
		}
		if b, ok := blobs[at]; ok && b.Size == e.Size {
			e.Blob, e.Tree = b.Blob, b.Tree
		} else if err := pack.add(p, &e, !paths[at] && untracked > c.guard.cfg.MaxUntracked); err != nil {
			return r, err
		}
		r.Entries = append(r.Entries, e)
	}
	return r, ctx.Err()
}

// survey lists a repository with all work trees in it, and the files whose bytes
// git has.
func (c *Capture) survey(ctx context.Context, p *place, r *repository) (paths map[string]bool, blobs map[string]entry, err error) {
	paths, blobs = map[string]bool{}, map[string]entry{}
	for open := []string{""}; len(open) > 0; open = open[1:] {
		prefix := open[0]
		t, err := p.tree(ctx, prefix)
		if errors.Is(err, errNoGit) && prefix == "" {
			found, dirs, err := p.walk(ctx, "", false)
			for _, at := range found {
				paths[at] = false
			}
			for _, at := range dirs {
				r.Folders = append(r.Folders, name(at))
			}
			return paths, nil, err
		}
		if err != nil {
			return nil, nil, err
		}
		n := nest{Prefix: name(prefix), Excludes: fmt.Sprintf("excludes-%s-%d", plain(r.ID), len(r.Trees))}
		l, err := c.nested(ctx, p, t, &n, r)
		if err != nil {
			return nil, nil, err
		}
		base, err := t.base(ctx, n.Base)
		if err != nil {
			return nil, nil, err
		}
		r.Trees = append(r.Trees, n)
		maps.Copy(paths, l.paths)
		for at, o := range base {
			if at = prefix + at; !l.lies[at] {
				blobs[at] = entry{Blob: o.id, Tree: name(prefix), Size: o.size}
			}
		}
		for _, at := range l.trees {
			open = append(open, at+"/")
		}
	}
	return paths, blobs, nil
}

// nested lists one work tree, and records what is needed to list it again.
func (c *Capture) nested(ctx context.Context, p *place, t tree, n *nest, r *repository) (l listing, err error) {
	if n.Base, err = t.head(ctx); err != nil {
		return l, err
	}
	rules, err := t.excludes(ctx)
	if err == nil {
		err = writeFile(c.path(n.Excludes), rules)
	}
	if err != nil {
		return l, err
	}
	folders, err := t.untracked(ctx, c.path(n.Excludes), true)
	if err != nil {
		return l, err
	}
	for _, at := range folders {
		if dir, ok := strings.CutSuffix(at, "/"); ok {
			r.Folders = append(r.Folders, name(string(n.Prefix)+dir))
		}
	}
	return p.list(ctx, string(n.Prefix), c.path(n.Excludes))
}

// pack holds the bytes that git has not.
type pack struct {
	file *os.File
	to   *bufio.Writer
	cfg  Config
	size int64
}

func newPack(at string, cfg Config) (*pack, error) {
	f, err := os.OpenFile(at, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &pack{file: f, to: bufio.NewWriter(f), cfg: cfg}, nil
}

// add keeps the bytes of a file within the bounds, or notes why it did not.
func (k *pack) add(p *place, e *entry, over bool) error {
	switch {
	case over:
		e.Lost = fmt.Sprintf("there are more than %d untracked files", k.cfg.MaxUntracked)
	case e.Size > k.cfg.MaxFile:
		e.Lost = fmt.Sprintf("it is larger than %d bytes", k.cfg.MaxFile)
	case k.size+e.Size > k.cfg.MaxTotal:
		e.Lost = fmt.Sprintf("the files that changed before the turn are larger than %d bytes together", k.cfg.MaxTotal)
	}
	if e.Lost != "" {
		return nil
	}
	content, err := p.read(string(e.Path), k.cfg.MaxFile)
	switch {
	case errors.Is(err, errFull):
		e.Lost = "it grew while it was read"
		return nil
	case errors.Is(err, fs.ErrPermission):
		e.Lost = "it cannot be read"
		return nil
	case err != nil:
		return err
	}
	sum := sha256.Sum256(content)
	e.Sum, e.At, e.Size = hex.EncodeToString(sum[:]), k.size, int64(len(content))
	k.size += e.Size
	_, err = k.to.Write(content)
	return err
}

func (k *pack) flush() error { return errors.Join(k.to.Flush(), k.file.Sync()) }

func readJSON(at string, to any) error {
	raw, err := os.ReadFile(at)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%s is damaged: %w", at, err)
	}
	return nil
}

func writeJSON(at string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFile(at, raw)
}

// writeFile puts a file in its place, whole and durable.
func writeFile(at string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(at), filepath.Base(at)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), at)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(at))
}

// syncDir makes the names in a directory durable, where a system can do that.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // only read
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
