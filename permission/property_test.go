package permission_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
)

var (
	names    = rapid.SampledFrom([]string{"a", "b", "ab", "B", "a.x", ".env"})
	pathsGen = rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(names, 1, 5).Draw(t, "names"), "/")
	})
	patternParts = rapid.SampledFrom([]string{"a", "b", "ab", "B", "*", "**", "a*", "*.x", "?", "[ab]", "[!a]", ".env"})
	patternsGen  = rapid.Custom(func(t *rapid.T) string {
		lead := rapid.SampledFrom([]string{"//", "./", "/", "", "~/"}).Draw(t, "lead")
		return lead + strings.Join(rapid.SliceOfN(patternParts, 1, 4).Draw(t, "parts"), "/")
	})
	rulesGen = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) permission.Rule {
		r := permission.Rule{
			Effect: rapid.SampledFrom([]permission.Effect{permission.Deny, permission.Ask, permission.Allow, permission.Allow}).Draw(t, "effect"),
			Tool:   rapid.SampledFrom([]string{"Read", "Grep", "Edit"}).Draw(t, "tool"),
		}
		if r.Whole = rapid.IntRange(0, 9).Draw(t, "whole") == 0; !r.Whole {
			r.Pattern = patternsGen.Draw(t, "pattern")
		}
		return r
	}), 0, 6)
)

// fixed answers every question with one answer.
type fixed struct {
	mirror
	resolved permission.Resolved
	fold     permission.Fold
}

func (f fixed) Resolve(context.Context, permission.Query) (permission.Resolved, error) {
	return f.resolved, nil
}
func (f fixed) Folds(context.Context, string) permission.Fold { return f.fold }

func judgeRules(list []permission.Rule, env permission.Env) *permission.Judge {
	set := permission.Compile(context.Background(), list, permission.Scope{Root: "/a", Home: "/b"}, env)
	return permission.NewJudge(permission.Policy{Rules: set}, env)
}

func envGen(t *rapid.T) (string, fixed) {
	p := pathsGen.Draw(t, "path")
	env := fixed{resolved: permission.Resolved{Canonical: p, Exists: true}}
	if rapid.Bool().Draw(t, "linked") {
		env.resolved.Canonical = pathsGen.Draw(t, "canonical")
		env.resolved.Hops = rapid.SliceOfN(pathsGen, 0, 3).Draw(t, "hops")
	}
	env.resolved.HopsUnread = rapid.IntRange(0, 5).Draw(t, "unread") == 0
	return p, env
}

func effect(j *permission.Judge, p string) permission.Effect {
	return j.Judge(context.Background(), call("read", "/a", p)).Effect
}

func strictness(e permission.Effect) int {
	return map[permission.Effect]int{permission.Allow: 0, permission.None: 1, permission.Ask: 2, permission.Deny: 3}[e]
}

func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rulesGen.Draw(t, "rules")
		p, env := envGen(t)
		got := effect(judgeRules(list, env), p)

		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		if other := effect(judgeRules(shuffled, env), p); other != got {
			t.Fatalf("the order of rules makes %v of %v", other, got)
		}
		tighter := append(append([]permission.Rule(nil), list...), permission.Rule{Effect: permission.Deny, Tool: "Read", Pattern: patternsGen.Draw(t, "more")})
		if other := effect(judgeRules(tighter, env), p); strictness(other) < strictness(got) {
			t.Fatalf("one more deny makes %v of %v", other, got)
		}
		more := env
		more.resolved.Hops = append(append([]string(nil), env.resolved.Hops...), pathsGen.Draw(t, "hop"))
		if other := effect(judgeRules(list, more), p); strictness(other) < strictness(got) {
			t.Fatalf("one more hop makes %v of %v", other, got)
		}
		unread := env
		unread.resolved.HopsUnread = true
		if other := effect(judgeRules(list, unread), p); strictness(other) < strictness(got) {
			t.Fatalf("less knowledge makes %v of %v", other, got)
		}
		if got == permission.Allow {
			checkEveryView(t, list, p, env)
		}
		child := judgeRules(list, env).Narrow(permission.Policy{Rules: permission.Compile(context.Background(), rulesGen.Draw(t, "child"), permission.Scope{Root: "/a", Home: "/b"}, nil)})
		if other := effect(child, p); strictness(other) < strictness(got) {
			t.Fatalf("a child makes %v of %v", other, got)
		}
	})
}

// checkEveryView says that what is allowed is allowed in each view alone.
func checkEveryView(t *rapid.T, list []permission.Rule, p string, env fixed) {
	for _, view := range append([]string{p, env.resolved.Canonical}, env.resolved.Hops...) {
		alone := fixed{resolved: permission.Resolved{Canonical: view, Exists: true}}
		if e := effect(judgeRules(list, alone), view); e != permission.Allow {
			t.Fatalf("%s is allowed and its view %s is %v", p, view, e)
		}
	}
}

func TestFolding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := []permission.Rule{{Effect: permission.Deny, Tool: "Read", Pattern: patternsGen.Draw(t, "pattern")}}
		p := pathsGen.Draw(t, "path")
		env := fixed{resolved: permission.Resolved{Canonical: p, Exists: true}}
		exact := effect(judgeRules(list, env), p)
		env.fold = permission.Fold{Case: true, Norm: rapid.Bool().Draw(t, "norm")}
		folded := effect(judgeRules(list, env), p)
		if strictness(folded) < strictness(exact) {
			t.Fatalf("folding makes %v of %v", folded, exact)
		}
		upper := strings.ToUpper(p)
		if !strings.ContainsAny(list[0].Pattern, "[") {
			env.resolved.Canonical = upper
			if again := effect(judgeRules(list, env), upper); again != folded && !strings.Contains(list[0].Pattern, "./") && strings.HasPrefix(list[0].Pattern, "//") {
				t.Fatalf("%s is %v and %s is %v on a volume that folds", p, folded, upper, again)
			}
		}
	})
	for _, c := range []struct {
		pattern, path string
		fold          permission.Fold
		want          permission.Effect
	}{
		{"//x/straße", "/x/STRASSE", permission.Fold{Case: true, Norm: true}, permission.Deny},
		{"//x/straße", "/x/STRASSE", permission.Fold{Case: true}, permission.None},
		{"//x/ﬁle", "/x/FILE", permission.Fold{Case: true, Norm: true}, permission.Deny},
		{"//x/caf\u00e9", "/x/cafe\u0301", permission.Fold{Norm: true}, permission.Deny},
		{"//x/caf\u00e9", "/x/cafe\u0301", permission.Fold{}, permission.None},
		{"//x/\u212aey", "/x/key", permission.Fold{Case: true}, permission.Deny},
		{"//x/[a-c]*", "/x/B1", permission.Fold{Case: true}, permission.Deny},
		{"//x/[A-C]*", "/x/b1", permission.Fold{Case: true}, permission.Deny},
		{"//x/[A-C]*", "/x/b1", permission.Fold{}, permission.None},
	} {
		env := fixed{resolved: permission.Resolved{Canonical: c.path, Exists: true}, fold: c.fold}
		if got := effect(judgeRules([]permission.Rule{{Effect: permission.Deny, Tool: "Read", Pattern: c.pattern}}, env), c.path); got != c.want {
			t.Errorf("%s and %s with %+v: %v", c.pattern, c.path, c.fold, got)
		}
	}
}

// TestAgreesWithGit compares deny rules with what git ignores, for the patterns
// that mean the same to both.
func TestAgreesWithGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	repo := t.TempDir()
	if out, err := exec.Command(git, "-C", repo, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "a*", "*b", "?", "[ab]", "[!a]*", "a**b", `\*`, "[a-b]?", "x.y"})
	shapes := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "/"}).Draw(t, "lead") + strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
	})
	file := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "ba", "x.y", "*", "aab"}), 1, 5)
	rapid.Check(t, func(t *rapid.T) {
		pattern := shapes.Draw(t, "pattern")
		if strings.HasSuffix(pattern, "/**") || pattern == "**" {
			return // here it also names the directory itself, at any depth
		}
		if err := os.WriteFile(filepath.Join(repo, ".gitignore"), []byte(pattern+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		j := judgeRules([]permission.Rule{{Effect: permission.Deny, Tool: "Read", Pattern: pattern, Anchor: "/a"}}, mirror{})
		for i := range 4 {
			p := strings.Join(file.Draw(t, fmt.Sprint("file", i)), "/")
			err := exec.Command(git, "-C", repo, "check-ignore", "-q", "--no-index", "--", p).Run()
			if denied := effect(j, "/a/"+p) == permission.Deny; denied != (err == nil) {
				t.Fatalf("the pattern %q reaches %q here: %v; git: %v", pattern, p, denied, err)
			}
		}
	})
}

func FuzzRule(f *testing.F) {
	for _, s := range []string{"Read(//a/**)", "Read([a-z]*)", "Read(!x)", `Read(\`, "Read([[:alpha:])", "Bash(git:*)", "Read(**/**/x)", `Read(C:\a\[b)`, "Read(~/../x)"} {
		f.Add(s, "/a/b/c", false)
		f.Add(s, `C:\a\b`, true)
	}
	f.Fuzz(func(t *testing.T, text, p string, win bool) {
		root := "/a"
		if win {
			root = `C:\a`
		}
		for _, e := range []permission.Effect{permission.Deny, permission.Allow} {
			r, err := permission.ParseRule(e, text, permission.Source{})
			if err != nil {
				continue
			}
			set := permission.Compile(context.Background(), []permission.Rule{r}, permission.Scope{Root: root, Home: root}, mirror{})
			v := permission.NewJudge(permission.Policy{Rules: set}, mirror{}).Judge(context.Background(), call("read", root, p))
			if v.Effect != permission.None && v.Effect != e && v.Reading.Kind == pathid.AtPath {
				t.Fatalf("the rule %q makes %v of %q", text, v.Effect, p)
			}
			if len(v.Explain()) == 0 {
				t.Fatal("no explanation")
			}
		}
	})
}

// FuzzEscape says that a rule made from a path reaches this path.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a", "[...x].ts", "a*b?", `back\slash`, "!x", "{a,b}", "a b (1)", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p := pathid.Place(name, "/a", pathid.Posix)
		if p.Kind != pathid.AtPath || strings.Contains(name, "\x00") {
			return
		}
		rule := permission.Rule{Effect: permission.Allow, Tool: "Read", Pattern: "/" + permission.EscapePath(p.Path)}
		if got := effect(judgeRules([]permission.Rule{rule}, mirror{}), p.Path); got != permission.Allow {
			t.Fatalf("the rule %s does not admit %q: %v", rule.Pattern, p.Path, got)
		}
		if got := effect(judgeRules([]permission.Rule{rule}, mirror{}), p.Path+"x"); got == permission.Allow && p.Path != "/" {
			t.Fatalf("the rule %s admits %q too", rule.Pattern, p.Path+"x")
		}
	})
}
