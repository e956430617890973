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
}

// places are where a directory keeps workflows, and with which endings.
var places = []struct {
	folder  string
	endings []string
}{
	{filepath.Join(Folder, "workflows"), []string{".yaml", ".yml", ".json", ".js"}},
	{filepath.Join(".claude", "workflows"), []string{".js"}},
}

// Find returns the workflow that a person names: a file when it looks like one
// or exists, else a name, looked up from the directory of the command upwards.
func (p *Project) Find(nameOrFile string) (Found, error) {
	if strings.ContainsRune(nameOrFile, filepath.Separator) || slices.Contains(places[0].endings, filepath.Ext(nameOrFile)) {
		return p.file(nameOrFile)
	}
	found, err := p.named(nameOrFile)
	if err != nil || found.Path != "" {
		return found, err
	}
	if info, err := os.Stat(filepath.Join(p.Dir, nameOrFile)); err == nil && info.Mode().IsRegular() {
		return p.file(nameOrFile)
	}
	return Found{}, p.unknown(nameOrFile)
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

// named looks a name up; no hit is no error.
func (p *Project) named(name string) (Found, error) {
	for _, dir := range p.dirs() {
		for _, place := range places {
			var hits []string
			for _, ending := range place.endings {
				path := filepath.Join(dir, place.folder, name+ending)
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
					hits = append(hits, path)
				}
			}
			if len(hits) > 1 {
				return Found{}, workflow.Errorf(workflow.CodeWorkflowNotFound, "workflow %q is there twice: %s", name, strings.Join(p.short(hits), " and ")).
					WithHint("remove one, or name the file")
			}
			if len(hits) == 1 {
				return found(hits[0]), nil
			}
		}
	}
	return Found{}, nil
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
	var all []Found
	for _, dir := range p.dirs() {
		for _, place := range places {
			entries, err := os.ReadDir(filepath.Join(dir, place.folder))
			if err != nil {
				continue // there is none
			}
			for _, e := range entries {
				f := found(filepath.Join(dir, place.folder, e.Name()))
				if e.IsDir() || seen[f.Name] || !slices.Contains(place.endings, filepath.Ext(e.Name())) {
					continue
				}
				seen[f.Name] = true
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b Found) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (p *Project) unknown(name string) error {
	var names []string
	for _, f := range p.Workflows() {
		names = append(names, f.Name)
	}
	e := workflow.Errorf(workflow.CodeWorkflowNotFound, "there is no workflow %q in %s of %s or above", name, filepath.Join(Folder, "workflows"), p.Dir)
	switch near := text.Nearest(name, names); {
	case near != "":
		return e.WithHint("did you mean %q?", near)
	case len(names) == 0:
		return e.WithHint("make the first with: tenon init")
	}
	return e.WithHint("known: %s", strings.Join(names, ", "))
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
