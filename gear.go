package tenon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/notes"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/tool"
	artifacts "github.com/tenonrun/tenon/tool/artifact"
	"github.com/tenonrun/tenon/tool/files"
	"github.com/tenonrun/tenon/tool/plan"
	"github.com/tenonrun/tenon/tool/shell"
	"github.com/tenonrun/tenon/tool/shell/guard"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/git"
)

// bashName is the tool that is left out where there is no such program.
const bashName = "bash"

// gear gives turns their tools and their fence.
type gear struct {
	t     *Tenon
	rules func() (Rules, error)
	tools func() (*tool.Set, error)

	mu     sync.Mutex
	guards map[string]*guard.Guard // by the work trees, so that commands side by side share one
}

func newGear(t *Tenon, memory *notes.Store) *gear {
	return &gear{t: t, guards: map[string]*guard.Guard{}, rules: sync.OnceValues(t.rules), tools: sync.OnceValues(func() (*tool.Set, error) {
		return tool.NewSet(append(floorTools(memory), t.artifactTools()...)...)
	})}
}

// floorTools are the tools that every agent has. They are declared here;
// bash and workflow are bound by each turn.
func floorTools(memory *notes.Store) []tool.Tool {
	var list []tool.Tool
	if _, err := exec.LookPath(bashName); err == nil {
		list = append(list, shell.Tool(func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, errors.New("the tool bash has no shell")
		}))
	}
	rg, err := exec.LookPath("rg")
	if err == nil {
		rg, err = filepath.Abs(rg)
	}
	if err != nil {
		rg = ""
	}
	return slices.Concat(list, files.Tools(files.Config{Ripgrep: rg}), plan.Tools(memory), []tool.Tool{plan.Workflow(nil)})
}

// bench is the gear of one turn, made ready when the first tool is called.
type bench struct {
	gear    *gear
	turn    executor.Turn
	session *session
	shell   *shell.Shell // nil where there is no bash
	fence   *disk.Fence
}

// equip gives a turn its tools, and the fence for when they are used.
func (g *gear) equip(t executor.Turn) (native.Gear, error) {
	set, err := g.tools()
	if err != nil {
		return native.Gear{}, err
	}
	b := &bench{gear: g, turn: t}
	s, err := g.t.session(context.Background(), t.Run)
	if err != nil {
		return native.Gear{}, err
	}
	b.session = s
	if set, err = b.without(set); err != nil {
		return native.Gear{}, err
	}
	if !b.mayFlow() {
		if set, err = set.Narrow(slices.DeleteFunc(set.Names(), func(name string) bool { return name == plan.WorkflowName })...); err != nil {
			return native.Gear{}, err
		}
	}
	if _, err := set.Find(bashName); err == nil {
		set, err = set.Doing(bashName, func(ctx context.Context, c tool.Call) (tool.Result, error) { return b.shell.Run(ctx, c) })
		if err != nil {
			return native.Gear{}, err
		}
	}
	gear := native.Gear{Open: b.open, Close: b.close, Unasked: g.t.cfg.DenyAsked, Strict: g.t.cfg.FailDenied, Notes: map[string]string{"task": s.team(t)}}
	if _, err := set.Find(plan.WorkflowName); err == nil {
		gear.Notes[plan.WorkflowName] = g.t.flows(context.Background()) // names are on the disk
		gear.Await = b.await
		if set, err = set.Doing(plan.WorkflowName, plan.Workflow(b.flow).Run); err != nil {
			return native.Gear{}, err
		}
	}
	gear.Tools = set
	return gear, nil
}

func (b *bench) open(ctx context.Context) (tool.Fence, error) {
	rules, err := b.gear.rules()
	if err != nil {
		return nil, err
	}
	access := permission.AccessRead
	if b.turn.Access == workflow.EffectWrite {
		access = permission.AccessWrite
	}
	cfg := b.gear.t.fence(rules, access)
	if m := b.member(); m != nil && m.Sandboxed {
		cfg.Directories, cfg.Mode = nil, permission.ModeLocked
	}
	cfg.Root, cfg.Directories = b.turn.Dir, append(cfg.Directories, b.turn.Roots...)
	cfg.Rules = append(slices.Clip(cfg.Rules), b.rules()...)
	if set, err := b.gear.tools(); err == nil && slices.Contains(set.Names(), bashName) {
		if b.shell, err = b.gear.shell(ctx, b.turn, cfg); err != nil {
			return nil, err
		}
		if err := b.shell.Recover(ctx); err != nil {
			return nil, err
		}
	}
	if b.fence, _, err = disk.Open(ctx, cfg); err != nil {
		return nil, fmt.Errorf("preparing the fence: %w", err)
	}
	return fence{b.fence, b.shell}, nil
}

// without takes away the tools that the agent may not use and that no rule denies
// by itself: one that did would deny others too.
func (b *bench) without(set *tool.Set) (*tool.Set, error) {
	m := b.member()
	if m == nil {
		return set, nil
	}
	byRule := func(name string) bool {
		return slices.ContainsFunc(m.Rules, func(r permission.Rule) bool {
			return r.Effect == permission.Deny && r.Whole && permission.ToolKey(r.Tool) == name
		})
	}
	names := slices.DeleteFunc(set.Names(), func(name string) bool { return slices.Contains(m.Denied, name) && !byRule(name) })
	if len(names) == len(set.Names()) {
		return set, nil
	}
	return set.Narrow(names...)
}

// member is the agent of the turn, nil where it has no definition.
func (b *bench) member() *member {
	def := b.turn.Def
	if def == "" {
		def = "agent:" + b.turn.Role
	}
	return b.session.member(def)
}

// rules are what holds for the agent of the turn beside the rules of the project.
func (b *bench) rules() []permission.Rule {
	var list []permission.Rule
	for _, path := range b.turn.Closed {
		for _, pattern := range []string{"/" + path, "/" + path + "/**"} {
			list = append(list, permission.Rule{
				Effect: permission.Deny, Tool: "Edit", Pattern: pattern, Source: permission.Source{Name: "the workspace of the agent", Owner: permission.Host},
			})
		}
	}
	if m := b.member(); m != nil {
		list = append(list, m.Rules...)
	}
	return list
}

func (b *bench) close() error {
	var errs []error
	if b.shell != nil {
		errs = append(errs, b.shell.Close())
	}
	if b.fence != nil {
		errs = append(errs, b.fence.Close())
	}
	return errors.Join(errs...)
}

// shell makes the shell of a turn, below the fence that f describes.
func (g *gear) shell(ctx context.Context, t executor.Turn, f disk.Config) (*shell.Shell, error) {
	home := g.t.Project.UserHome()
	hide := slices.Clone(f.Private)
	for _, dir := range permission.KeyStores() {
		if home != "" {
			hide = append(hide, filepath.Join(home, filepath.FromSlash(dir)))
		}
	}
	var show []string
	roots := slices.Concat([]string{t.Dir}, f.Directories, gitDirs(ctx, t.Roots))
	if t.Space != "" {
		show = []string{t.Space}
		roots = append(slices.DeleteFunc(roots, func(dir string) bool { return dir == t.Space }), openSlots(t.Space, t.Closed)...)
	}
	caches, env, err := g.caches()
	if err != nil {
		return nil, fmt.Errorf("making the caches of agents: %w", err)
	}
	if caches != "" {
		roots = append(roots, caches)
	}
	maps.Copy(env, t.Env)
	slices.Sort(roots[1:])
	return shell.New(shell.Config{
		Runner: g.t.runner, Dir: t.Dir, Access: t.Access, Home: home, Marker: string(t.Run), Idle: t.Idle, Env: env,
		Roots: slices.Compact(roots), Hide: hide, Read: show, Unset: g.t.backends.keys(), Guard: g.guard(ctx, t, f),
	})
}

// guardDir is where guards keep what they need, below the state of the project.
const guardDir = "guard"

// guard returns what guards the places of a turn that run code later.
func (g *gear) guard(ctx context.Context, t executor.Turn, f disk.Config) *guard.Guard {
	roots := slices.Concat([]string{t.Dir}, f.Directories)
	slices.Sort(roots)
	roots = slices.Compact(roots)
	key := strings.Join(roots, "\x00")
	g.mu.Lock()
	defer g.mu.Unlock()
	if made := g.guards[key]; made != nil {
		return made
	}
	c := guard.Config{Except: slices.Concat(f.Private, roots), Home: filepath.Join(g.t.Project.Home, guardDir), SameConfig: git.SamePrograms}
	for _, root := range roots {
		for _, name := range permission.Guarded() {
			c.Places = append(c.Places, filepath.Join(root, filepath.FromSlash(name)))
		}
		c.Git = append(c.Git, filepath.Join(root, ".git"))
	}
	c.Git = append(c.Git, gitDirs(ctx, roots)...)
	g.guards[key] = guard.New(c)
	return g.guards[key]
}

// openSlots are the directories of a workspace that commands may write: those that
// are not closed.
func openSlots(space string, closed []string) []string {
	entries, err := os.ReadDir(space)
	if err != nil {
		return nil // a command that would write there is told
	}
	var list []string
	for _, e := range entries {
		if dir := filepath.Join(space, e.Name()); e.IsDir() && !slices.Contains(closed, dir) && e.Name() != runcontext.SlotRepos.Dir() {
			list = append(list, dir)
		}
	}
	return list
}

// gitDirs are the common directories of work trees: a commit in a linked one
// writes there.
func gitDirs(ctx context.Context, roots []string) []string {
	var dirs []string
	for _, root := range roots {
		if common, err := git.Common(ctx, root); err == nil && common != filepath.Join(root, ".git") {
			dirs = append(dirs, common)
		}
	}
	return dirs
}

// Confinement says in one line what holds the commands that agents run in this
// process, whatever their text is.
func (t *Tenon) Confinement(ctx context.Context) (string, error) {
	if set, err := t.gear.tools(); err != nil || !slices.Contains(set.Names(), bashName) {
		return "agents have no tool bash: no bash is on the path", err
	}
	turn := executor.Turn{Dir: t.Project.Root, Access: workflow.EffectWrite}
	for _, r := range t.Project.Repositories() {
		turn.Roots = append(turn.Roots, r.Path)
	}
	rules, err := t.gear.rules()
	if err != nil {
		return "", err
	}
	s, err := t.gear.shell(ctx, turn, t.fence(rules, permission.AccessWrite))
	if err != nil {
		return "", err
	}
	return s.Message(), s.Close()
}

// fence lets through what a person allowed, and tells the shell what the tools that
// write files do, so that its guard takes it for right.
type fence struct {
	*disk.Fence
	shell *shell.Shell // nil where there is no bash
}

// Write implements tool.Fence.
func (f fence) Write(ctx context.Context, p tool.Place, d tool.Draft) (tool.Change, error) {
	c, err := f.Fence.Write(ctx, p, d)
	if err == nil && f.shell != nil {
		f.shell.Accept(p.Canonical)
	}
	return c, err
}

// Grant implements native.Granter.
func (f fence) Grant(a native.Allowance) tool.Fence {
	g := disk.Grant{Tool: a.Tool, Op: a.Op, Path: a.Canonical}
	if a.Command != "" {
		g = disk.Grant{Tool: bashName, Text: a.Command, Path: a.Cwd}
	}
	return fence{f.Granting(g), f.shell}
}

// toolNames are the tools that rules can be about.
func toolNames() []string {
	names := []string{bashName, "submit", plan.WorkflowName}
	for _, t := range slices.Concat(files.Tools(files.Config{}), plan.Tools(&notes.Store{}), artifacts.Tools(artifacts.Config{})) {
		names = append(names, t.Name)
	}
	return names
}
