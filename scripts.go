package tenon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/script"
	"github.com/tenonrun/tenon/script/builtin"
	scripts "github.com/tenonrun/tenon/script/store"
	corestore "github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Origin is where a workflow with a name comes from. A name is looked up in this
// order.
type Origin string

// The origins.
const (
	OriginProject Origin = "project"  // a folder of the project
	OriginUser    Origin = "user"     // the person's own
	OriginSaved   Origin = "saved"    // the script store of the project
	OriginBuiltin Origin = "built-in" // this program
)

const (
	scriptsDir  = "scripts" // below the state of the project
	scriptScope = "project" // of runs that people and programs start
)

// Scripts are the workflow scripts that can be named in a project, and those
// that its runs started with.
type Scripts struct {
	t     *Tenon
	store func() (scripts.Store, error) // nil without a store
	files atomic.Pointer[scripts.Files] // that were opened here
}

// NamedScript is a script that can be named.
type NamedScript struct {
	script.Meta
	Name     string `json:"name"`                // it is run by; that of its file
	Also     string `json:"alsoNamed,omitempty"` // by its meta, where no file has that name
	Origin   Origin `json:"origin"`
	File     string `json:"file"`               // for people
	Path     string `json:"path,omitempty"`     // absolute; "" when it lies in no folder of workflows
	HiddenBy string `json:"hiddenBy,omitempty"` // the workflow that takes the name
	source   []byte
}

// Source returns the text of the script.
func (n NamedScript) Source() []byte { return slices.Clone(n.source) }

func newScripts(t *Tenon) *Scripts {
	s := &Scripts{t: t}
	s.store = sync.OnceValues(func() (scripts.Store, error) {
		switch {
		case t.cfg.Scripts != nil:
			return t.cfg.Scripts, nil
		case t.cfg.Memory && !isThere(filepath.Join(t.Project.Home, scriptsDir)):
			return nil, nil
		}
		files, err := scripts.Open(filepath.Join(t.Project.Home, scriptsDir))
		if err != nil {
			return nil, err
		}
		s.files.Store(files)
		return files, nil
	})
	return s
}

func isThere(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Scripts returns the door to workflow scripts.
func (t *Tenon) Scripts() *Scripts { return t.scripts }

// located is a workflow that was found by its name or file, with its text.
type located struct {
	project.Found
	file     string // for people
	text     []byte
	notice   string
	defaults scripts.Resolution // what its args are merged over
}

// locate finds a workflow: a file, or a name.
func (t *Tenon) locate(nameOrFile string) (located, error) {
	f, ok, err := project.Found{}, false, error(nil)
	if !project.IsFile(nameOrFile) {
		f, ok, err = t.Project.Named(nameOrFile)
		if err == nil && !ok {
			f, ok = t.called(nameOrFile)
		}
		if err == nil && !ok {
			if l, known, err := t.scripts.resolve(nameOrFile); known || err != nil {
				return l, err
			}
		}
	}
	if err == nil && !ok {
		f, err = t.Project.Find(nameOrFile, builtin.Names()...)
	}
	if err != nil {
		return located{}, err
	}
	l := located{Found: f, file: t.fileName(f.Path)}
	if l.text, err = os.ReadFile(f.Path); err != nil {
		return l, workflow.Errorf(workflow.CodeWorkflowNotFound, "reading workflow %s: %w", f.Name, err)
	}
	return l, nil
}

// called finds a script in the folders by the name that it gives itself: the
// nearest one. Names of files come first.
func (t *Tenon) called(name string) (project.Found, bool) {
	for _, f := range t.Project.Everywhere() {
		if f.Kind == workflow.KindScript && t.ownName(f) == name {
			return f, true
		}
	}
	return project.Found{}, false
}

// ownName is the name that a script gives itself; "" of one that is broken.
func (t *Tenon) ownName(f project.Found) string {
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return ""
	}
	m, err := script.Read(f.Path, text)
	if err != nil {
		return ""
	}
	return m.Name
}

// fileName is a file for people: relative to where Tenon was opened when it lies
// there.
func (t *Tenon) fileName(path string) string {
	if rel, err := filepath.Rel(t.Project.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// unfiled names a script that lies in no folder of workflows.
func unfiled(o Origin, name string) string { return string(o) + ":" + name + ".js" }

// resolve finds a script beyond the folders: in the store, then in the program.
func (s *Scripts) resolve(name string) (located, bool, error) {
	l := located{Found: project.Found{Name: name, Kind: workflow.KindScript}}
	store, broken := s.store()
	if names, ok := store.(scripts.Resolver); ok {
		r, ok, err := names.ResolveName(context.Background(), name) // it has no side effects, and ends soon
		if err != nil {
			return l, false, workflow.Errorf(workflow.CodeWorkflowNotFound, "%w", err)
		}
		if ok {
			l.file, l.text, l.defaults = unfiled(OriginSaved, name), []byte(r.Script), r
			return l, true, nil
		}
	}
	if now, ok := builtin.Current(name); ok {
		l.Name, l.notice = now, fmt.Sprintf("the workflow %s is called %s now", name, now)
	}
	l.file = unfiled(OriginBuiltin, l.Name)
	var ok bool
	if l.text, ok = builtin.Source(l.Name); !ok {
		return l, false, broken
	}
	return l, true, nil
}

// names are all names that a script may start workflows by.
func (t *Tenon) names(ctx context.Context) []string {
	var all []string
	for _, f := range t.Project.Everywhere() {
		all = append(all, f.Name)
		if f.Kind == workflow.KindScript {
			all = append(all, t.ownName(f))
		}
	}
	saved, _ := t.scripts.saved(ctx) // one that cannot be listed is told when it is asked for
	all = append(append(all, saved...), builtin.Names()...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// List returns all scripts that can be named, by name, and those that a nearer
// workflow hides. Scripts that say nothing valid about themselves are in broken.
func (s *Scripts) List(ctx context.Context) (list []NamedScript, broken []error, err error) {
	taken := map[string]string{}
	add := func(n NamedScript, read func() ([]byte, error)) {
		n.HiddenBy = taken[n.Name]
		taken[n.Name] = cmp.Or(n.HiddenBy, n.File)
		text, err := read()
		if err == nil {
			n.source = text
			n.Meta, err = script.Read(n.File, text)
		}
		if err != nil {
			broken = append(broken, err)
			return
		}
		list = append(list, n)
	}
	for _, f := range s.t.Project.Everywhere() {
		n := NamedScript{Name: f.Name, Origin: OriginProject, File: s.t.fileName(f.Path), Path: f.Path}
		if f.User {
			n.Origin = OriginUser
		}
		if f.Kind != workflow.KindScript {
			taken[f.Name] = cmp.Or(taken[f.Name], n.File)
			continue
		}
		add(n, func() ([]byte, error) { return os.ReadFile(f.Path) })
	}
	for i, n := range list { // names of files come first
		if own := n.Meta.Name; taken[own] == "" {
			list[i].Also, taken[own] = own, n.File
		}
	}
	saved, err := s.saved(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range saved {
		add(NamedScript{Name: name, Origin: OriginSaved, File: unfiled(OriginSaved, name)}, func() ([]byte, error) {
			l, _, err := s.resolve(name)
			return l.text, err
		})
	}
	for _, name := range builtin.Names() {
		text, _ := builtin.Source(name)
		add(NamedScript{Name: name, Origin: OriginBuiltin, File: unfiled(OriginBuiltin, name)}, func() ([]byte, error) { return text, nil })
	}
	slices.SortStableFunc(list, func(a, b NamedScript) int { return cmp.Compare(a.Name, b.Name) })
	return list, broken, nil
}

// saved lists the names in the script store. The store of files does not list
// them itself: its directory has the scripts of runs, too.
func (s *Scripts) saved(ctx context.Context) ([]string, error) {
	store, err := s.store()
	if store == nil || err != nil {
		return nil, err
	}
	var names []string
	if l, ok := store.(scripts.Lister); ok {
		all, err := l.List(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing saved workflows: %w", err)
		}
		for _, one := range all {
			names = append(names, one.Name)
		}
		return names, nil
	}
	if _, files := store.(*scripts.Files); !files {
		return nil, nil
	}
	entries, err := os.ReadDir(filepath.Join(s.t.Project.Home, scriptsDir))
	if err != nil {
		return nil, fmt.Errorf("listing saved workflows: %w", err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".js"); ok && e.Type().IsRegular() && scripts.IsName(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Show finds a script by name or file, broken or not.
func (s *Scripts) Show(nameOrFile string) (NamedScript, error) {
	l, err := s.t.locate(nameOrFile)
	if err != nil {
		return NamedScript{}, err
	}
	if l.Kind != workflow.KindScript {
		return NamedScript{}, workflow.Errorf(workflow.CodeInvalidArguments, "%s is a definition and no script", l.file).
			WithHint("look at it with: tenon validate %s, tenon graph %s", nameOrFile, nameOrFile)
	}
	n := NamedScript{Name: l.Name, Origin: OriginProject, File: l.file, Path: l.Path, source: l.text}
	switch o, _, named := strings.Cut(l.file, ":"); {
	case l.User:
		n.Origin = OriginUser
	case l.Path == "" && named:
		n.Origin = Origin(o)
	}
	n.Meta, err = script.Read(l.file, l.text)
	return n, err
}

// Check finds a script by name or file and judges it whole.
func (s *Scripts) Check(nameOrFile string) (NamedScript, error) {
	n, err := s.Show(nameOrFile)
	if err == nil {
		_, err = script.Check(n.File, n.source)
	}
	return n, err
}

// Pinned returns the script that a run started with, and its name.
func (s *Scripts) Pinned(ctx context.Context, run workflow.RunID) (name string, text []byte, err error) {
	start, err := s.t.started(ctx, run)
	if err != nil {
		return "", nil, err
	}
	if start.Kind != workflow.KindScript {
		return "", nil, workflow.Errorf(workflow.CodeInvalidArguments, "run %s is one of a definition, %s, and of no script", run, start.Workflow.Name)
	}
	if text, err = s.t.Store.Blob(ctx, start.Workflow.Digest); err != nil {
		return "", nil, fmt.Errorf("reading the script of run %s: %w", run, err)
	}
	return start.Workflow.Name, text, nil
}

// keep puts the script of a new run where people can edit it. A script that
// cannot be kept runs all the same; the warning says so.
func (s *Scripts) keep(ctx context.Context, run workflow.RunID, text []byte) (path, warning string) {
	store, err := s.store()
	if store == nil && err == nil {
		return "", ""
	}
	if err == nil {
		path, err = store.Persist(ctx, string(run), string(text), scriptScope)
	}
	if err != nil {
		return "", fmt.Sprintf("the script of this run is not kept as a file, so it cannot be edited and run again by its path: %v", err)
	}
	return path, ""
}

// path is where the script of a run is kept; "" when it is not.
func (s *Scripts) path(run workflow.RunID) string {
	path := filepath.Join(s.t.Project.Home, scriptsDir, scripts.Partition(scriptScope), string(run)+".js")
	if info, err := os.Lstat(path); s.t.cfg.Scripts != nil || err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// collect removes the copies of scripts of runs that are gone, and of those that
// never began. A run that is just beginning has no history yet.
func (s *Scripts) collect(ctx context.Context, rep *corestore.Report, before time.Time, dry bool) error {
	if !isThere(filepath.Join(s.t.Project.Home, scriptsDir)) {
		return nil
	}
	store, err := s.store()
	files, ok := store.(*scripts.Files)
	if !ok || err != nil {
		return err
	}
	if young := time.Now().Add(-time.Hour); young.Before(before) {
		before = young
	}
	var broken error
	n, bytes, err := files.Sweep(scriptScope, dry, func(run string, at time.Time) bool {
		if slices.Contains(rep.Removed, run) {
			return true
		}
		heads, err := s.t.Store.Runs(ctx, corestore.Query{Run: workflow.RunID(run), Limit: 1})
		broken = errors.Join(broken, err)
		return err == nil && len(heads) == 0 && at.Before(before)
	})
	rep.Scripts += n
	rep.Bytes += bytes
	return errors.Join(err, broken)
}

// told is a result with what belongs to it beside its history.
func (t *Tenon) told(ctx context.Context, r history.Result, err error) (history.Result, error) {
	if r, err = t.warned(ctx, r, err); err == nil {
		r.ScriptPath = t.scripts.path(r.Run)
	}
	return r, err
}

func (s *Scripts) close() error {
	if files := s.files.Load(); files != nil {
		return files.Close()
	}
	return nil
}

// Save writes the script of a run into the workflows of the project, or of the
// person, under a name.
func (s *Scripts) Save(ctx context.Context, run workflow.RunID, name string, user bool) (path string, err error) {
	_, text, err := s.Pinned(ctx, run)
	if err != nil {
		return "", err
	}
	if !scripts.IsName(name) {
		return "", workflow.Errorf(workflow.CodeInvalidArguments, "%q cannot be the name of a workflow", name).
			WithHint("use letters, digits, '.', '_' and '-'")
	}
	base, folders := s.t.Project.Root, []string{project.Folder, "workflows"}
	if user {
		config := s.t.Project.UserConfig()
		if config == "" {
			return "", workflow.Errorf(workflow.CodeInvalidArguments, "there is no place for your own workflows: neither HOME nor XDG_CONFIG_HOME is set")
		}
		base, folders = filepath.Dir(config), []string{filepath.Base(config), "workflows"}
	}
	path = filepath.Join(append(append([]string{base}, folders...), name+".js")...)
	if err := writeUnlinked(base, folders, name+".js", text); err != nil {
		var coded *workflow.Error
		if errors.As(err, &coded) {
			return "", err
		}
		return "", workflow.Errorf(workflow.CodeInvalidArguments, "saving the script of run %s as %s: %w", run, path, err)
	}
	return path, nil
}
