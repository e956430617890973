package tenon

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/tenonrun/tenon/script"
	scripts "github.com/tenonrun/tenon/script/store"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// Workflow is a document that was found, checked, and can be run or planned.
type Workflow struct {
	*load.Workflow
	Name     string // for people
	File     string // where it was read, for people
	Path     string // the same, absolute; "" when it was given as text
	Children map[string]*Workflow
	// Script is what a workflow script says about itself; nil for a definition. Its
	// Definition is empty but for names.
	Script *script.Meta

	site     *site              // that its agent works in
	defaults scripts.Resolution // what the args of a saved script are merged over
}

// Load finds a workflow by name or file and checks it whole. The error of a
// document that is not valid is a load.Issues.
func (t *Tenon) Load(nameOrFile string) (*Workflow, error) {
	if _, err := t.backends.matrix(); err != nil {
		return nil, err
	}
	return t.find(nameOrFile, load.Config{Env: t.env()}, nil)
}

// LoadDocument checks a workflow that is given as text, YAML or JSON, such as
// one that a program carries with itself. The name is for people, in results
// and in errors. What the document names by file is relative to the directory
// where Tenon was opened.
func (t *Tenon) LoadDocument(name string, data []byte) (*Workflow, error) {
	w := &Workflow{Name: name, File: name}
	if script.IsScript(data) {
		return t.readScript(w, data, load.Config{Env: t.env()}, nil)
	}
	return t.read(w, data, load.Config{Env: t.env()}, nil)
}

func (t *Tenon) find(nameOrFile string, cfg load.Config, above []string) (*Workflow, error) {
	found, err := t.locate(nameOrFile)
	if err != nil {
		return nil, err
	}
	if err := runnable(found, above); err != nil {
		return nil, err
	}
	w := &Workflow{Name: found.Name, File: found.file, Path: found.Path, defaults: found.defaults}
	above = append(slices.Clone(above), cmp.Or(found.Path, found.file))
	if found.Kind != workflow.KindScript {
		return t.read(w, found.text, cfg, above)
	}
	if w, err = t.readScript(w, found.text, cfg, above); err == nil && found.notice != "" {
		w.Warnings = append(w.Warnings, load.Issue{File: found.file, Message: found.notice})
	}
	return w, err
}

func runnable(found located, above []string) error {
	if slices.Contains(above, cmp.Or(found.Path, found.file)) || len(above) > 8 {
		return workflow.Errorf(workflow.CodeComponentCycle, "workflow %s starts itself: %v", found.Name, append(slices.Clone(above), found.file))
	}
	return nil
}

// readScript checks a script, and finds the workflows that it may start: those
// whose names stand in it.
func (t *Tenon) readScript(w *Workflow, data []byte, cfg load.Config, path []string) (*Workflow, error) {
	meta, err := script.Check(w.File, data)
	if err != nil {
		return nil, err
	}
	w.scripted(meta, data)
	w.Children = map[string]*Workflow{}
	if len(path) > 1 {
		return w, nil // a script that another workflow starts starts none
	}
	for _, name := range t.names(context.Background()) { // names are on the disk
		if name == w.Name || name == meta.Name || !quoted(data, name) {
			continue
		}
		child, err := t.find(name, cfg, path)
		if err != nil {
			continue // it is told when the script asks for it
		}
		w.Children[name] = child
	}
	return w, nil
}

// scripted makes w one of a script.
func (w *Workflow) scripted(meta script.Meta, text []byte) {
	w.Script = &meta
	w.Workflow = &load.Workflow{
		Definition: &workflow.Definition{SchemaVersion: 2, ID: meta.Name, Title: meta.Description}, Document: text, Digest: digest(text),
	}
}

// quoted reports whether a name stands in quotes in a text.
func quoted(text []byte, name string) bool {
	for _, q := range []string{`"`, "'", "`"} {
		if bytes.Contains(text, []byte(q+name+q)) {
			return true
		}
	}
	return false
}

// read checks the text of a workflow and finds its children. path holds the
// files from the top down to this one.
func (t *Tenon) read(w *Workflow, data []byte, cfg load.Config, path []string) (*Workflow, error) {
	w.Children = map[string]*Workflow{}
	cfg.Pieces, cfg.Draft = t.pieces, true
	cfg.Compat.ShellInterpolation = t.Project.Config.Compat.ShellInterpolation
	below := cfg
	cfg.Workflow = func(p workflow.WorkflowParams) error {
		child, err := t.find(childPath(w.Path, p), below, path)
		if err == nil {
			w.Children[p.Ref()] = child
		}
		return err
	}
	var err error
	w.Workflow, err = load.Load(w.File, data, cfg)
	return w, err
}

// childPath makes the file of a workflow node relative to its document.
func childPath(parent string, p workflow.WorkflowParams) string {
	if p.File == "" || filepath.IsAbs(p.File) || parent == "" {
		return p.Ref()
	}
	return filepath.Join(filepath.Dir(parent), p.File)
}
