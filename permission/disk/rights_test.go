//go:build unix

package disk_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell"
	"github.com/tenonrun/tenon/tool/shell/confine"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
)

// onlyOutput lets a turn write below output and nowhere else.
var onlyOutput = []string{"deny Edit(./*)", "deny Edit(!./output)", "deny Read(**/.env)"}

// TestRights has what people reported about rules that they wrote and that did
// not hold, or that stood in their way.
func TestRights(t *testing.T) {
	t.Parallel()
	locked, asking := disk.Config{Mode: permission.ModeLocked}, disk.Config{Mode: permission.ModeAskWrites}
	for _, x := range []attack{
		{name: "rule from the home", entries: []string{"home/notes/x", "proj/l -> /home/notes/x"}, rules: []string{"user allow Read", "deny Read(~/notes/**)"}, hidden: "home/notes/x\n",
			calls: []string{"deny: read path=//home/notes/x", "deny: read path=../home/notes/x", "deny: read path=l", "deny: grep pattern=x path=../home/notes", "deny: bash cat ~/notes/x", "deny: bash cat ../home/notes/x", "deny: bash cd && cat notes/x"}},
		{name: "whole path in a rule", entries: []string{"proj/a/b"}, rules: []string{"deny Read(//proj/a/**)"}, calls: []string{"deny: read path=a/b", "deny: read path=//proj/a/b", "deny: ls path=a", "deny: bash cat a/b"}},
		{name: "a name at every depth", entries: []string{"proj/.env", "proj/a/b/.env", "proj/.env.local"}, rules: []string{"allow Read(./**)", "deny Read(**/.env)"}, hidden: ".env\n",
			calls: []string{"deny: read path=a/b/.env", "deny: read path=.env", "deny: grep pattern=x path=a/b/.env", "deny: bash cat a/b/.env", "deny: bash cd a/b && cat .env", "allow: grep pattern=proj include_ignored=true glob=**/.env"}},
		{name: "glob of a denied file in a command", entries: []string{"proj/.env"}, rules: []string{"deny Read(**/.env)"}, hidden: "proj/.env\n", calls: []string{"deny: bash cat .env", "deny: bash cat .[e]nv", "deny: bash cat < .env", "deny: bash cat .en?"}},
		{name: "only the first part of a command is allowed", rules: []string{"allow Bash(cd:*)"}, conf: asking, entries: []string{"proj/x/"}, calls: []string{"ask: bash cd x && python3 y.py", "ask: bash cd x; touch y", "ask: bash cd x | sh", "ask: bash cd $(touch y)"}, kept: "proj/x/y="},
		{name: "all parts of a pipe are allowed", rules: []string{"allow Bash(echo:*)", "allow Bash(grep:*)"}, conf: asking, calls: []string{"allow: bash echo a | grep a", "ask: bash echo a | tee b", "allow: bash echo a | grep a | grep -c a"}},
		{name: "every call is allowed but not every path", rules: []string{"allow Bash", "allow Read", "allow Edit", "deny Read(k)", "deny Edit(k)"}, entries: []string{"proj/k"}, kept: "proj/k=proj/k", hidden: "proj/k\n",
			calls: []string{"deny: read path=k", "deny: bash cat k", "deny: bash echo x > k", "deny: write path=k content=x overwrite=true"}},
		{name: "every way to the same write", rules: []string{"deny Edit(a)"}, entries: []string{"proj/a", "proj/b"}, kept: "proj/a=proj/a",
			calls: []string{
				"allow: read path=a", "deny: write path=a content=x", "deny: write path=./a content=x overwrite=true", "deny: edit path=a old_string=proj new_string=x", "deny: bash echo x > a", "deny: bash cp b a", "deny: bash mv b a", "deny: bash tee a < b",
				"deny: bash sed -i s/a/b/ a", "deny: bash rm a", "deny: bash mv a c", "deny: bash truncate -s 0 a", "deny: bash dd if=b of=a", "deny: bash ln -sf b a", "deny: bash chmod 777 a", "deny: bash touch a", "deny: bash install b a", "deny: bash git checkout -- a", "deny: bash : >| a", "deny: bash sort -o a b",
			}},
		{name: "paths that leave the folder", rules: onlyOutput, entries: []string{"proj/output/", "proj/output/up -> ..", "proj/out -> output", "proj/.env"}, kept: "proj/traversal.txt=", hidden: "proj/.env\n",
			calls: []string{
				"allow: write path=output/ok.txt content=1", "allow: write path=output/new/ok.txt content=1", "deny: write path=output/../traversal.txt content=2", "deny: write path=./output//sub/../../../up.txt content=3", "deny: write path=//abs-out.txt content=4",
				"deny: write path=output/up/traversal.txt content=5", "deny: write path=outputs/x content=6", "deny: read path=output/../.env", "deny: bash echo 1 > output/../traversal.txt", "deny: bash cd output && echo 1 > ../traversal.txt", "allow: bash cd output && echo 1 > ok2.txt",
			}},
		{name: "only what a rule allows is written", conf: disk.Config{Listed: true}, rules: []string{"allow Edit(output/**)", "allow Edit(pkg/*.txt)"}, entries: []string{"proj/output/", "proj/output/up -> ..", "proj/a", "proj/pkg/"}, kept: "proj/traversal.txt=",
			calls: []string{
				"allow: write path=output/ok.txt content=1", "allow: write path=pkg/a.txt content=1", "deny: write path=pkg/a.go content=1", "deny: write path=output/../traversal.txt content=2", "deny: write path=output/up/traversal.txt content=2", "deny: write path=//abs content=3",
				"deny: edit path=a old_string=proj new_string=x", "deny: bash echo 1 > traversal.txt", "allow: bash echo 1 > output/b", "ask: bash python3 x.py", "allow: bash cat a", "deny: bash cp a b", "deny: bash touch traversal.txt",
			}},
		{name: "a broad rule after a narrow one", rules: []string{"allow Edit(a/b/*)", "deny Edit(a/*)"}, entries: []string{"proj/a/b/x"}, kept: "proj/a/b/x=proj/a/b/x", calls: []string{"deny: edit path=a/b/x old_string=proj new_string=y"}},
		{name: "reading is bounded", entries: []string{"etc/passwd"}, conf: locked, hidden: "etc/passwd\n", calls: []string{"deny: read path=//etc/passwd", "deny: grep pattern=x path=//etc", "deny: bash cat //etc/passwd", "deny: bash cat < //etc/passwd", "deny: glob pattern=//etc/*"}},
		{name: "nobody is asked", conf: locked, rules: []string{"ask Edit(a)", "ask Bash(ls)"}, entries: []string{"proj/a", "proj/.env", "proj/.git/config"},
			calls: []string{"deny: edit path=a old_string=proj new_string=x", "deny: bash ls", "deny: bash eval $X", "deny: read path=.env", "deny: edit path=.git/config old_string=proj new_string=x", "deny: bash cat .env", "allow: read path=a", "allow: bash echo x > b"}},
		{name: "another name for a file outside", entries: []string{"home/.ssh/id", "out/x", "proj/a"}, calls: []string{"deny: bash ln //home/.ssh/id a2", "ask: bash ln //out/x a2", "allow: bash ln a a2", "ask: edit path=a2 old_string=proj new_string=x", "allow: read path=a2"}},
		{name: "links in a ring in a search", entries: []string{"proj/sub/sub -> .", "proj/sub/x", "proj/up -> .."}, calls: []string{"allow: glob pattern=**", "allow: grep pattern=x", "allow: ls path=sub/sub/sub/sub"}},
		{name: "a command that cannot start", entries: []string{"proj/d/"}, calls: []string{"allow: bash cd d", "!proj/d", "failed: bash echo x"}},
		{name: "reading only", conf: disk.Config{Access: permission.AccessRead}, rules: []string{"allow Edit", "allow Bash"}, entries: []string{"proj/a"}, kept: "proj/a=proj/a", calls: []string{"deny: write path=a content=x overwrite=true", "deny: edit path=a old_string=proj new_string=x", "deny: bash echo x > a", "deny: bash ls", "allow: read path=a"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			x.run(t)
		})
	}
}

// TestNothingRunsBeforeTheVerdict holds for every tool: without a fence nothing
// is done, and a denied call has left nothing behind when its verdict is there.
func TestNothingRunsBeforeTheVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a")
	a := w.agent("deny Edit", "deny Bash", "deny Read")
	calls := map[string]string{
		"read": `{"path":"a"}`, "write": `{"path":"n","content":"x"}`, "edit": `{"path":"a","old_string":"proj","new_string":"x"}`, "grep": `{"pattern":"x"}`, "glob": `{"pattern":"*"}`, "ls": `{}`, "bash": `{"command":"echo x > n"}`,
	}
	for _, one := range a.set.Tools() {
		args, ok := calls[one.Name]
		if !ok {
			t.Errorf("%s is not tried", one.Name)
		}
		for _, fence := range []tool.Fence{nil, a.fence} {
			call := a.call
			call.Fence = fence
			r, err := a.set.Run(t.Context(), one.Name, json.RawMessage(args), call)
			if outcome(err) != "deny" || r.Text != "" {
				t.Errorf("%s with the fence %v: %v %q", one.Name, fence, err, r.Text)
			}
		}
	}
	entries, err := os.ReadDir(w.path("proj"))
	must(t, err)
	if len(entries) != 1 || w.read("proj/a") != "proj/a" {
		t.Errorf("left behind: %v", entries)
	}
}

// TestFewerToolsSameRules holds that a smaller set of tools and a fence of a child
// keep all rules.
func TestFewerToolsSameRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/k", "proj/a")
	a := w.agent("deny Read(k)")
	few, err := a.set.Narrow("read", "bash")
	must(t, err)
	child, warnings := a.fence.Narrow(t.Context(), disk.Config{Home: w.path("home"), Access: permission.AccessWrite, Mode: permission.ModeDefault, Rules: w.rules("allow Read", "allow Bash")})
	if len(warnings) != 0 {
		t.Error(warnings)
	}
	a.set = few
	for _, f := range []*disk.Fence{a.fence, child} {
		a.call.Fence = f
		for call, want := range map[string]string{"read path=k": "deny", "bash cat k": "deny", "read path=a": "allow"} {
			if got, told := a.does(call); got != want {
				t.Errorf("%s is %s: %s", call, got, told)
			}
		}
	}
	if _, err := a.run("grep pattern=x"); err == nil {
		t.Error("a tool that was taken away runs")
	}
}

// TestRulesAreCounted holds that a fence can say how many rules are in force, and
// which of them decided.
func TestRulesAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a")
	a := w.agent("deny Read(a)", "ask Bash(make)", "allow Edit(b)")
	rules := 0
	for _, p := range a.fence.Judging().Policies() {
		rules += len(p.Rules.Rules())
	}
	if rules != 3 {
		t.Errorf("%d rules are in force", rules)
	}
	for call, rule := range map[string]string{"read path=a": "rule deny Read(a) at rules:1", "bash cat a": "rule deny Read(a) at rules:1", "bash make": "rule ask Bash(make) at rules:2"} {
		if _, told := a.does(call); !strings.Contains(told, rule) {
			t.Errorf("%s does not tell its rule: %s", call, told)
		}
	}
}

// TestDenialTellsWhatToChange holds that a model can act on the text: what was not
// literal, which rule, what to do instead.
func TestDenialTellsWhatToChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/k/x", "out/x")
	a := w.agent("allow Bash(curl https://a.test/x)", "deny Read(k)")
	for call, words := range map[string][]string{
		"bash curl $FOO":              {"curl", "$FOO"},
		"bash echo x > $FOO":          {"the target of > is not literal", "$FOO"},
		"bash grep -r x .":            {"reads all that lies below", "use the tool grep"},
		"read path=k/x":               {"denied: read", "deny Read(k) at rules:2", "a rule names this path"},
		"write path=//out/y content=": {"denied: write", "writes outside the roots are denied"},
		"bash cat //out/x":            {"operand of cat", "reads outside the roots are asked about"},
	} {
		got, told := a.does(call)
		for _, want := range words {
			if got == "allow" || !strings.Contains(told, want) {
				t.Errorf("%s: %s lacks %q: %s", call, got, want, told)
			}
		}
	}
}

// TestCommandsDoNotLoadFiles holds that no start-up file reaches a command, not
// even one that the environment names.
func TestCommandsDoNotLoadFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "home/")
	for _, name := range []string{"proj/.env", "home/.bashrc", "home/.profile", "home/.bash_profile"} {
		must(t, os.WriteFile(w.path(name), []byte("export TOKEN=secret-123\n"), 0o600))
	}
	env := w.path("proj/.env")
	s, err := shell.New(shell.Config{
		Runner: process.New(process.Config{Environ: func() []string { return append(os.Environ(), "BASH_ENV="+env, "ENV="+env) }}), Dir: w.path("proj"), Roots: []string{w.path("proj")},
		Env: map[string]string{"HOME": w.path("home")}, Available: func() (confine.Kind, string) { return confine.None, "" }, Access: workflow.EffectWrite, Timeout: time.Minute,
	})
	must(t, err)
	defer s.Close()
	set, err := tool.NewSet(s.Tool())
	must(t, err)
	r, err := set.Run(t.Context(), "bash", json.RawMessage(`{"command":"env; echo \"got ${TOKEN-nothing}\""}`), tool.Call{Fence: w.fence("deny Read(.env)"), Cwd: w.path("proj")})
	if err != nil || strings.Contains(r.Text, "secret-123") || !strings.Contains(r.Text, "got nothing") {
		t.Errorf("%v: %s", err, r.Text)
	}
}

// TestConfinementThatFails holds that a command does not run when what should
// hold it cannot be set up.
func TestConfinementThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := shell.New(shell.Config{
		Runner: process.New(process.Config{}), Dir: w.path("proj"), Roots: []string{"not/absolute"}, Access: workflow.EffectWrite,
		Available: func() (confine.Kind, string) { return confine.Landlock, "" },
	})
	must(t, err)
	defer s.Close()
	set, err := tool.NewSet(s.Tool())
	must(t, err)
	r, err := set.Run(t.Context(), "bash", json.RawMessage(`{"command":"echo ran > ran"}`), tool.Call{Fence: w.fence(), Cwd: w.path("proj")})
	if err == nil || r.Text != "" || outcome(err) == "deny" {
		t.Errorf("it gave %q, %v", r.Text, err)
	}
	if _, err := os.Stat(w.path("proj/ran")); err == nil {
		t.Error("the command ran")
	}
}

// TestFoldingVolume has names that a volume takes for the same. What denies holds
// for all of them, and what allows is for the name as the disk has it.
func TestFoldingVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "home/.SSH/id", "home/.ssh/id", "proj/Secret/k", "proj/.GIT/config", "proj/.ENV", "proj/caf\u00e9", "proj/cafe\u0301", "proj/stra\u00dfe", "proj/a")
	f := w.fence("deny Read(secret/**)", "deny Read(caf\u00e9)", "deny Edit(A)")
	f.FoldNames(w.at, permission.Fold{Case: true, Norm: true})
	exact := w.fence("deny Read(secret/**)", "deny Read(caf\u00e9)", "deny Edit(A)")
	for _, c := range []struct{ call, folds, plain string }{
		{"read //home/.SSH/id", "deny", "ask"}, {"read //HOME/.ssh/id", "deny", "ask"}, {"read SECRET/k", "deny", "allow"}, {"read Secret/k", "deny", "allow"},
		{"read caf\u00e9", "deny", "deny"}, {"read cafe\u0301", "deny", "allow"}, {"read CAFE\u0301", "deny", "allow"}, {"edit .GIT/config", "ask", "allow"}, {"edit .Claude/x", "ask", "allow"}, {"read .ENV", "ask", "allow"}, {"edit a", "deny", "allow"}, {"grep SECRET", "deny", "allow"},
	} {
		name, p, _ := strings.Cut(c.call, " ")
		for f, want := range map[*disk.Fence]string{f: c.folds, exact: c.plain} {
			if _, err := w.judge(f, name, p); outcome(err) != want {
				t.Errorf("%s is %s, not %s (%v)", c.call, outcome(err), want, err)
			}
		}
	}
	var left []string
	_, err := f.Walk(t.Context(), w.place(f, "grep", "-"), tool.WalkOptions{}, func(e tool.Entry) error { left = append(left, e.Rel); return nil })
	if must(t, err); strings.Contains(strings.Join(left, " "), "k") {
		t.Errorf("a search sees %q", left)
	}
}

// TestWindowsPathsOfRules has what is written on Windows, judged on any machine.
func TestWindowsPathsOfRules(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`D:\x\**`, "D:/x/**", "//d/x/**", `d:\X\**`} {
		r, err := permission.ParseRule(permission.Deny, "Read("+pattern+")", permission.Source{})
		must(t, err)
		s := permission.Compile(context.Background(), []permission.Rule{r}, permission.Scope{Root: `C:\p`}, nil)
		j := permission.NewJudge(permission.Policy{Rules: s}, nil)
		target := &permission.Target{Slot: "path", Base: permission.BaseRoot, Absent: permission.AbsentNone, Op: permission.OpRead}
		for spelled, want := range map[string]permission.Effect{`D:\x\k`: permission.Deny, "d:/X/k": permission.Deny, `D:\x\..\x\k.`: permission.Deny, `D:\xy\k`: permission.None, `E:\x\k`: permission.None} {
			v := j.Judge(context.Background(), &permission.Call{Tool: "read", Protective: target, Declared: target, Args: map[string]any{"path": spelled}, Bases: permission.Bases{Root: `C:\p`}})
			if v.Effect != want {
				t.Errorf("%s: %s is %s, not %s", pattern, spelled, v.Effect, want)
			}
		}
	}
}

// TestDenialIsNoSuccess holds that nobody can take a denial for a result, with
// both ways to say that only one folder is written.
func TestDenialIsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]disk.Config{
		"by what is denied":  {Rules: (&world{t: t}).rules(onlyOutput...)},
		"by what is allowed": {Listed: true, Rules: (&world{t: t}).rules("allow Edit(output/**)", "deny Read(**/.env)")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Access = permission.AccessWrite
			denialsOf(t, c)
		})
	}
}

func denialsOf(t *testing.T, c disk.Config) {
	w := newWorld(t, "proj/output/", "proj/.env")
	must(t, os.WriteFile(w.path("proj/.env"), []byte("TOKEN=secret-123\n"), 0o600))
	a := w.agentOf(c)
	denials := 0
	for _, call := range []string{"write path=output/ok.txt content=1", "write path=output/../traversal.txt content=2", "write path=./output//sub/../../../up.txt content=3", "write path=//abs-out.txt content=4", "read path=output/../.env"} {
		r, err := a.run(call)
		if err == nil {
			continue
		}
		denials++
		var d *tool.Denied
		if !errors.As(err, &d) || d.Tool == "" || d.Op == "" || d.Spelled == "" || d.Rule == "" && d.Reason == "" || r.Text != "" || len(r.Changes) > 0 || !tool.ByModel(err) {
			t.Errorf("%s: %+v %v", call, r, err)
		}
		told := tool.Explain(err)
		if !strings.Contains(told, d.Spelled) || !strings.Contains(told, d.Rule) || !strings.Contains(told, string(d.Op)) || strings.Contains(told, "secret-123") {
			t.Errorf("%s tells the model %q", call, told)
		}
	}
	if denials != 4 || w.read("proj/output/ok.txt") != "1" {
		t.Errorf("%d denials", denials)
	}
	for _, name := range []string{"proj/traversal.txt", "up.txt", "proj/up.txt", "abs-out.txt"} {
		if _, err := os.Lstat(w.path(name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
