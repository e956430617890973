//go:build unix

package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// world is a directory with a task root "proj", a "home" and whatever is put
// beside them.
type world struct {
	t  testing.TB
	at string
}

// newWorld makes entries: "a/" a directory, "a -> b" a link (a target that begins
// with "/" lies in the world), "a" a file that holds its own name.
func newWorld(t testing.TB, entries ...string) *world {
	t.Helper()
	at, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, at: at}
	w.put(append([]string{"proj/", "home/"}, entries...)...)
	return w
}

func (w *world) put(entries ...string) {
	w.t.Helper()
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		p := w.path(name)
		must(w.t, os.MkdirAll(filepath.Dir(p), 0o755))
		switch {
		case link:
			if strings.HasPrefix(target, "/") {
				target = w.at + target
			}
			must(w.t, os.Symlink(target, p))
		case strings.HasSuffix(e, "/"):
			must(w.t, os.MkdirAll(p, 0o755))
		default:
			must(w.t, os.WriteFile(p, []byte(name), 0o644))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) path(rel string) string { return filepath.Join(w.at, rel) }

func (w *world) read(rel string) string {
	raw, err := os.ReadFile(w.path(rel))
	if err != nil {
		return "<" + filepath.Base(rel) + ": none>"
	}
	return string(raw)
}

// rules reads "effect Tool(pattern)" lines; "//" in a pattern is the world. A line
// that begins with "user " is the user's.
func (w *world) rules(lines ...string) []permission.Rule {
	w.t.Helper()
	var list []permission.Rule
	for i, line := range lines {
		source := permission.Source{Name: "rules", Line: i + 1}
		if rest, ok := strings.CutPrefix(line, "user "); ok {
			line, source.Owner = rest, permission.User
		}
		effect, text, _ := strings.Cut(line, " ")
		text = strings.Replace(text, "(//", "(/"+w.at+"/", 1)
		e := map[string]permission.Effect{"allow": permission.Allow, "ask": permission.Ask, "deny": permission.Deny}[effect]
		r, err := permission.ParseRule(e, text, source)
		must(w.t, err)
		list = append(list, r)
	}
	return list
}

// fence makes a fence around proj with write access.
func (w *world) fence(rules ...string) *disk.Fence {
	w.t.Helper()
	return w.fenceOf(disk.Config{Access: permission.AccessWrite, Rules: w.rules(rules...)})
}

func (w *world) fenceOf(c disk.Config) *disk.Fence {
	w.t.Helper()
	if c.Root == "" {
		c.Root = w.path("proj")
	}
	if c.Home == "" {
		c.Home = w.path("home")
	}
	f, _, err := disk.Open(w.t.Context(), c)
	must(w.t, err)
	w.t.Cleanup(func() { f.Close() })
	return f
}

// declared are the declarations of the tools that the tests call.
var declared = map[string]tool.Target{
	"read":  {Slot: "file_path", Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: tool.OpRead},
	"write": {Slot: "file_path", Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: tool.OpWrite},
	"edit":  {Slot: "file_path", Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: tool.OpWrite},
	"grep":  {Slot: "path", Base: tool.BaseRoot, Absent: tool.AbsentBase, Op: tool.OpSearch},
	"ls":    {Slot: "path", Base: tool.BaseCwd, Absent: tool.AbsentBase, Op: tool.OpSearch},
	"glob":  {Slot: "path", Base: tool.BaseRoot, Absent: tool.AbsentBase, Pattern: "pattern", Op: tool.OpSearch},
}

// request makes a call of a tool with one path; "-" leaves it out. A path that
// begins with "//" lies in the world.
func (w *world) request(name, p string) tool.Request {
	t := declared[name]
	values := map[string]any{}
	if p != "-" {
		values[t.Slot] = w.spell(p)
	}
	effect := workflow.EffectRead
	if t.Op == tool.OpWrite {
		effect = workflow.EffectWrite
	}
	return tool.Request{Tool: name, Effect: effect, Target: t, Args: &tool.Args{Values: values}}
}

func (w *world) spell(p string) string {
	if rest, ok := strings.CutPrefix(p, "//"); ok {
		return w.path(rest)
	}
	return p
}

func (w *world) judge(f *disk.Fence, name, p string) (tool.Place, error) {
	return f.Judge(w.t.Context(), w.request(name, p))
}

func (w *world) place(f *disk.Fence, name, p string) tool.Place {
	w.t.Helper()
	got, err := w.judge(f, name, p)
	must(w.t, err)
	return got
}
