package permission_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/permission"
)

// mirror answers every path with itself, and leads from some locations.
type mirror map[string]permission.Lead

func (mirror) Resolve(_ context.Context, q permission.Query) (permission.Resolved, error) {
	return permission.Resolved{Canonical: q.Lexical, Exists: true}, nil
}

func (m mirror) Lead(_ context.Context, location string) (permission.Lead, error) {
	if lead, ok := m[location]; ok {
		return lead, nil
	}
	return permission.Lead{To: location}, nil
}

func (mirror) Folds(context.Context, string) permission.Fold { return permission.Fold{} }

// rules reads "effect Tool(pattern)" lines. "@file " in front gives a source.
func rules(t testing.TB, lines ...string) []permission.Rule {
	t.Helper()
	var list []permission.Rule
	for i, line := range lines {
		source := permission.Source{Name: "rules", Line: i + 1}
		if rest, ok := strings.CutPrefix(line, "@"); ok {
			source.Name, line, _ = strings.Cut(rest, " ")
		}
		effect, text, _ := strings.Cut(line, " ")
		e := map[string]permission.Effect{"allow": permission.Allow, "ask": permission.Ask, "deny": permission.Deny}[effect]
		r, err := permission.ParseRule(e, text, source)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

var reads = permission.Target{Slot: "p", Base: permission.BaseCwd, Absent: permission.AbsentNone, Op: permission.OpRead}

func call(name, root, p string) *permission.Call {
	return &permission.Call{Tool: name, Protective: &reads, Declared: &reads, Args: map[string]any{"p": p}, Bases: permission.Bases{Root: root}}
}

func judgeOf(t testing.TB, scope permission.Scope, env permission.Env, lines ...string) *permission.Judge {
	t.Helper()
	return permission.NewJudge(permission.Policy{Rules: permission.Compile(t.Context(), rules(t, lines...), scope, env)}, env)
}

func TestGrammar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules   string // separated by "; "
		reached string // paths, separated by spaces
		not     string
	}{
		{"deny Read(//a/b)", "/a/b /a/b/c", "/a /a/bc /a/c /p/a/b"},
		{"deny Read(//a/b/**)", "/a/b /a/b/c/d", "/a"},
		{"deny Read(//**)", "/ /a /p/x", ""},
		{"deny Read(//)", "/ /a", ""},
		{"deny Read(~/x)", "/home/u/x /home/u/x/y", "/p/~/x /home/u/xy"},
		{"deny Read(~)", "/home/u /home/u/a", "/home"},
		{"deny Read(/x)", "/p/x", "/x /p/a/x"},
		{"deny Read(./x)", "/p/x", "/p/a/x"},
		{"deny Read(.)", "/p /p/a", "/"},
		{"deny Read(x)", "/p/x /p/a/x /p/a/x/b", "/x /p/xy"},
		{"deny Read(x/)", "/p/x /p/a/x", "/p/xy"},
		{"deny Read(d/**)", "/p/d /p/d/a /p/a/d/b", "/d/a"},
		{"deny Read(d/*)", "/p/d/a /p/d/a/b", "/p/d /p/a/d/b"},
		{"deny Read(a/b/**)", "/p/a/b/c", "/p/x/a/b/c"},
		{"deny Read(**/x)", "/p/x /p/a/b/x", "/x"},
		{"deny Read(a/**/x)", "/p/a/x /p/a/b/c/x", "/p/x /p/b/a/x"},
		{"deny Read(*.pem)", "/p/a.pem /p/x/.pem", "/p/pem /p/a.pemx"},
		{"deny Read(*)", "/p/a /p/a/b", "/p /x"},
		{"deny Read(**)", "/p /p/a/b", "/x"},
		{"deny Read(a?c)", "/p/abc /p/aéc", "/p/ac /p/abbc"},
		{"deny Read(a**c)", "/p/ac /p/abbc", "/p/a/c"},
		{"deny Read([a-c]x)", "/p/ax /p/cx", "/p/dx /p/x"},
		{"deny Read([!a-c]x)", "/p/dx", "/p/ax"},
		{"deny Read([^a]x)", "/p/dx", "/p/ax"},
		{"deny Read([]a]x)", "/p/]x /p/ax", "/p/bx"},
		{"deny Read([[:digit:]]x)", "/p/1x", "/p/ax /p/:x"},
		{`deny Read(\[a\])`, "/p/[a]", "/p/a"},
		{`deny Read(a\*)`, "/p/a*", "/p/ab"},
		{`deny Read(\!a)`, "/p/!a", "/p/a"},
		{"deny Read({a,b})", "/p/{a,b}", "/p/a"},
		{"deny Read(a/../b)", "/p/b", "/p/a/b"},
		{"deny Read(../b)", "/b", "/p/b"},
		{"deny Read(a b (c))", "/p/a b (c)", ""},
		// What cannot be used guards its own text.
		{"deny Read(./[ab)", "/p/[ab", "/p/a"},
		{"deny Read(./*/../x)", "/p/*/../x", "/p/x"},
		// Exceptions.
		{"deny Read(*.env); deny Read(!sample.env)", "/p/a.env /p/a/b.env", "/p/sample.env /p/x/sample.env"},
		{"deny Read(!sample.env); deny Read(*.env)", "/p/sample.env", ""},
		{"deny Read(s/**); deny Read(!s/public/**)", "/p/s/public/a /p/s/b", ""},
		{"deny Read(s/*); deny Read(!s/public/**)", "/p/s/b", "/p/s/public/a /p/s/public"},
		{"deny Read(//p/x.env); deny Read(!x.env)", "/p/x.env", ""},
		{"deny Read(~/x.env); deny Read(!x.env)", "/home/u/x.env", ""},
		{"@a deny Read(*.env); @b deny Read(!x.env)", "/p/x.env", ""},
		{"deny Read(*.env); ask Read(!x.env)", "/p/x.env", ""},
		{"deny Read(*.env); deny Read(!x.env); deny Read(./x.env)", "/p/x.env", "/p/a/x.env"},
		{"deny Read(*.env); deny Read(!sam)", "/p/sam.env", ""},
		{"deny Read(*.env); deny Grep(!x.env)", "/p/x.env", ""},
	} {
		j := judgeOf(t, permission.Scope{Root: "/p", Home: "/home/u"}, mirror{}, strings.Split(c.rules, "; ")...)
		for _, side := range []struct {
			paths string
			want  bool
		}{{c.reached, true}, {c.not, false}} {
			for p := range strings.FieldsSeq(strings.ReplaceAll(side.paths, "/p/a b (c)", "/p/a_b_(c)")) {
				p = strings.ReplaceAll(p, "a_b_", "a b ")
				if strings.Contains(p, "..") {
					continue
				}
				if v := j.Judge(t.Context(), call("read", "/p", p)); (v.Effect == permission.Deny) != side.want {
					t.Errorf("%s: %s is %v", c.rules, p, v.Effect)
				}
			}
		}
	}
}

func TestAllowIsNarrower(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rules, path, want string }{
		{"allow Read(src/**)", "/p/src/a", "allow"},
		{"allow Read(src/**)", "/p/x/src/a", "none"},
		{"allow Read(src)", "/p/x/src/a", "allow"},
		{"allow Read([x)", "/p/[x", "none"},
		{"allow Read(*.md); allow Read(!secret.md)", "/p/a.md", "allow"},
		{"allow Read(*.md); allow Read(!secret.md)", "/p/x/secret.md", "none"},
		{"allow Read(//**)", "/etc/x", "allow"},
	} {
		j := judgeOf(t, permission.Scope{Root: "/p"}, mirror{}, strings.Split(c.rules, "; ")...)
		if v := j.Judge(t.Context(), call("read", "/p", c.path)); v.Effect.String() != c.want {
			t.Errorf("%s: %s is %v", c.rules, c.path, v.Effect)
		}
	}
}

func TestEveryViewIsComparedByName(t *testing.T) {
	t.Parallel()
	env := fixed{resolved: permission.Resolved{Canonical: "/p/a/x", Exists: true}}
	j := judgeRules(rules(t, "allow Read(//p/a/**)"), env)
	for p, want := range map[string]permission.Effect{"/p/a/y": permission.Allow, "/p/ab/x": permission.None, "/p/a-b": permission.None} {
		if got := effect(j, p); got != want {
			t.Errorf("%s, which leads to /p/a/x, is %v", p, got)
		}
	}
}

func TestFamiliesOfTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		hit  string
		not  string
	}{
		{"deny Read(x)", "read Read grep glob ls LS", "edit write"},
		{"deny Edit(x)", "edit write MultiEdit multi_edit NotebookEdit", "read grep"},
		{"deny Write(x)", "write", "edit read"},
		{"deny Grep(x)", "grep", "read glob"},
		{"deny Cd(x)", "cd", "read"},
		{"deny custom_tool(x)", "custom_tool CustomTool", "read"},
		{"deny mcp__s__t", "mcp__s__t", "mcp__s__u"},
		{"deny TodoWrite", "todo_write", "write"},
		{"deny Read", "read grep", "write"},
	} {
		j := judgeOf(t, permission.Scope{Root: "/p"}, mirror{}, c.rule)
		for name := range strings.FieldsSeq(c.hit) {
			if v := j.Judge(t.Context(), call(name, "/p", "x")); v.Effect != permission.Deny {
				t.Errorf("%s does not reach %s", c.rule, name)
			}
		}
		for name := range strings.FieldsSeq(c.not) {
			if v := j.Judge(t.Context(), call(name, "/p", "x")); v.Effect != permission.None {
				t.Errorf("%s reaches %s", c.rule, name)
			}
		}
	}
}

func TestWindowsRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, path, want string }{
		{`deny Read(C:\proj\secret\**)`, `secret\a`, "deny"},
		{"deny Read(c:/proj/secret/**)", `SECRET\a`, "deny"},
		{"deny Read(//C/proj/secret/**)", `secret/a`, "deny"},
		{`deny Read(\\srv\share\**)`, `//srv/share/x`, "deny"},
		{"deny Read(//srv/share/**)", `\\SRV\share\x`, "deny"},
		{`deny Read(\\c\share\**)`, `C:\share\x`, "none"},
		{`deny Read(secret\keys\**)`, `secret\keys\a`, "deny"},
		{"deny Read(secret)", `a\Secret. \b`, "deny"},
		{`deny Read(~\x)`, `C:\Users\u\x`, "deny"},
		{`allow Read(C:\proj\**)`, `c:\proj\a`, "allow"},
		{`allow Read(C:\Proj\**)`, `c:\proj\a`, "none"},
		{"deny Read(//**/.env)", `E:\x\.ENV`, "deny"},
	} {
		j := judgeOf(t, permission.Scope{Root: `C:\proj`, Home: `C:\Users\u`}, mirror{}, c.rule)
		if v := j.Judge(t.Context(), call("read", `C:\proj`, c.path)); v.Effect.String() != c.want {
			t.Errorf("%s: %s is %v (%s)", c.rule, c.path, v.Effect, v.Reading.Lexical)
		}
	}
}

func TestTwins(t *testing.T) {
	t.Parallel()
	env := mirror{
		"/tmp":         {To: "/private/tmp", Links: []string{"/tmp"}},
		"/tmp/x":       {To: "/private/tmp/x", Links: []string{"/tmp"}},
		"/p/docs":      {To: "/home/u/.ssh", Links: []string{"/p/docs"}},
		"/alias":       {To: "/p", Links: []string{"/alias"}},
		"/alias/docs":  {To: "/home/u/.ssh", Links: []string{"/alias", "/p/docs"}},
		"/more/l":      {To: "/etc", Links: []string{"/more/l"}},
		"/alias/plain": {To: "/p/plain", Links: []string{"/alias"}},
	}
	for _, c := range []struct{ rule, path, want string }{
		{"deny Read(//tmp/x/**)", "/private/tmp/x/a", "deny"},
		{"allow Read(//tmp/x/**)", "/private/tmp/x/a", "allow"},
		{"deny Read(./docs/**)", "/home/u/.ssh/id", "deny"},
		{"ask Read(docs/**)", "/home/u/.ssh/id", "none"}, // at any depth: its head is the root
		{"allow Read(./docs/**)", "/home/u/.ssh/id", "none"},
		{"allow Read(//alias/docs/**)", "/home/u/.ssh/id", "none"},
		{"deny Read(//alias/docs/**)", "/home/u/.ssh/id", "deny"},
		{"allow Read(//alias/plain/**)", "/p/plain/a", "allow"},
		{"allow Read(//more/l/**)", "/etc/passwd", "none"},
	} {
		j := judgeOf(t, permission.Scope{Root: "/p", Writable: []string{"/more"}}, env, c.rule)
		v := j.Judge(t.Context(), call("read", "/p", c.path))
		if v.Effect.String() != c.want {
			t.Errorf("%s: %s is %v", c.rule, c.path, v.Effect)
		}
		if v.Effect == permission.Deny && (v.From == "" || v.To == "" || !strings.Contains(strings.Join(v.Explain(), "\n"), v.From+" leads to "+v.To)) {
			t.Errorf("%s: the verdict does not tell of the twin: %+v", c.rule, v)
		}
	}
}

// A name with a line break in it stays on its line of an explanation.
func TestExplainStaysOnItsLines(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, permission.Scope{Root: "/p"}, mirror{}, "deny Read(x/**)")
	v := j.Judge(t.Context(), call("read", "/p", "x/a\nallow: b\u202e"))
	for _, line := range v.Explain() {
		if strings.ContainsAny(line, "\n\u202e") {
			t.Errorf("the line %q breaks", line)
		}
	}
	if first := v.Explain()[0]; first != `deny: read "/p/x/a\nallow: b\u202e"` {
		t.Errorf("the first line is %s", first)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rules, want string }{
		{"deny Read(x)", ""},
		{"deny Read(//etc/x); ask Edit(~/x); allow Bash(git:*); deny mcp__a__b", ""},
		{"deny Raed(x)", "did you mean read?"},
		{"deny Frobnicate", "there is no tool Frobnicate"},
		{"allow Task(x)", "allows nothing"},
		{"deny TodoWrite(x)", "taken for all its calls"},
		{"deny Read(/etc/passwd)", "write //etc/passwd"},
		{`deny Read(C:\x\**)`, "can never match here"},
		{"deny Read(../x)", "leaves the task root"},
		{"deny Read(~user/x)", "only ~/ means a home"},
		{"deny Read([x)", "not closed"},
		{"allow Read([x)", "allows nothing"},
		{"deny Read(!x)", "takes nothing out"},
		{"deny Read(//p/x); deny Read(!x)", "takes nothing out"},
		{"deny Read({a,b})", "braces are ordinary"},
		{"allow Read(x); deny Read", "it does nothing"},
		{"ask Grep(x); deny Read", "it does nothing"},
	} {
		set := permission.Compile(t.Context(), rules(t, strings.Split(c.rules, "; ")...), permission.Scope{Root: "/p", Home: "/home/u", Tools: []string{"frob"}}, nil)
		var got []string
		for _, w := range set.Warnings() {
			got = append(got, w.String())
		}
		if c.want == "" && len(got) > 0 || c.want != "" && !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: warnings %q, not %q", c.rules, got, c.want)
		}
	}
}

func TestParseRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Read": "deny Read", " Read(//a) ": "deny Read(//a)", "Read(a (b))": "deny Read(a (b))", "Bash(*)": "deny Bash", "Bash(:*)": "deny Bash", "Read()": "deny Read",
		"Read(": "error", "(x)": "error", "": "error", "Read x(y)": "error", "Read(x) y": "error",
	} {
		r, err := permission.ParseRule(permission.Deny, text, permission.Source{})
		got := r.String()
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q is %s (%v), not %s", text, got, err, want)
		}
	}
	if _, err := permission.ParseRule(permission.Allow, "Read()", permission.Source{}); err == nil {
		t.Error("an allow of nothing is taken")
	}
}

func TestReadLists(t *testing.T) {
	t.Parallel()
	value := map[string]any{
		"allow": []any{"Read(//a)", 7}, "deny": []any{"Edit(b)", "Read("}, "ask": "Read(c)",
		"additionalDirectories": []any{"../x", "~/y"}, "directories": []any{"z"}, "defaultMode": "plan",
	}
	l := permission.ReadLists(value, permission.Origin{
		File: "settings.json", Owner: permission.User, Anchor: "/cfg", Pointer: "/permissions",
		Line: func(p string) int { return len(p) },
	})
	var got []string
	for _, r := range l.Rules {
		got = append(got, r.String())
	}
	want := []string{"deny Edit(b) at settings.json:19", "allow Read(//a) at settings.json:20"}
	if !slices.Equal(got, want) || l.Rules[0].Anchor != "/cfg" || l.Rules[0].Owner() != permission.User {
		t.Errorf("rules %q", got)
	}
	if len(l.Problems) != 3 || len(l.Directories) != 3 || l.Mode.Text != "plan" {
		t.Errorf("%+v", l)
	}
	if got := fmt.Sprint(l.Problems); !strings.Contains(got, "settings.json:19: deny 2") && !strings.Contains(got, "deny 2: the rule") {
		t.Errorf("problems %s", got)
	}
	if l := permission.ReadLists([]any{}, permission.Origin{}); len(l.Problems) != 1 {
		t.Errorf("%+v", l)
	}
	if l := permission.ReadLists(nil, permission.Origin{}); len(l.Problems)+len(l.Rules) != 0 {
		t.Errorf("%+v", l)
	}
	for name, want := range map[string]string{"": "default", "default": "default", "ask-writes": "ask-writes", "locked": "locked", "dontAsk": "locked", "plan": "default read", "acceptEdits": "default", "bypassPermissions": "default  note", "x": "error"} {
		mode, access, note, err := permission.ReadMode(name)
		got := strings.TrimRight(fmt.Sprintf("%s %s", mode, access), " ")
		if note != "" {
			got += "  note"
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("mode %q is %q, not %q", name, got, want)
		}
	}
	for text, want := range map[string]string{"../x": "/x", "~/y": "/home/u/y", "/a/b": "/a/b", "/": "error", "a\nb": "error", "~": "/home/u"} {
		got, err := permission.Directory(permission.Entry{Text: text}, "/p", "/home/u")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("directory %q is %q, not %q (%v)", text, got, want, err)
		}
	}
}

func TestCommandRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rules, commands, want string }{
		{"deny Bash(git push:*)", "git push -f", "deny"},
		{"deny Bash(git push:*)", "ls; git push", "deny"},
		{"deny Bash(git push:*)", "git $X", "ask"},
		{"deny Bash(git push:*)", "git pushx", "none"},
		{"deny Bash(ls)", "/bin/ls", "deny"},
		{"deny Bash(timeout:*)", "rm x<timeout 5 rm x", "deny"},
		{"allow Bash(ls)", "/bin/ls", "none"},
		{"allow Bash(ls *)", "ls $X", "allow"},
		{"allow Bash(ls *)", "$X ls", "none"},
		{"allow Bash(ls:*)|allow Bash(cat:*)", "ls -l; cat x", "allow"},
		{"allow Bash(ls:*)", "ls -l; cat x", "none"},
		{"allow Bash|deny Bash(rm:*)", "rm x", "deny"},
		{"allow Bash(rm:*)|ask Bash(rm:*)", "rm x", "ask"},
		{"deny Bash", "ls", "deny"},
		{"deny Other(rm:*)", "rm x", "none"},
	} {
		j := judgeOf(t, permission.Scope{Root: "/p"}, nil, strings.Split(c.rules, "|")...)
		if v, _ := j.JudgeCommands("bash", commands(c.commands)); v.Effect.String() != c.want {
			t.Errorf("%s: %s is %v", c.rules, c.commands, v.Effect)
		}
	}
	parent := judgeOf(t, permission.Scope{Root: "/p"}, nil, "allow Bash(ls:*)", "allow Bash(cat:*)")
	for list, want := range map[string]string{"": "allow [true true]", "allow Bash(ls:*)": "none [true false]", "deny Bash(cat:*)": "deny [false false]"} {
		var layer []permission.Rule
		if list != "" {
			layer = rules(t, list)
		}
		child := parent.Narrow(permission.Policy{Rules: permission.Compile(t.Context(), layer, permission.Scope{Root: "/p"}, nil)})
		v, covered := child.JudgeCommands("bash", commands("ls; cat x"))
		if got := fmt.Sprint(v.Effect, " ", covered); got != want {
			t.Errorf("a child with %q: %s, not %s", list, got, want)
		}
	}
}

// commands reads "a b; c $X<wrapper c $X": commands, and behind "<" the same with
// a wrapper. "$X" is not shown.
func commands(text string) []permission.Command {
	var list []permission.Command
	words := func(s string) []string {
		return strings.Fields(strings.ReplaceAll(s, "$X", "\x00"))
	}
	for _, one := range strings.Split(text, "; ") {
		inner, outer, wrapped := strings.Cut(one, "<")
		c := permission.Command{Words: words(inner), Text: inner}
		if wrapped {
			c.Outer = [][]string{words(outer)}
		}
		list = append(list, c)
	}
	return list
}

func TestReadingsByDirection(t *testing.T) {
	t.Parallel()
	root := permission.Target{Slot: "p", Base: permission.BaseRoot, Absent: permission.AbsentNone, Op: permission.OpRead}
	j := judgeOf(t, permission.Scope{Root: "/p"}, mirror{}, "deny Read(//p/a)", "allow Read(//c/**)")
	c := &permission.Call{Tool: "read", Protective: &root, Declared: &reads, Args: map[string]any{"p": "a"}, Bases: permission.Bases{Root: "/p", Cwd: "/c"}}
	if v := j.Judge(t.Context(), c); v.Effect != permission.Deny {
		t.Errorf("the protective target is not judged: %v", v.Effect)
	}
	c.Args = map[string]any{"p": "b"}
	if v := j.Judge(t.Context(), c); v.Effect != permission.Allow {
		t.Errorf("the declared target is not judged: %v", v.Effect)
	}
	c.Declared = nil
	if v := j.Judge(t.Context(), c); v.Effect != permission.None {
		t.Errorf("an undeclared call is allowed: %v", v.Effect)
	}
	// Without an environment what is written can only deny.
	blind := judgeOf(t, permission.Scope{Root: "/p"}, nil, "deny Read(a)", "allow Read(//p/**)")
	if v := blind.Judge(t.Context(), call("read", "/p", "a")); v.Effect != permission.Deny {
		t.Errorf("%v", v.Effect)
	}
	if v := blind.Judge(t.Context(), call("read", "/p", "b")); v.Effect != permission.None || v.Reading.Asked {
		t.Errorf("%+v", v)
	}
}

func TestNarrowedJudge(t *testing.T) {
	t.Parallel()
	parent := judgeOf(t, permission.Scope{Root: "/p"}, mirror{}, "allow Read(//p/**)", "ask Read(x)")
	set := permission.Compile(t.Context(), rules(t, "allow Read(//**)", "deny Read(y)", "allow Read(x)"), permission.Scope{Root: "/p"}, nil)
	child := parent.Narrow(permission.Policy{Rules: set})
	for p, want := range map[string]string{"a": "allow", "x": "ask", "y": "deny", "/q": "none"} {
		if v := child.Judge(t.Context(), call("read", "/p", p)); v.Effect.String() != want {
			t.Errorf("%s is %v, not %s", p, v.Effect, want)
		}
	}
	if n := len(child.Policies()); n != 2 {
		t.Errorf("%d layers", n)
	}
}
