package tenon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/workflow"
)

// manifestsDir holds workspace manifests, below the project's folder.
const manifestsDir = "workspaces"

// Manifest reads a workspace manifest: a file, or the name of one in the project.
// What it extends is looked for beside those of the project.
func (t *Tenon) Manifest(nameOrFile string) (*runcontext.Manifest, error) {
	path := nameOrFile
	if !isManifest(nameOrFile) {
		var err error
		if path, err = t.manifestFile(nameOrFile); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "reading a workspace manifest: %w", err).
			WithHint("manifests are in %s/%s", project.Folder, manifestsDir)
	}
	bases, err := t.bases()
	if err != nil {
		return nil, err
	}
	name := nameOrFile
	if rel, err := filepath.Rel(t.Project.Root, path); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	return runcontext.Compile(name, data, bases)
}

// manifestFile finds the file of a manifest of the project.
func (t *Tenon) manifestFile(name string) (string, error) {
	files, err := t.Manifests()
	if err != nil {
		return "", err
	}
	var names []string
	for _, path := range files {
		base := filepath.Base(path)
		names = append(names, strings.TrimSuffix(base, filepath.Ext(base)))
		if names[len(names)-1] == name {
			return path, nil
		}
	}
	e := workflow.Errorf(workflow.CodeInvalidArguments, "there is no workspace manifest %q", name)
	if near := text.Nearest(name, names); near != "" {
		return "", e.WithHint("did you mean %q? manifests are in %s/%s", near, project.Folder, manifestsDir)
	}
	return "", e.WithHint("manifests are in %s/%s", project.Folder, manifestsDir)
}

// Manifests are the files of the project's workspace manifests.
func (t *Tenon) Manifests() ([]string, error) {
	dir := filepath.Join(t.Project.Root, project.Folder, manifestsDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading workspace manifests: %w", err)
	}
	var out []string
	for _, e := range entries {
		if isManifest(e.Name()) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// bases are the project's manifests by slug@version. Those that cannot be read are
// left out: whoever extends one is told that it is not there.
func (t *Tenon) bases() (map[string][]byte, error) {
	files, err := t.Manifests()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading workspace manifests: %w", err)
		}
		doc, err := source.Parse(path, data, source.Limits{})
		if err != nil {
			continue
		}
		var head struct {
			Metadata struct{ Slug, Version string }
		}
		if json.Unmarshal(doc.JSON(), &head) == nil && head.Metadata.Slug != "" {
			out[head.Metadata.Slug+"@"+head.Metadata.Version] = data
		}
	}
	return out, nil
}
