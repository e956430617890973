package tenon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/files"
	"github.com/tenonrun/tenon/composition/shelf"
	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/workflow"
)

// Places of agents and what belongs to them.
const (
	shelfDir = "published" // below the state of the project
	specsDir = "specs"     // below the project's folder
)

// Agents are the agents, skills and compositions that can be named in a project.
type Agents struct {
	*composition.Catalog
	Files *files.Files
	Shelf *shelf.Shelf // what was published

	t    *Tenon
	lock *composition.Lock // nil without a file
	torn error             // why the file cannot be used; nil for one that can, or none
}

// Agents reads all agents, skills and compositions: those of the repository, of
// the person, of the organisation and of biomes, and what was published.
func (t *Tenon) Agents(ctx context.Context) (*Agents, error) {
	cfg := files.Config{Project: t.Project.Root, User: t.Project.UserConfig(), Home: t.Project.UserHome(), Org: t.Project.Config.Org, Biomes: t.Project.Config.Biomes}
	found, err := files.Read(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("reading agents: %w", err)
	}
	a := &Agents{Files: found, Shelf: shelf.New(filepath.Join(t.Project.Home, shelfDir)), t: t}
	kept, err := a.Shelf.Items()
	if err != nil {
		return nil, err
	}
	a.Catalog = found.Catalog(kept)
	a.lock, a.torn = t.readLock()
	return a, nil
}

// LockPath is where the lock of the project's agents is.
func (t *Tenon) LockPath() string {
	return filepath.Join(t.Project.Root, project.Folder, composition.LockFile)
}

func (t *Tenon) readLock() (*composition.Lock, error) {
	data, err := os.ReadFile(t.LockPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the lock of agents: %w", err)
	}
	return composition.ParseLock(filepath.Join(project.Folder, composition.LockFile), data)
}

// options are how references of a run are resolved. With drafts there is no lock:
// what can be changed at any time cannot be pinned.
func (a *Agents) options(draft bool) composition.Options {
	o := composition.Options{Draft: draft}
	if !draft {
		o.Lock = a.lock
	}
	return o
}

// Resolve pins what a node may name: an agent, or a composition.
func (a *Agents) Resolve(kind composition.Kind, name string, o composition.Options) (*composition.Resolution, error) {
	ref, err := composition.ParseRef(kind, name)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	return resolve(a.Catalog, kind, ref, o)
}

func resolve(c *composition.Catalog, kind composition.Kind, ref composition.Ref, o composition.Options) (*composition.Resolution, error) {
	if kind == composition.KindComposition {
		return composition.Resolve(c, ref, o)
	}
	return composition.ResolveAgent(c, ref, o)
}

// keep publishes what a run uses, so that it is there when the run goes on.
func (a *Agents) keep(items []*composition.Item) error {
	for _, it := range items {
		p := shelf.Publication{Item: it, Implicit: true}
		if it.Kind == composition.KindSkill {
			p.Files = a.Files.ReadFile
		}
		if it.Stored || it.Lifecycle == composition.Draft {
			continue
		}
		if _, err := a.Shelf.Publish(p); err != nil {
			return err
		}
	}
	return nil
}

// Specs reads the specifications of deliverables of the project. Those that
// cannot be used are told together.
func (t *Tenon) Specs() ([]*deliverable.Spec, error) {
	specs, _, err := t.specFiles()
	return specs, err
}

// readSpecs returns the texts of the specifications, by the names that nodes give
// them: with the version, and the newest without one. Those that can be read are
// there with an error, too.
func (t *Tenon) readSpecs() (map[string]string, error) {
	specs, texts, bad := t.specFiles()
	if len(specs) == 0 {
		return nil, bad
	}
	out := map[string]string{}
	for i, s := range specs {
		newest, err := deliverable.Pick(specs, deliverable.Ref{Slug: s.Slug})
		if err != nil {
			return nil, errors.Join(bad, err)
		}
		out[deliverable.Ref{Slug: s.Slug, Version: s.Version}.String()] = texts[i]
		if newest == s {
			out[s.Slug] = texts[i]
		}
	}
	return out, bad
}

// specFiles reads the specifications, and their texts.
func (t *Tenon) specFiles() ([]*deliverable.Spec, []string, error) {
	dir := filepath.Join(t.Project.Root, project.Folder, specsDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading specifications of deliverables: %w", err)
	}
	var specs []*deliverable.Spec
	var texts []string
	var bad source.Errors
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".json", ".yaml", ".yml":
		default:
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, nil, fmt.Errorf("reading specifications of deliverables: %w", err)
		}
		s, err := deliverable.Load(filepath.Join(project.Folder, specsDir, e.Name()), data)
		var found source.Errors
		switch {
		case errors.As(err, &found):
			bad = append(bad, found...)
		case err != nil:
			return nil, nil, err
		default:
			specs, texts = append(specs, s), append(texts, string(data))
		}
	}
	if len(bad) > 0 {
		return specs, texts, workflow.Errorf(workflow.CodeInvalidArguments, "specifications of deliverables: %w", bad)
	}
	return specs, texts, nil
}
