package project

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/workflow"
)

// Folder is the directory of a project's own files.
const Folder = ".tenon"

// Options say from where and with what a project is opened.
type Options struct {
	Dir    string              // where the command is typed; "" is the working directory
	Getenv func(string) string // nil is os.Getenv
	State  string              // --state; "" when it is not given
	// Flags are settings given on the command line, by their key, such as
	// "limits.maxTokens"; values are JSON or plain text.
	Flags map[string]string
	// CommonDir returns the git common directory of a directory, or "" outside
	// of git. Nil takes every project for one outside of git.
	CommonDir    func(dir string) (string, error)
	TrustProject bool // --trust-project
}

// Project is an opened project.
type Project struct {
	Root     string // canonical; where .tenon is, or would be
	Dir      string // canonical; where the command was typed
	ID       string // the same in every worktree; 64 hex digits
	Name     string // for people
	State    string // base of all state, shared by all projects
	Home     string // state of this project, below State
	Config   Configuration
	Warnings []source.Error // of the user's configuration, and about places

	ceiling  string // top-most directory that is asked for workflows
	settings []Setting
	digest   workflow.Digest // of .tenon/config.yaml; "" when there is none
	withheld []Setting
	opts     Options
}

// Open finds the project around a directory and reads its configuration. A
// defect of a configuration file is a *workflow.Error that wraps source.Errors.
func Open(o Options) (*Project, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	dir, err := canonical(cmp.Or(o.Dir, "."))
	if err == nil && !isDir(dir) {
		err = errors.New("it is no directory")
	}
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "opening the project around %s: %w", cmp.Or(o.Dir, "the working directory"), err).
			WithHint("name a directory that is there")
	}
	p := &Project{Dir: dir, opts: o}
	p.Root, p.ceiling = findRoot(dir)
	if p.State, err = stateBase(o); err != nil {
		return nil, err
	}
	layers, err := p.readLayers()
	if err != nil {
		return nil, err
	}
	if err := p.identify(cmp.Or(layers.flags.text("project"), layers.env.text("project"), layers.project.text("project"))); err != nil {
		return nil, err
	}
	if err := p.configure(layers); err != nil {
		return nil, err
	}
	if within(p.State, p.Root) {
		p.warn(fmt.Sprintf("the state directory %s is inside the project, where agents may write", p.State), "choose another with --state or TENON_STATE")
	}
	return p, nil
}

func (p *Project) warn(message, hint string) {
	p.Warnings = append(p.Warnings, source.Error{File: p.Root, Message: message, Hint: hint})
}

// canonical resolves links and makes a path absolute.
func canonical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// findRoot returns the nearest directory with a .tenon folder, else the git
// root, else dir; and the git root, or the root where there is none.
func findRoot(dir string) (root, ceiling string) {
	for at := dir; ; at = filepath.Dir(at) {
		if root == "" && isDir(filepath.Join(at, Folder)) {
			root = at
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil && ceiling == "" {
			ceiling = at
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	root = cmp.Or(root, ceiling, dir)
	if ceiling == "" || !within(root, ceiling) {
		ceiling = root
	}
	return root, ceiling
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// stateBase returns the directory of all state.
func stateBase(o Options) (string, error) {
	if given := cmp.Or(o.State, o.Getenv("TENON_STATE")); given != "" {
		return filepath.Abs(given)
	}
	if xdg := o.Getenv("XDG_STATE_HOME"); filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "tenon"), nil
	}
	home := o.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", workflow.Errorf(workflow.CodeInvalidArguments, "there is no place for state: HOME is not set").
			WithHint("set HOME, or name a directory with --state or TENON_STATE")
	}
	return filepath.Join(home, ".local", "state", "tenon"), nil
}

// userFile returns the user's configuration file, or "".
func userFile(o Options) string {
	if xdg := o.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "tenon", "config.yaml")
	}
	if home := o.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "tenon", "config.yaml")
	}
	return ""
}

// identify gives the project its identity: its configured name, else the git
// common directory, which all worktrees share, else its root.
func (p *Project) identify(name string) error {
	identity, place := "name:"+name, name
	if name == "" {
		place = p.Root
		if p.opts.CommonDir != nil {
			common, err := p.opts.CommonDir(p.Root)
			if err != nil {
				return fmt.Errorf("asking git about %s: %w", p.Root, err)
			}
			if common != "" {
				if place, err = canonical(common); err != nil {
					return fmt.Errorf("opening git directory: %w", err)
				}
			}
		}
		identity = "dir:" + place
		if filepath.Base(place) == ".git" {
			place = filepath.Dir(place)
		}
		place = strings.TrimSuffix(filepath.Base(place), ".git")
	}
	p.ID = canon.Sum([]byte(identity))
	p.Name = place
	p.Home = filepath.Join(p.State, "projects", slug(place)+"-"+p.ID[:8])
	return nil
}

// slug makes a name fit for a directory: lower-case letters, digits and dashes,
// at most 40.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	return cmp.Or(strings.Trim(b.String(), "-"), "project")
}

// Path makes a path of the configuration, relative to the root, absolute.
func (p *Project) Path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Root, path)
}

// Repositories returns the configured repositories with absolute paths; without
// any, the root under the id "repo".
func (p *Project) Repositories() []workflow.RepositoryInfo {
	if len(p.Config.Repositories) == 0 {
		return []workflow.RepositoryInfo{{ID: "repo", Path: p.Root}}
	}
	out := make([]workflow.RepositoryInfo, len(p.Config.Repositories))
	for i, r := range p.Config.Repositories {
		out[i] = workflow.RepositoryInfo{ID: r.ID, Path: p.Path(cmp.Or(r.Path, ".")), Scope: r.Scope}
	}
	return out
}

// Providers returns every provider by the names that definitions use: those that
// are configured, "scripted", and "fixture", which is another name of it unless
// it is configured.
func (p *Project) Providers() map[string]Provider {
	all := maps.Clone(p.Config.Providers)
	if all == nil {
		all = map[string]Provider{}
	}
	if _, ok := all[scripted]; !ok {
		all[scripted] = Provider{Type: scripted, File: filepath.Join(Folder, "scripted.yaml")}
	}
	if _, ok := all["fixture"]; !ok {
		all["fixture"] = all[scripted]
	}
	return all
}

const scripted = "scripted"

// Roles returns the built-in and configured roles. A role without a provider
// takes the only one that is configured beside scripted ones, or a scripted one
// where there are no others; where there are several, it stays without. A role
// without an access reads.
func (p *Project) Roles() map[string]workflow.Role {
	var real []string
	for name, provider := range p.Config.Providers {
		if provider.Type != scripted {
			real = append(real, name)
		}
	}
	usual := scripted
	if len(real) > 0 {
		usual = real[0]
	}
	roles := make(map[string]workflow.Role, len(p.Config.Roles))
	for id, r := range p.Config.Roles {
		if r.Provider == "" && len(real) < 2 {
			r.Provider = usual
		}
		r.Access = cmp.Or(r.Access, workflow.EffectRead)
		roles[id] = r.Role
	}
	return roles
}
