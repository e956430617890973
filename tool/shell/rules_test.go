package shell_test

import (
	"slices"
	"testing"

	"github.com/tenonrun/tenon/tool/shell/line"
	"github.com/tenonrun/tenon/tool/shell/rule"
)

// TestRulesOverLines decides command lines by rules alone: a rule that denies
// reaches every simple command and its wrappers, rules that allow must speak of
// every simple command. What people were surprised by is here.
func TestRulesOverLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deny, allow []string
		text, want  string
	}{
		{nil, []string{"cd:*"}, "cd x && python y", "none"},
		{nil, []string{"cd:*", "python:*"}, "cd x && python y", "allow"},
		{nil, []string{"git:*", "grep:*"}, "git log | grep x", "allow"},
		{nil, []string{"git log", "grep:*"}, "git log > out | grep x", "allow"},
		{nil, []string{"git log"}, "git log > $OUT", "none"},
		{nil, []string{"git status"}, "git status; rm x", "none"},
		{nil, []string{"git status"}, "git status $(rm x)", "none"},
		{nil, []string{"git status"}, "git status\nrm x", "none"},
		{nil, []string{"git status"}, "git status & rm x", "none"},
		{nil, []string{"npm run:*"}, "npm run build", "allow"},
		{nil, []string{"npm run:*"}, "npm run build && npm publish", "none"},
		{nil, []string{"npm run:*"}, "PATH=/x npm run build", "none"},
		{nil, []string{"npm run:*"}, "eval npm run build", "none"},
		{nil, []string{"curl:*"}, "curl $FOO", "allow"},
		{nil, []string{"curl https://a.test/*"}, "curl https://a.test/$X", "allow"},
		{nil, []string{"curl https://a.test/x"}, "curl $FOO", "none"},
		{nil, []string{"echo:*"}, "echo x > /dev/tcp/h/1", "none"},
		{nil, []string{"rm:*"}, "sudo rm x", "none"},
		{nil, []string{"rm:*"}, "timeout 5 rm x", "allow"},
		{nil, []string{"rm:*"}, "bash -c 'rm x'", "allow"},
		{nil, []string{"rm:*"}, "rm x || curl h", "none"},
		{nil, []string{"rm:*"}, "find . -exec rm {} +", "none"},
		{nil, []string{"ls", "f:*"}, "f() { rm x; }; f; ls", "none"},
		{nil, []string{"*"}, "anything | goes", "allow"},
		{[]string{"rm:*"}, []string{"*"}, "git log; rm x", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "/bin/rm x", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "/opt/rm x", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "\\rm x", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "r''m x", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "command rm x", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "env A=1 nice timeout 5 rm x", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "xargs rm < list", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "find . -exec rm {} +", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "bash -c \"sh -c 'rm x'\"", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "eval 'rm x'", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "f() { rm x; }; f", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "trap 'rm x' EXIT", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "cat <(rm x)", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "cat <<E\n$(rm x)\nE", "deny"},
		{[]string{"rm:*"}, []string{"*"}, "$X y", "ask"},
		{[]string{"sudo:*"}, []string{"*"}, "sudo ls", "deny"},
		{[]string{"bash:*"}, []string{"*"}, "bash -c ls", "deny"},
		{[]string{"timeout:*"}, []string{"*"}, "timeout 5 ls", "deny"},
		{[]string{"git push:*"}, []string{"git:*"}, "git -C x push", "deny"},
		{[]string{"git push:*"}, []string{"git:*"}, "git $X", "ask"},
		{[]string{"git push:*"}, []string{"git:*"}, "git pull $X", "allow"},
	} {
		if got := decide(t, c.deny, c.allow, c.text); got != c.want {
			t.Errorf("deny %q, allow %q: %q: %s, want %s", c.deny, c.allow, c.text, got, c.want)
		}
	}
}

func decide(t *testing.T, deny, allow []string, text string) string {
	t.Helper()
	l, err := line.Read(text, line.Options{Cwd: "/p", Home: "/h"})
	if err != nil {
		t.Fatal(err)
	}
	verdict := "allow"
	if len(l.Opaque) > 0 && !slices.Contains(allow, "*") {
		verdict = "none"
	}
	for _, c := range l.Commands {
		if len(c.Words) == 0 {
			continue
		}
		for _, words := range append([][]string{c.Words}, c.Outer...) {
			switch reach(t, deny, words) {
			case rule.Yes:
				return "deny"
			case rule.Maybe:
				verdict = "ask"
			}
		}
		allowed := slices.ContainsFunc(allow, func(p string) bool { return parse(t, p).Allows(c.Words) })
		if !allowed && verdict == "allow" {
			verdict = "none"
		}
	}
	return verdict
}

func reach(t *testing.T, patterns []string, words []string) rule.Match {
	t.Helper()
	most := rule.No
	for _, p := range patterns {
		most = max(most, parse(t, p).Reaches(words))
	}
	return most
}

func parse(t *testing.T, pattern string) rule.Rule {
	t.Helper()
	r, err := rule.Parse(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
