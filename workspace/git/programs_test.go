package git_test

import (
	"testing"

	"github.com/tenonrun/tenon/workspace/git"
)

func TestSamePrograms(t *testing.T) {
	const base = "[core]\n\tbare = false\n[alias]\n\tst = status\n"
	for _, tc := range []struct {
		name, after string
		want        bool
	}{
		{"nothing", base, true},
		{"a branch is tracked", base + "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n", true},
		{"a remote", base + "[remote \"o\"]\n\turl = https://example.com/x\n\tfetch = +refs/heads/*:refs/remotes/o/*\n", true},
		{"order", "[alias]\n\tst = status\n[core]\n\tbare = false\n", true},
		{"a remote that runs a program", base + "[remote \"o\"]\n\turl = ext::sh -c id\n", false},
		{"a remote like an option", base + "[remote \"o\"]\n\turl = --upload-pack=id\n", false},
		{"hooks elsewhere", base + "[core]\n\thooksPath = x\n", false},
		{"a monitor, in other letters", base + "[CORE]\n\tFSMonitor = ./x\n", false},
		{"an include", base + "[include]\n\tpath = ../x\n", false},
		{"a filter", base + "[filter \"x\"]\n\tclean = id\n", false},
		{"a submodule that runs", base + "[submodule \"x\"]\n\tupdate = !id\n", false},
		{"an alias more", base + "[alias]\n\tst = !id\n", false},
		{"an alias less", "[core]\n\tbare = false\n", false},
		{"no configuration", base + "[core", false},
		{"nothing at all", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := git.SamePrograms([]byte(base), []byte(tc.after)); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if !git.SamePrograms(nil, []byte("[core]\n\tbare = false\n")) {
		t.Error("a new repository runs something")
	}
}
