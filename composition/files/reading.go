package files

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/version"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
)

// reading reads one place.
type reading struct {
	*Files
	place *place
	ctx   context.Context //nolint:containedctx // of one call
	fsys  fs.FS
	count int
}

func (r *reading) problem(rel, code, hint, format string, args ...any) {
	r.Problems = append(r.Problems, source.Error{File: r.place.name(rel), Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// entries lists a directory, in order of names, without hidden ones.
func (r *reading) entries(dir string, depth int) []fs.DirEntry {
	if depth > maxDepth {
		r.problem(dir, composition.FindingTooLarge, "", "more than %d nested directories: what is below is not read", maxDepth)
		return nil
	}
	list, err := fs.ReadDir(r.fsys, dir)
	if err != nil {
		if depth > 0 || !isMissing(r.fsys, dir) {
			code, message, hint := reason(err)
			r.problem(dir, code, hint, "%s", message)
		}
		return nil
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// isMissing reports whether nothing has the name, not even a link.
func isMissing(fsys fs.FS, name string) bool {
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if _, err := fs.Lstat(fsys, dir); err == nil {
			return dir != name
		}
	}
	return true
}

// full counts a file and reports whether it is one too many.
func (r *reading) full(rel string) bool {
	if r.count++; r.count == MaxFiles+1 {
		r.problem(rel, composition.FindingTooLarge, "remove what is not needed", "more than %d files: this one and those after it are not read", MaxFiles)
	}
	return r.count > MaxFiles || r.ctx.Err() != nil
}

// texts reads the documents of a directory and of those below.
func (r *reading) texts(dir string, depth int, read func(rel, stem string)) {
	for _, e := range r.entries(dir, depth) {
		rel := path.Join(dir, e.Name())
		if e.IsDir() {
			r.texts(rel, depth+1, read)
			continue
		}
		if r.full(rel) {
			return
		}
		read(rel, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
}

// add completes an item and takes it.
func (r *reading) add(it composition.Item) {
	it.Tier, it.Place, it.Org = r.place.tier, r.place.order, r.place.org
	if it.Kind == composition.KindSkill {
		it.Org = ""
	}
	r.Items = append(r.Items, it)
}

// refused is an item that cannot be read.
func (r *reading) refused(kind composition.Kind, rel, slug string, err error) {
	code, message, hint := reason(err)
	name := r.place.name(rel)
	r.add(composition.Item{
		Kind: kind, Slug: slug, Source: name, Version: version.Implicit(canon.Sum(nil)), Lifecycle: composition.Published, Implicit: true,
		Digest: canon.Sum(nil), Err: source.Errors{{File: name, Code: code, Message: message, Hint: hint}},
	})
}

func (r *reading) agent(rel, stem string) {
	if path.Ext(rel) != ".md" {
		return
	}
	if data, err := readFile(r.fsys, rel, MaxText); err != nil {
		r.refused(composition.KindAgent, rel, stem, err)
	} else {
		r.add(composition.ReadAgent(r.place.name(rel), stem, data))
	}
}

func (r *reading) composition(rel, stem string) {
	if ext := path.Ext(rel); ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return
	}
	if data, err := readFile(r.fsys, rel, MaxText); err != nil {
		r.refused(composition.KindComposition, rel, stem, err)
	} else {
		r.add(composition.ReadComposition(r.place.name(rel), stem, data))
	}
}

// skills reads the folders of a directory.
func (r *reading) skills(dir string) {
	for _, e := range r.entries(dir, 0) {
		rel := path.Join(dir, e.Name())
		info, err := fs.Stat(r.fsys, rel)
		switch {
		case err != nil:
			r.refused(composition.KindSkill, rel, e.Name(), err)
		case info.IsDir():
			r.skill(rel, e.Name())
		}
	}
}

// skill reads one folder, and the skills nested in it.
func (r *reading) skill(rel, slug string) {
	g := &gathering{}
	err := r.place.within(rel, func(fsys fs.FS) error {
		g.walk(fsys, ".", 0)
		return nil
	})
	if err != nil {
		r.refused(composition.KindSkill, rel, slug, err)
		return
	}
	if r.full(rel) {
		return
	}
	if _, ok := g.heads["."]; !ok {
		near := text.Nearest(composition.SkillFile, g.names())
		hint := "write one, or move the folder away"
		if near != "" {
			hint = fmt.Sprintf("rename %s", near)
		}
		r.problem(rel, composition.FindingFrontMatter, hint, "the folder has no %s and is no skill", composition.SkillFile)
	}
	outer := slug
	for _, dir := range g.dirs {
		it := g.item(r.place, rel, dir, outer)
		if dir == "." {
			outer = it.Slug
		}
		r.folders[it.Source] = folder{r.place, path.Join(rel, dir)}
		r.add(it)
	}
}

// gathering is what a skill's folder holds.
type gathering struct {
	files []composition.File
	size  int64
	heads map[string][]byte // texts of SKILL.md, by directory
	dirs  []string          // with a SKILL.md, the outer first
	found source.Errors     // with paths relative to the folder
}

func (g *gathering) say(rel string, code, message, hint string) {
	g.found = append(g.found, source.Error{File: rel, Code: code, Message: message, Hint: hint})
}

func (g *gathering) names() []string {
	var out []string
	for _, f := range g.files {
		out = append(out, f.Path)
	}
	return out
}

// walk lists all files. Hidden ones belong to a skill too, but for those of git.
func (g *gathering) walk(fsys fs.FS, dir string, depth int) {
	list, err := fs.ReadDir(fsys, dir)
	if err != nil || depth > maxDepth {
		if err == nil {
			err = fmt.Errorf("more than %d nested directories", maxDepth)
		}
		code, message, hint := reason(err)
		g.say(dir, code, message, hint)
		return
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range list {
		rel := path.Join(dir, e.Name())
		switch {
		case e.Name() == ".git" || e.Name() == ".DS_Store":
		case e.IsDir():
			g.walk(fsys, rel, depth+1)
		case len(g.files) >= MaxSkillFiles || g.size > MaxSkill:
			g.say(rel, composition.FindingTooLarge, fmt.Sprintf("the skill has more than %d files or %d bytes", MaxSkillFiles, MaxSkill), "move what agents do not need out of the folder")
			return
		default:
			g.file(fsys, rel)
		}
	}
}

func (g *gathering) file(fsys fs.FS, rel string) {
	raw, err := readFile(fsys, rel, MaxSkill)
	if err != nil {
		code, message, hint := reason(err)
		g.say(rel, code, message, hint)
		return
	}
	// Whether a file runs is read from the file, as not every file system knows it.
	g.files = append(g.files, composition.File{Path: rel, SHA256: canon.Sum(raw), Size: int64(len(raw)), Executable: bytes.HasPrefix(raw, []byte("#!"))})
	g.size += int64(len(raw))
	if path.Base(rel) == composition.SkillFile {
		if g.heads == nil {
			g.heads = map[string][]byte{}
		}
		g.heads[path.Dir(rel)] = raw
		g.dirs = append(g.dirs, path.Dir(rel))
		slices.SortFunc(g.dirs, func(a, b string) int { return strings.Compare(depthFirst(a), depthFirst(b)) })
	}
}

// depthFirst orders a directory before those in it.
func depthFirst(dir string) string {
	if dir == "." {
		return ""
	}
	return strings.ReplaceAll(dir, "/", "\x00")
}

// item is the skill of one directory of the folder.
func (g *gathering) item(p *place, rel, dir, outer string) composition.Item {
	slug, within := outer, ""
	if dir != "." {
		slug, within = outer+"/"+dir, dir+"/"
	}
	files := []composition.File{}
	for _, f := range g.files {
		if name, ok := strings.CutPrefix(f.Path, within); ok {
			f.Path = name
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b composition.File) int { return strings.Compare(a.Path, b.Path) })
	it := composition.ReadSkill(p.name(path.Join(rel, dir, composition.SkillFile)), slug, g.heads[dir], files)
	var found source.Errors
	for _, e := range g.found {
		if strings.HasPrefix(e.File+"/", within) || e.Code == composition.FindingTooLarge {
			e.File = p.name(path.Join(rel, e.File))
			found = append(found, e)
		}
	}
	if len(found) > 0 {
		if own, ok := it.Err.(source.Errors); ok { //nolint:errorlint // an item's findings are not wrapped
			found = append(found, own...)
		}
		it.Err = found
	}
	return it
}
