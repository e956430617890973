package tenon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/bounds"
	"github.com/tenonrun/tenon/internal/source"
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
		path = filepath.Join(t.Project.Root, project.Folder, manifestsDir, nameOrFile+".yaml")
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

// narrowed is what a workspace takes from all who work in it.
func narrowed(block json.RawMessage) []bounds.Plane {
	var w struct {
		Permissions struct{ Tools bounds.Gates }
	}
	if json.Unmarshal(block, &w) != nil || w.Permissions.Tools.Allow == nil && w.Permissions.Tools.Deny == nil {
		return nil // what is wrong with it is told where it is compiled
	}
	return []bounds.Plane{{Name: "the workspace", Gates: w.Permissions.Tools}}
}

// narrow takes from an agent, and from all that it starts, what a workspace forbids.
func (m *member) narrow(w *runcontext.Workspace) {
	said := bounds.Compose(bounds.Plane{Name: "the workspace", Gates: bounds.Gates(w.Permissions.Tools)})
	m.Rules = append(m.Rules, said.Rules...)
	m.Denied = slices.Compact(slices.Sorted(slices.Values(append(m.Denied, said.Denied...))))
	for _, c := range m.Children {
		c.narrow(w)
	}
}

// unmounted tells what a workspace asks for and does not get.
func unmounted(w *runcontext.Workspace) []string {
	var out []string
	say := func(there bool, what string) {
		if there {
			out = append(out, what+" of the workspace are not mounted by this version")
		}
	}
	say(len(w.Skills) > 0, "skills")
	say(len(w.Selections) > 0, "selections of tools")
	var sources []string
	for _, m := range w.Mounts {
		if len(m.Spaces)+len(m.ExternalProjects)+len(m.Work) > 0 {
			sources = append(sources, string(m.Slot))
		}
	}
	say(len(sources) > 0, "the sources in "+strings.Join(sources, ", "))
	templates := false
	for _, s := range w.Seeds {
		templates = templates || s.Template != ""
	}
	say(templates, "templates")
	return out
}
