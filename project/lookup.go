package project

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// Found is a workflow on disk.
type Found struct {
	Name string // without its ending
	Path string // absolute
	Kind string // workflow.KindGraph or workflow.KindScript
	User bool   // it is the person's own; else it lies in the project
}

// Endings of the files of workflows.
var (
	endings = []string{".yaml", ".yml", ".json", ".js"}
	scripts = endings[3:]
)

// folder is a directory that may hold workflows.
type folder struct {
	path    string
	endings []string
	user    bool
}

// folders are all of them, in the order in which names are looked up: those of
// the project from the directory of the command upwards, then the person's own.
func (p *Project) folders() []folder {
	var all []folder
	add := func(f folder) {
		if !slices.ContainsFunc(all, func(there folder) bool { return there.path == f.path }) {
			all = append(all, f)
		}
	}
	for _, dir := range p.dirs() {
		add(folder{filepath.Join(dir, Folder, "workflows"), endings, false})
		add(folder{filepath.Join(dir, ".claude", "workflows"), scripts, false})
	}
	if config := p.UserConfig(); config != "" {
		add(folder{filepath.Join(config, "workflows"), endings, true})
	}
	if home := p.UserHome(); home != "" {
		add(folder{filepath.Join(home, ".claude", "workflows"), scripts, true})
	}
	return all
}

// IsFile reports whether what a person names is meant as a file: it has a
// separator, or an ending of workflows.
func IsFile(nameOrFile string) bool {
	return strings.ContainsRune(nameOrFile, filepath.Separator) || slices.Contains(endings, filepath.Ext(nameOrFile))
}

// Find returns the workflow that a person names: a file when it looks like one
// or exists, else a name, looked up from the directory of the command upwards
// and then among the person's own. known are names that others look up; hints
// tell them.
func (p *Project) Find(nameOrFile string, known ...string) (Found, error) {
	if IsFile(nameOrFile) {
		return p.file(nameOrFile)
	}
	found, ok, err := p.Named(nameOrFile)
	if err != nil || ok {
		return found, err
	}
	if info, err := os.Stat(filepath.Join(p.Dir, nameOrFile)); err == nil && info.Mode().IsRegular() {
		return p.file(nameOrFile)
	}
	return Found{}, p.unknown(nameOrFile, known)
}

func (p *Project) file(name string) (Found, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Found{}, workflow.Errorf(workflow.CodeWorkflowNotFound, "there is no workflow file %s: %w", name, err)
	case !info.Mode().IsRegular():
		return Found{}, workflow.Errorf(workflow.CodeWorkflowNotFound, "%s is not a file", name)
	}
	return found(path), nil
}

func found(path string) Found {
	f := Found{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Path: path, Kind: workflow.KindGraph}
	if filepath.Ext(path) == ".js" {
		f.Kind = workflow.KindScript
	}
	return f
}

// Named looks a name up; ok is false when no folder has it.
func (p *Project) Named(name string) (f Found, ok bool, err error) {
	if name != filepath.Base(name) {
		return Found{}, false, nil
	}
	for _, dir := range p.folders() {
		var hits []string
		for _, ending := range dir.endings {
			path := filepath.Join(dir.path, name+ending)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				hits = append(hits, path)
			}
		}
		if len(hits) > 1 {
			return Found{}, false, workflow.Errorf(workflow.CodeWorkflowNotFound, "workflow %q is there twice: %s", name, strings.Join(p.short(hits), " and ")).
				WithHint("remove one, or name the file")
		}
		if len(hits) == 1 {
			f := found(hits[0])
			f.User = dir.user
			return f, true, nil
		}
	}
	return Found{}, false, nil
}

// dirs are the directories from the command's upwards that may hold workflows.
func (p *Project) dirs() []string {
	var all []string
	for at := p.Dir; ; at = filepath.Dir(at) {
		all = append(all, at)
		if at == p.ceiling || at == filepath.Dir(at) {
			return all
		}
	}
}

// Workflows lists the workflows that can be named, sorted; where a name is
// there twice, the one that Find takes.
func (p *Project) Workflows() []Found {
	seen := map[string]bool{}
	all := slices.DeleteFunc(p.Everywhere(), func(f Found) bool {
		hidden := seen[f.Name]
		seen[f.Name] = true
		return hidden
	})
	slices.SortFunc(all, func(a, b Found) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Everywhere lists all workflows in the order in which names are looked up, also
// those whose name a nearer one takes.
func (p *Project) Everywhere() []Found {
	var all []Found
	for _, dir := range p.folders() {
		entries, err := os.ReadDir(dir.path)
		if err != nil {
			continue // there is none
		}
		for _, e := range entries {
			f := found(filepath.Join(dir.path, e.Name()))
			if !slices.Contains(dir.endings, filepath.Ext(e.Name())) {
				continue
			}
			if info, err := os.Stat(f.Path); err == nil && info.Mode().IsRegular() { // as Named has it
				f.User = dir.user
				all = append(all, f)
			}
		}
	}
	return all
}

func (p *Project) unknown(name string, more []string) error {
	var names []string
	for _, f := range p.Workflows() {
		names = append(names, f.Name)
	}
	e := workflow.Errorf(workflow.CodeWorkflowNotFound, "there is no workflow %q in %s of %s or above", name, filepath.Join(Folder, "workflows"), p.Dir)
	all := slices.Concat(names, more)
	switch near := text.Nearest(name, all); {
	case near != "":
		return e.WithHint("did you mean %q?", near)
	case len(all) == 0:
		return e.WithHint("make the first with: tenon init")
	case len(names) == 0:
		return e.WithHint("make the first with: tenon init; known: %s", strings.Join(all, ", "))
	}
	return e.WithHint("known: %s", strings.Join(all, ", "))
}

// short writes paths relative to the root.
func (p *Project) short(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = path
		if rel, err := filepath.Rel(p.Root, path); err == nil {
			out[i] = rel
		}
	}
	return out
}
