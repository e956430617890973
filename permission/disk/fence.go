package disk

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Config is what a Fence is made from. All directories are absolute.
type Config struct {
	Root        string   // of the task; it must exist
	Directories []string // further roots
	Readable    []string // further directories that may be read
	Home        string
	Private     []string // the program's own places: never read or written
	Rules       []permission.Rule
	Mode        permission.Mode
	Access      permission.Access
	Listed      bool     // writes that no rule allows are denied, inside the roots too
	Tools       []string // names of the tools that exist, for warnings
}

// Fence implements tool.Fence. It may be used by any number of goroutines.
type Fence struct {
	judge  *permission.Judge
	env    *Env
	root   string
	access permission.Access
	mode   permission.Mode
	listed bool
	grants []Grant
}

var _ tool.Fence = (*Fence)(nil)

// Open makes the fence of a turn. The warnings tell of rules that do nothing. The
// Fence is to be closed, after every fence that was narrowed from it.
func Open(ctx context.Context, c Config) (*Fence, []permission.Warning, error) {
	env, err := NewEnv(c.Root)
	if err != nil {
		return nil, nil, err
	}
	policy, warnings := c.policy(ctx, env)
	f := &Fence{judge: permission.NewJudge(policy, env), env: env, root: c.Root, access: c.Access, mode: c.Mode, listed: c.Listed}
	return f, warnings, nil
}

func (c Config) policy(ctx context.Context, env *Env) (permission.Policy, []permission.Warning) {
	rules := permission.Compile(ctx, c.Rules, permission.Scope{Root: c.Root, Home: c.Home, Writable: c.Directories, Tools: c.Tools}, env)
	defaults := permission.NewDefaults(ctx, permission.DefaultsConfig{
		Mode: c.Mode, Access: c.Access, Listed: c.Listed, Home: c.Home, Private: c.Private, Readable: c.Readable,
		Roots: append([]string{c.Root}, c.Directories...),
	}, env)
	return permission.Policy{Rules: rules, Defaults: defaults}, rules.Warnings()
}

// Narrow makes the fence of a child: what the child's configuration says counts
// beside all that holds for f. It shares the handle of f.
func (f *Fence) Narrow(ctx context.Context, c Config) (*Fence, []permission.Warning) {
	if c.Root == "" {
		c.Root = f.root
	}
	policy, warnings := c.policy(ctx, f.env)
	child := *f
	child.judge = f.judge.Narrow(policy)
	child.listed = f.listed || c.Listed
	if c.Access != permission.AccessWrite {
		child.access = permission.AccessRead
	}
	if c.Mode == permission.ModeLocked || child.mode != permission.ModeLocked && c.Mode == permission.ModeAskWrites {
		child.mode = c.Mode
	}
	return &child, warnings
}

// Close releases the handle of the root.
func (f *Fence) Close() error { return f.env.Close() }

// Judging returns the judge, to explain and to list rules.
func (f *Fence) Judging() *permission.Judge { return f.judge }

func (f *Fence) bases(cwd string) permission.Bases { return permission.Bases{Root: f.root, Cwd: cwd} }

// Explain gives the verdict about a request, and opens nothing.
func (f *Fence) Explain(ctx context.Context, r tool.Request) permission.Verdict {
	now := f.call(r, r.Args)
	var before *permission.Call
	if r.Args != nil && r.Args.From != nil {
		before = f.call(r, r.Args.From)
	}
	return f.judge.Rewritten(ctx, before, now)
}

func (f *Fence) call(r tool.Request, args *tool.Args) *permission.Call {
	t := &permission.Target{
		Slot: r.Target.Slot, Base: permission.Base(r.Target.Base), Absent: permission.Absent(r.Target.Absent),
		Pattern: r.Target.Pattern, Op: permission.Op(r.Target.Op),
	}
	c := &permission.Call{Tool: r.Tool, Protective: t, Declared: t, Bases: f.bases(r.Cwd), Identity: true}
	if args != nil {
		c.Args = args.Values
	}
	return c
}

// Judge implements tool.Fence.
func (f *Fence) Judge(ctx context.Context, r tool.Request) (tool.Place, error) {
	v := f.Explain(ctx, r)
	if v.Effect == permission.Allow && r.Effect == workflow.EffectWrite && r.Target.Op == tool.OpWrite && v.Reading.Kind == pathid.NoPath {
		return tool.Place{}, &tool.Failed{What: "the call of " + r.Tool + " names no file to write", Next: "give " + r.Target.Slot}
	}
	if v.Effect == permission.Ask && v.Reading.Kind == pathid.NoPath && permission.RunsCommands(r.Tool) {
		return tool.Place{}, nil // JudgeShell asks, with the command line in hand
	}
	return f.placed(ctx, &v)
}

// placed turns a verdict into a place, or into the error that says why not.
func (f *Fence) placed(ctx context.Context, v *permission.Verdict) (tool.Place, error) {
	r := &v.Reading
	switch {
	case v.Effect == permission.Deny:
		return tool.Place{}, &tool.Denied{Verdict: told(v)}
	case r.Kind == pathid.Refused:
		return tool.Place{}, &tool.Failed{What: tool.Quote(r.Spelled) + " is no file that can be opened (" + string(r.Word) + ")", Next: "name a file by its ordinary path"}
	case v.Effect != permission.Allow && !f.granted(v):
		return tool.Place{}, &tool.Asked{Verdict: told(v)}
	case r.Kind == pathid.NoPath:
		return tool.Place{}, nil
	case r.Canonical == "":
		return tool.Place{}, &tool.Failed{What: "nobody can tell where " + tool.Quote(r.Spelled) + " leads", Err: reason(r)}
	}
	p := tool.Place{
		Tool: v.Tool, Op: tool.Op(v.Op), Spelled: r.Spelled, Lexical: r.Lexical, Canonical: r.Canonical,
		Exists: r.Exists, Identity: tool.Identity{Dev: r.Dev, Ino: r.Ino}, Pattern: r.Pattern,
	}
	if p.Op != tool.OpWrite {
		return p, nil
	}
	if r.Linked {
		return tool.Place{}, linked(r.Spelled, r.Canonical)
	}
	return p, f.judgeHardLinks(ctx, v, p)
}

func reason(r *permission.Reading) error {
	if r.Cause != nil {
		return r.Cause
	}
	return errors.New(r.Reason)
}

func linked(spelled, target string) error {
	return &tool.Failed{What: tool.Quote(spelled) + " is a link to " + tool.Quote(target) + "; files are not written through links", Next: "write to " + tool.Quote(target) + " itself"}
}

// judgeHardLinks asks about a file that has other names: what they are cannot be
// seen. A rule of the user about this path settles it.
func (f *Fence) judgeHardLinks(ctx context.Context, v *permission.Verdict, p tool.Place) error {
	if !p.Exists {
		return nil
	}
	info, err := f.Stat(ctx, p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Kind != tool.KindFile || info.Links < 2 || mayHardLink(v) || f.granted(asking(v)) {
		return nil
	}
	t := told(v)
	t.Rule, t.View, t.Reason = "", "", "the file has another name somewhere (a hard link), which would keep the old content"
	if f.mode == permission.ModeLocked {
		t.Reason += "; nobody is asked in the mode locked"
		return &tool.Denied{Verdict: t}
	}
	return &tool.Asked{Verdict: t}
}

func mayHardLink(v *permission.Verdict) bool {
	return v.Effect == permission.Allow && v.Rule != nil && !v.Rule.Whole && v.Rule.Owner() != permission.Repository
}

// asking is a verdict as if it asked.
func asking(v *permission.Verdict) *permission.Verdict {
	ask := *v
	ask.Effect = permission.Ask
	return &ask
}

// told is a verdict as tools and people hear it.
func told(v *permission.Verdict) tool.Verdict {
	t := tool.Verdict{Tool: v.Tool, Op: tool.Op(v.Op), Spelled: v.Reading.Spelled, Canonical: v.Reading.Canonical, Reason: v.Reason}
	if v.Rule != nil {
		t.Rule, t.View = v.Rule.String(), string(v.View)
	}
	if v.Default != "" {
		t.Reason = v.Reason + ": " + v.Default
	}
	return t
}

// Within implements tool.Fence.
func (f *Fence) Within(ctx context.Context, dir tool.Place, rel string, op tool.Op) (tool.Place, error) {
	if !filepath.IsLocal(filepath.FromSlash(rel)) {
		return tool.Place{}, &tool.Failed{What: tool.Quote(rel) + " is not below " + tool.Quote(dir.Spelled), Next: "name a path without .. in it"}
	}
	v := f.judgePath(ctx, toolFor(dir.Tool, op), op, dir.Lexical, rel)
	v.Reading.Spelled = strings.TrimRight(dir.Spelled, separator) + separator + rel
	return f.placed(ctx, &v)
}

// judgePath judges a spelling that no declaration of a tool selected.
func (f *Fence) judgePath(ctx context.Context, name string, op tool.Op, base, spelled string) permission.Verdict {
	t := &permission.Target{Slot: "path", Base: permission.BaseRoot, Absent: permission.AbsentNone, Op: permission.Op(op)}
	return f.judge.Judge(ctx, &permission.Call{
		Tool: name, Protective: t, Declared: t, Identity: true,
		Args: map[string]any{"path": spelled}, Bases: permission.Bases{Root: base},
	})
}

// toolFor names the tool whose rules are about an operation. The tool that a
// directory was judged for keeps its rules for what is below.
func toolFor(name string, op tool.Op) string {
	switch {
	case op == tool.OpWrite && (name == "" || !edits[name]):
		return "write"
	case op == tool.OpEnter:
		return "cd"
	case op == tool.OpSearch && (name == "" || name == "bash"):
		return "grep"
	case name == "" || name == "bash" || op == tool.OpRead && edits[name]:
		return "read"
	}
	return name
}

var edits = map[string]bool{"write": true, "edit": true, "multiedit": true, "notebookedit": true, "multi_edit": true, "notebook_edit": true}
