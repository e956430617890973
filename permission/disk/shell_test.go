//go:build unix

package disk_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/tool"
)

// shell makes a request of commands "words | op path | …", one command a line.
func (w *world) shell(opaque bool, lines ...string) tool.ShellRequest {
	r := tool.ShellRequest{Tool: "bash", Text: strings.Join(lines, " && "), Cwd: w.path("proj")}
	if opaque {
		r.Opaque = []string{"$(…)"}
	}
	for _, line := range lines {
		parts := strings.Split(line, " | ")
		c := tool.ShellCommand{Text: parts[0], Words: strings.Fields(parts[0]), Cwd: r.Cwd}
		for i, word := range c.Words {
			if strings.HasPrefix(word, "$") {
				c.Words[i] = tool.NotShown
			}
		}
		for _, o := range parts[1:] {
			op, p, _ := strings.Cut(o, " ")
			c.Operands = append(c.Operands, tool.Operand{Spelled: w.spell(p), Op: tool.Op(op), Base: r.Cwd, Why: "operand of " + c.Words[0]})
		}
		r.Commands = append(r.Commands, c)
	}
	return r
}

func TestJudgeShell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		conf   disk.Config
		held   tool.Confinement
		rules  []string
		opaque bool
		lines  []string
		want   string
	}{
		{name: "plain", lines: []string{"go test ./..."}, want: "allow"},
		{name: "read inside", lines: []string{"cat a | read a"}, want: "allow"},
		{name: "read outside", lines: []string{"cat x | read //out/x"}, want: "ask"},
		{name: "through a link", lines: []string{"cat leak | read leak"}, want: "ask"},
		{name: "write outside", lines: []string{"cp a b | read a | write //out/y"}, want: "deny"},
		{name: "a later denial", lines: []string{"cat x | read //out/x", "rm x | write //out/x"}, want: "deny"},
		{name: "deny holds in a shell", rules: []string{"deny Read(.env)"}, lines: []string{"cat .env | read .env"}, want: "deny"},
		{name: "deny holds in a search", rules: []string{"deny Read(secret/**)"}, lines: []string{"grep -r x secret | search secret"}, want: "deny"},
		{name: "no device is outside", lines: []string{"go build > null | write /dev/null | read /dev/fd/0"}, want: "allow"},
		{name: "cd outside", lines: []string{"cd out | enter //out"}, want: "ask"},
		{name: "cd denied", rules: []string{"deny Cd(//out/**)"}, lines: []string{"cd out | enter //out"}, want: "deny"},
		{name: "command denied", rules: []string{"deny Bash(git push:*)"}, lines: []string{"cd sub", "git push --force"}, want: "deny"},
		{name: "with its directory", rules: []string{"deny Bash(rm *)"}, lines: []string{"/bin/rm -rf sub"}, want: "deny"},
		{name: "command asked", rules: []string{"ask Bash(npm publish)"}, lines: []string{"npm publish"}, want: "ask"},
		{name: "every command must be allowed", rules: []string{"allow Bash(cd:*)"}, opaque: true, lines: []string{"cd sub", "python x"}, want: "ask"},
		{name: "all are allowed", rules: []string{"allow Bash(git:*)", "allow Bash(grep *)"}, lines: []string{"git log", "grep x"}, want: "allow"},
		{name: "all are allowed, and more is hidden", rules: []string{"allow Bash(git:*)", "allow Bash(grep *)"}, opaque: true, lines: []string{"git log", "grep x"}, want: "ask"},
		{name: "all are allowed, more is hidden and held", held: tool.ConfinedWrites, rules: []string{"allow Bash(git:*)", "allow Bash(grep *)"}, opaque: true, lines: []string{"git log", "grep x"}, want: "allow"},
		{name: "hidden text", opaque: true, lines: []string{"eval $x"}, want: "ask"},
		{name: "hidden text, confined", held: tool.ConfinedWrites, opaque: true, lines: []string{"eval $x"}, want: "allow"},
		{name: "hidden text, confined, some places only", conf: disk.Config{Listed: true}, held: tool.ConfinedWrites, opaque: true, lines: []string{"eval $x"}, want: "ask"},
		{name: "hidden text, writing nothing, some places only", conf: disk.Config{Listed: true}, held: tool.ConfinedReads, opaque: true, lines: []string{"eval $x"}, want: "allow"},
		{name: "hidden text, locked", conf: disk.Config{Mode: permission.ModeLocked}, opaque: true, lines: []string{"eval $x"}, want: "deny"},
		{name: "ask-writes", conf: disk.Config{Mode: permission.ModeAskWrites}, lines: []string{"make"}, want: "ask"},
		{name: "ask-writes, allowed", conf: disk.Config{Mode: permission.ModeAskWrites}, rules: []string{"allow Bash(make)"}, lines: []string{"make"}, want: "allow"},
		{name: "read only", conf: disk.Config{Access: permission.AccessRead}, lines: []string{"ls"}, want: "deny"},
		{name: "read only, confined", conf: disk.Config{Access: permission.AccessRead}, held: tool.ConfinedReads, lines: []string{"ls"}, want: "allow"},
		{name: "read only, a write that shows", conf: disk.Config{Access: permission.AccessRead}, held: tool.ConfinedReads, lines: []string{"rm a | write a"}, want: "deny"},
		{name: "whole tool denied", rules: []string{"deny Bash"}, lines: []string{"ls"}, want: "deny"},
		{name: "whole tool allowed", rules: []string{"allow Bash(*)"}, opaque: true, lines: []string{"eval $x"}, want: "allow"},
		{name: "a path rule still holds", rules: []string{"allow Bash", "deny Read(a)"}, lines: []string{"cat a | read a"}, want: "deny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "proj/a", "proj/.env", "proj/secret/k", "proj/sub/", "out/x", "proj/leak -> /out/x")
			if c.conf.Access == "" {
				c.conf.Access = permission.AccessWrite
			}
			c.conf.Rules = w.rules(c.rules...)
			r := w.shell(c.opaque, c.lines...)
			r.Confined = c.held
			err := w.fenceOf(c.conf).JudgeShell(t.Context(), r)
			if got := outcome(err); got != c.want {
				t.Errorf("%q is %s, not %s (%v)", c.lines, got, c.want, err)
			}
		})
	}
}

func TestOpaquePartOfAnAllowedCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for rule, want := range map[string]string{"allow Bash(grep:*)": "allow", "allow Bash(make)": "ask", "deny Bash(grep -r:*)": "ask"} {
		r := w.shell(false, "make", "grep $X")
		r.Opaque = []string{"$X"}
		r.Commands[1].Opaque = r.Opaque
		if err := w.fence(rule).JudgeShell(t.Context(), r); outcome(err) != want {
			t.Errorf("%s: %s, not %s (%v)", rule, outcome(err), want, err)
		}
	}
}

func TestOperandWithoutBase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a")
	r := w.shell(false, "cat a | read a")
	r.Commands[0].Operands[0].Base = ""
	if err := w.fence().JudgeShell(t.Context(), r); outcome(err) != "ask" {
		t.Errorf("a path that starts nowhere is %v", err)
	}
	if err := w.fenceOf(disk.Config{Access: permission.AccessWrite, Mode: permission.ModeLocked}).JudgeShell(t.Context(), r); outcome(err) != "deny" {
		t.Errorf("in the mode locked it is %v", err)
	}
}
