package shell_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workspace/shell"
)

func TestPipes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                                         nil,
		"go test ./...":                            nil,
		"go test ./... | tee log":                  nil,
		"go test ./... | tee log; echo done":       {"go test ./... | tee log"},
		"go test ./... | tee log\necho done":       {"go test ./... | tee log"},
		"a | b && c":                               nil,
		"a | b && c; d":                            {"a | b"},
		"a | b || c; d":                            nil,
		"c && a | b":                               nil,
		"a | b | c; d":                             {"a | b | c"},
		"a |& b; c":                                {"a |& b"},
		"a | b; c | d; e | f":                      {"a | b", "c | d"},
		"a | b &":                                  {"a | b"},
		"if a | b; then c; fi":                     nil,
		"if a | b; c; then d; fi":                  {"a | b"},
		"if a; then b | c; fi":                     nil,
		"if a; then b; else c | d; e; fi":          {"c | d"},
		"while a | b; do c; done":                  nil,
		"for x in 1 2; do a | b; done":             {"a | b"},
		"for x in 1 2; do a | b || exit; done":     nil,
		"a | while read x; do b; done":             nil,
		"{ a | b; }":                               nil,
		"{ a | b; }; c":                            {"a | b"},
		"(a | b; c)":                               {"a | b"},
		"case $x in a) b | c;; d) e | f; g;; esac": {"e | f"},
		"! a | b":                                  nil,
		"time a | b":                               nil,
		"f() { a | b; }; f":                        nil,
		"f() { a | b; c; }; f":                     {"a | b"},
		"x=$(a | b)":                               nil,
		"x=$(a | b); c":                            {"a | b"},
		`echo "$(a | b)"; c`:                       nil,
		"a | b; exit ${PIPESTATUS[0]}":             nil,
		"a | b; rc=$?; c; exit $rc":                nil,
		"set -e; a | b; c":                         nil,
		"set -eo pipefail; a | b; c":               nil,
		"set -o errexit; a | b; c":                 nil,
		"set -e; set +e; a | b; c":                 {"a | b"},
		"set -e; a | b && c; d":                    {"a | b"},
		"set -e; for x in 1; do a | b; done; c":    nil,
		"set -u; a | b; c":                         {"a | b"},
		"(set -e; a); a | b; c":                    {"a | b"},
		"echo 'a | b; c'":                          nil,
		"cat <<E | b\na | b; c\nE\n":               nil,
		"a | { b | c; d; }":                        {"b | c"},
		"coproc { a | b; }":                        {"a | b"},
	} {
		found, err := shell.Pipes(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		var got []string
		for _, p := range found {
			got = append(got, p.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: unchecked %q, want %q", line, got, want)
		}
	}
}

func TestPipesPosition(t *testing.T) {
	t.Parallel()
	got, err := shell.Pipes("echo ä\n  ä | b\nc")
	if want := []shell.Pipe{{Text: "ä | b", Line: 2, Column: 3}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := shell.Pipes("echo 'open"); err == nil || !strings.Contains(err.Error(), "1:6") {
		t.Errorf("error %v, want the position of the quote", err)
	}
}

func FuzzPipes(f *testing.F) {
	for _, seed := range []string{"a | b; c", "x=$(a | b); (c | d &)", "set -e\nif a | b; then c | d; fi", "f() { a |& b; }; case $x in y) a | b;; esac", "a <<E | b\n$(c | d)\nE"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		found, err := shell.Pipes(line)
		if err != nil {
			return
		}
		for _, p := range found {
			if !strings.Contains(p.Text, "|") || !strings.Contains(line, p.Text) {
				t.Errorf("%q is no pipeline of %q", p.Text, line)
			}
		}
	})
}
