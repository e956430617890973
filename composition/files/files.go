package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
)

// Config says where to look. What is empty is not looked at; a directory that is
// not there is no error.
type Config struct {
	System  fs.FS    // holds agents, skills, compositions
	Biomes  []string // directories of the same layout; an earlier one is more specific
	Org     string   // a directory of the same layout
	OrgName string   // what stands before the slash in ORG/AGENT; may be empty
	Project string   // the root of the repository: .tenon and .claude are looked at
	User    string   // the person's configuration directory, such as ~/.config/tenon
	Home    string   // the person's home: .claude is looked at
}

// Bounds of what is read.
const (
	MaxText       = 1 << 20  // bytes of an agent, a composition, a SKILL.md
	MaxSkill      = 64 << 20 // bytes of a skill
	MaxSkillFiles = 2000
	MaxFiles      = 20_000 // files of one source
	maxDepth      = 8      // nested directories
)

// Codes of findings about files, beside those of package composition.
const (
	FindingLink    = "link"       // a link that is not followed
	FindingSpecial = "special"    // neither file nor directory
	FindingRead    = "unreadable" // the system refuses
)

// Files are the items that were found.
type Files struct {
	// Items are in no order that counts; Problems are about files and directories
	// that are no items.
	Items    []composition.Item
	Problems source.Errors

	folders map[string]folder // of skills, by the Source of their items
}

// folder is where the files of a skill are.
type folder struct {
	place *place
	dir   string // relative to the place
}

// Catalog is the catalog of the items and of further ones, such as those that a
// shelf keeps.
func (f *Files) Catalog(kept []composition.Item) *composition.Catalog {
	return composition.NewCatalog(append(slices.Clone(f.Items), kept...))
}

// ReadFile returns a file of a skill, by its path in the skill's folder. It fails
// when the file has changed since it was listed.
func (f *Files) ReadFile(it *composition.Item, name string) ([]byte, error) {
	at, ok := f.folders[it.Source]
	if !ok || it.Skill == nil {
		return nil, fmt.Errorf("reading %s of the skill %s: its folder is not known", name, it.Slug)
	}
	i := slices.IndexFunc(it.Skill.Files, func(file composition.File) bool { return file.Path == name })
	if i < 0 {
		return nil, fmt.Errorf("reading %s of the skill %s: %w", name, it.Slug, fs.ErrNotExist)
	}
	var raw []byte
	err := at.place.within(at.dir, func(fsys fs.FS) (err error) {
		raw, err = readFile(fsys, name, MaxSkill)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s of the skill %s: %w", name, it.Slug, err)
	}
	if canon.Sum(raw) != it.Skill.Files[i].SHA256 {
		return nil, fmt.Errorf("reading %s of the skill %s: the file has changed since the run began: run again", name, it.Slug)
	}
	return raw, nil
}

// place is one tree of files.
type place struct {
	tier  composition.Tier
	order int
	org   string
	base  string // absolute directory; empty for fsys
	fsys  fs.FS
	sub   string // below which agents, skills, compositions are
	show  string // stands before a path that is shown
	own   bool   // the person's: links of theirs are followed
}

func places(c Config) []*place {
	out := []*place{
		{tier: composition.TierUser, base: c.User, sub: ".", show: c.User, own: true},
		{tier: composition.TierUser, order: 1, base: c.Home, sub: ".claude", show: c.Home, own: true},
		{tier: composition.TierProject, base: c.Project, sub: ".tenon"},
		{tier: composition.TierProject, order: 1, base: c.Project, sub: ".claude"},
		{tier: composition.TierOrg, base: c.Org, sub: ".", show: c.Org, org: c.OrgName},
	}
	for i, dir := range c.Biomes {
		out = append(out, &place{tier: composition.TierBiome, order: i, base: dir, sub: ".", show: dir})
	}
	if c.System != nil {
		out = append(out, &place{tier: composition.TierSystem, fsys: c.System, sub: ".", show: "system:"})
	}
	return slices.DeleteFunc(out, func(p *place) bool { return p.base == "" && p.fsys == nil })
}

// Read reads all that is there. The error is of the context only.
func Read(ctx context.Context, c Config) (*Files, error) {
	f := &Files{folders: map[string]folder{}}
	for _, p := range places(c) {
		r := &reading{Files: f, place: p, ctx: ctx}
		err := p.within(".", func(fsys fs.FS) error {
			r.fsys = fsys
			r.texts(path.Join(p.sub, "agents"), 0, r.agent)
			r.texts(path.Join(p.sub, "compositions"), 0, r.composition)
			r.skills(path.Join(p.sub, "skills"))
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.problem(p.sub, FindingRead, "", "%v", err)
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading agents and skills: %w", err)
		}
	}
	return f, nil
}

// within opens a directory of the place and gives it to f, as a tree that nothing
// leaves. Only at the top of a place of the person's own, links may leave it.
func (p *place) within(dir string, f func(fs.FS) error) error {
	if p.fsys != nil {
		sub, err := fs.Sub(p.fsys, dir)
		if err != nil {
			return err
		}
		return f(sub)
	}
	if p.own && dir == "." {
		if _, err := os.Stat(p.base); err != nil {
			return err
		}
		return f(os.DirFS(p.base))
	}
	root, err := p.root(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	return f(root.FS())
}

func (p *place) root(dir string) (*os.Root, error) {
	if p.own {
		return os.OpenRoot(filepath.Join(p.base, filepath.FromSlash(dir)))
	}
	base, err := os.OpenRoot(p.base)
	if err != nil || dir == "." {
		return base, err
	}
	defer base.Close() //nolint:errcheck // it was only read
	return base.OpenRoot(filepath.FromSlash(dir))
}

// name is a path as it is shown.
func (p *place) name(rel string) string {
	switch {
	case p.fsys != nil:
		return p.show + rel
	case p.show == "":
		return rel
	}
	return filepath.Join(p.show, filepath.FromSlash(rel))
}

// readFile reads a plain file of at most limit bytes.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errSpecial
	case info.Size() > limit:
		return nil, fmt.Errorf("it has %d bytes, more than the %d that are read", info.Size(), limit)
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("it has more than the %d bytes that are read", limit)
	}
	return raw, err
}

var errSpecial = errors.New("it is no plain file")

// reason gives the code and the words for an error of the system.
func reason(err error) (code, message, hint string) {
	var at *fs.PathError
	switch {
	case errors.Is(err, errSpecial):
		return FindingSpecial, err.Error(), "put a plain file in its place"
	case strings.Contains(err.Error(), "escapes from parent"):
		return FindingLink, "a link leads out of the directory", "put the file itself in its place"
	case errors.Is(err, fs.ErrNotExist):
		return FindingLink, "a link leads nowhere", "remove the link, or put the file in its place"
	case errors.As(err, &at):
		return FindingRead, "it cannot be read: " + at.Err.Error(), "make it readable, or remove it"
	}
	return composition.FindingTooLarge, err.Error(), ""
}
