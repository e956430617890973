package cli

import (
	"errors"
	"strings"
	"testing"
)

func TestProgressFitsWhereItGoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		env      map[string]string
		terminal bool
		quiet    bool
		jsonl    bool
		want     string
	}{
		{name: "a terminal", env: map[string]string{"TERM": "xterm"}, terminal: true, want: "tree"},
		{name: "no colour is still a tree", env: map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, terminal: true, want: "tree"},
		{name: "CI=false", env: map[string]string{"TERM": "xterm", "CI": "false"}, terminal: true, want: "tree"},
		{name: "no terminal", env: map[string]string{"TERM": "xterm"}, want: "lines"},
		{name: "CI", env: map[string]string{"TERM": "xterm", "CI": "true"}, terminal: true, want: "lines"},
		{name: "dumb", env: map[string]string{"TERM": "dumb"}, terminal: true, want: "lines"},
		{name: "a terminal of no kind", terminal: true, want: "lines"},
		{name: "quiet", env: map[string]string{"TERM": "xterm"}, terminal: true, quiet: true, want: "silent"},
		{name: "JSON lines", env: map[string]string{"TERM": "xterm"}, terminal: true, jsonl: true, want: "silent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var err strings.Builder
			a := &app{quiet: c.quiet, jsonl: c.jsonl, std: Stdio{Err: &err, Terminal: c.terminal, Getenv: func(k string) string { return c.env[k] }}}
			w := a.watch()
			got := "?"
			switch w.view.(type) {
			case *tree:
				got = "tree"
			case lines:
				got = "lines"
			case silent:
				got = "silent"
			}
			if got != c.want {
				t.Errorf("progress is %s, want %s", got, c.want)
			}
			w.stop()
			if a.std.Err != &err {
				t.Error("standard error is not given back")
			}
		})
	}
}

func TestLocaleAndReflow(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) func(string) string {
		return func(k string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == k {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	var problems []error
	check := func(got, want bool, what string) {
		if got != want {
			problems = append(problems, errors.New(what))
		}
	}
	check(speaksUTF8(env("LANG", "de_DE.UTF-8")), true, "LANG with UTF-8")
	check(speaksUTF8(env("LC_ALL", "C", "LANG", "de_DE.UTF-8")), false, "LC_ALL wins")
	check(speaksUTF8(env("LC_CTYPE", "C.utf8", "LANG", "C")), true, "LC_CTYPE before LANG")
	check(reflows(env("TERM", "xterm-256color")), true, "most terminals")
	check(reflows(env("TERM", "xterm", "XTERM_VERSION", "XTerm(390)")), false, "xterm itself")
	check(reflows(env("TERM", "linux")), false, "the console")
	check(reflows(env("TERM", "screen")), false, "screen")
	check(reflows(env("TERM", "screen-256color", "TMUX", "/tmp/x")), true, "tmux")
	if err := errors.Join(problems...); err != nil {
		t.Error(err)
	}
}
