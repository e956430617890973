//go:build unix

package disk_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/files"
	"github.com/tenonrun/tenon/tool/shell"
	"github.com/tenonrun/tenon/tool/shell/confine"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
)

func TestMain(m *testing.M) {
	confine.Main()
	os.Exit(m.Run())
}

// agent has the real tools, with the real fence of a world around them. Commands
// are confined by nothing, so that only what is judged holds them.
type agent struct {
	*world
	fence *disk.Fence
	set   *tool.Set
	call  tool.Call
}

func (w *world) agent(rules ...string) *agent {
	w.t.Helper()
	return w.agentOf(disk.Config{Access: permission.AccessWrite, Rules: w.rules(rules...)})
}

func (w *world) agentOf(c disk.Config) *agent {
	w.t.Helper()
	a := &agent{world: w, fence: w.fenceOf(c)}
	root := c.Root
	if root == "" {
		root = w.path("proj")
	}
	access := workflow.EffectWrite
	if c.Access != permission.AccessWrite {
		access = workflow.EffectRead
	}
	s, err := shell.New(shell.Config{
		Runner: process.New(process.Config{Grace: 100 * time.Millisecond}), Dir: root, Access: access, Roots: []string{root}, Home: w.path("home"),
		Env:       map[string]string{"HOME": w.path("home")},
		Available: func() (confine.Kind, string) { return confine.None, "this is a test" },
	})
	must(w.t, err)
	w.t.Cleanup(func() { must(w.t, s.Close()) })
	a.set, err = tool.NewSet(append(files.Tools(files.Config{}), s.Tool())...)
	must(w.t, err)
	a.call = tool.Call{ID: "1", Fence: a.fence, Cwd: root, Session: &tool.Session{}}
	return a
}

// raw runs a call as a model sends it.
func (a *agent) raw(name, args string) (tool.Result, error) {
	return a.set.Run(a.t.Context(), name, json.RawMessage(args), a.call)
}

// run runs a call "tool key=value …": "//" in a value is the world, a value goes
// to the next " key=".
func (a *agent) run(call string) (tool.Result, error) {
	a.t.Helper()
	name, rest, _ := strings.Cut(call, " ")
	values := map[string]any{}
	if name == "bash" {
		values["command"], rest = a.inWorld(rest), ""
	}
	key := ""
	for _, word := range strings.SplitAfter(rest, " ") {
		if k, v, ok := strings.Cut(word, "="); ok && isKey(k) {
			key = k
			values[key] = v
		} else if key != "" {
			values[key] = values[key].(string) + word
		}
	}
	for k, v := range values {
		if s := strings.TrimSuffix(v.(string), " "); name != "bash" {
			values[k] = a.inWorld(s)
		}
	}
	raw, err := json.Marshal(values)
	must(a.t, err)
	return a.raw(name, string(raw))
}

func isKey(s string) bool {
	switch s {
	case "path", "pattern", "content", "overwrite", "old_string", "new_string", "glob", "mode", "include_ignored", "limit":
		return true
	}
	return false
}

// inWorld gives "//x" its place.
func (a *agent) inWorld(s string) string {
	if strings.HasPrefix(s, "//") {
		s = a.at + s[1:]
	}
	return strings.NewReplacer(" //", " "+a.at+"/", "'//", "'"+a.at+"/", "<//", "<"+a.at+"/", ">//", ">"+a.at+"/", "{//", "{"+a.at+"/", ",//", ","+a.at+"/", "=//", "="+a.at+"/").Replace(s)
}

// does runs a call and gives the outcome with all that was told.
func (a *agent) does(call string) (got, told string) {
	a.t.Helper()
	r, err := a.run(call)
	if err != nil {
		return outcome(err), err.Error()
	}
	return "allow", r.Text + string(r.Data)
}
