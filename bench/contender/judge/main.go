// Command judge judges one path again and again, by 200 rules. BENCH_JUDGE says
// who: Tenon's fence rules on the disk, a loop of doublestar matches, or go-git's
// matcher of ignore files, which both look at the text of the path and at nothing
// else. BENCH_PATH is "plain", "linked" or "denied".
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"

	"github.com/tenonrun/tenon/bench/contender"
)

// rule is one of the 200, in the three languages.
type rule struct {
	effect  permission.Effect
	pattern string // Tenon's
	glob    string // doublestar's, for absolute paths
	ignore  string // of an ignore file
}

// rules are of five forms: a name with all below it, names by their end, a place
// outside, a pattern with "**" in the middle, a place inside.
func rules(root string) []rule {
	list := make([]rule, 0, 200)
	for i := range 200 {
		var r rule
		switch i % 5 {
		case 0:
			p := fmt.Sprintf("secret%d/**", i)
			r = rule{permission.Deny, p, root + "/**/" + p, fmt.Sprintf("secret%d/", i)}
		case 1:
			p := fmt.Sprintf("*.key%d", i)
			r = rule{permission.Deny, p, root + "/**/" + p, p}
		case 2:
			p := fmt.Sprintf("/etc/conf%d/**", i)
			r = rule{permission.Deny, "/" + p, p, p}
		case 3:
			p := fmt.Sprintf("pkg/**/gen%d_*.go", i)
			r = rule{permission.Ask, p, root + "/" + p, p}
		case 4:
			p := fmt.Sprintf("vendor%d/**", i)
			r = rule{permission.Allow, "./" + p, root + "/" + p, "/" + p}
		}
		list = append(list, r)
	}
	list[199] = rule{permission.Allow, "./a/**", root + "/a/**", "/a/**"}
	return list
}

type judge struct {
	contender.Contender // what a judge cannot do
	step                func()
	call                func() bool
	close               func() error
}

func main() { contender.Main(open) }

func open(t contender.Task, step func()) (contender.Contender, error) {
	root, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.MkdirAll(root+"/a/b/c/d/e", 0o700), os.WriteFile(root+"/a/b/c/d/e/f", nil, 0o600), os.Symlink("a", root+"/link"))
	if err != nil {
		return nil, err
	}
	p := map[string]string{"plain": "a/b/c/d/e/f", "linked": "link/b/c/d/e/f", "denied": "secret5/x"}[os.Getenv("BENCH_PATH")]
	j := &judge{step: step, close: func() error { return nil }}
	switch who := os.Getenv("BENCH_JUDGE"); who {
	case "doublestar loop":
		j.call = globs(root, p)
	case "go-git matcher":
		j.call = ignores(root, p)
	case "tenon":
		err = j.tenon(root, p)
	default:
		err = fmt.Errorf("nobody judges by %q", who)
	}
	return j, err
}

// tenon judges by permission and the real disk.
func (j *judge) tenon(root, p string) error {
	env, err := disk.NewEnv(root)
	if err != nil {
		return err
	}
	j.close = env.Close
	var list []permission.Rule
	for _, r := range rules(root) {
		list = append(list, permission.Rule{Effect: r.effect, Tool: "Read", Pattern: r.pattern})
	}
	ctx := context.Background()
	set := permission.Compile(ctx, list, permission.Scope{Root: root}, env)
	target := &permission.Target{Slot: "path", Base: permission.BaseCwd, Absent: permission.AbsentNone, Op: permission.OpRead}
	call := &permission.Call{Tool: "read", Protective: target, Declared: target, Args: map[string]any{"path": p}, Bases: permission.Bases{Root: root}}
	judge := permission.NewJudge(permission.Policy{Rules: set}, env)
	want := map[string]permission.Effect{"plain": permission.Allow, "denied": permission.Deny}[os.Getenv("BENCH_PATH")]
	j.call = func() bool {
		v := judge.Judge(ctx, call)
		return v.Effect == want
	}
	return nil
}

// globs asks every rule, as long as none denies.
func globs(root, p string) func() bool {
	list := rules(root)
	return func() bool {
		at := path.Clean(root + "/" + p)
		effect := permission.None
		for i := range list {
			if list[i].effect == permission.Deny || effect != permission.Ask {
				if ok, _ := doublestar.Match(list[i].glob, at); ok {
					effect = list[i].effect
				}
			}
			if effect == permission.Deny {
				break
			}
		}
		return effect == permission.Allow
	}
}

// ignores asks one compiled matcher with all patterns but the one that would
// match: all of them are looked at.
func ignores(root, p string) func() bool {
	var patterns []gitignore.Pattern
	for _, r := range rules(root)[:199] {
		patterns = append(patterns, gitignore.ParsePattern(r.ignore, nil))
	}
	m := gitignore.NewMatcher(patterns)
	return func() bool {
		return !m.Match(strings.Split(path.Clean(p), "/"), false)
	}
}

// Chain judges n calls.
func (j *judge) Chain(_ string, n, _ int) error {
	for range n {
		if !j.call() {
			return errors.New("the verdict is another one")
		}
		j.step()
	}
	return nil
}

func (j *judge) Close() error { return j.close() }
