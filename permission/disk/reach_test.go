//go:build unix

package disk_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/tool"
)

//go:embed testdata/reach.txt
var reach string

// TestReach runs every command line that the fence lets through, and looks at
// what came of it and not at what was said about it.
func TestReach(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for line := range strings.Lines(reach) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "# ") {
			continue
		}
		w := newWorld(t, "proj/a", "proj/sub/x")
		w.put("home/.ssh/", "out/")
		for name, text := range map[string]string{"proj/.env": "SECRET=1\n", "home/.ssh/id": "SECRET=1\n", "out/f": "keep", "proj/list": ".env\n"} {
			must(t, os.WriteFile(w.path(name), []byte(text), 0o600))
		}
		a := w.agent("deny Read(.env)")
		a.call.Session = nil
		got, told := a.does("bash " + strings.ReplaceAll(line, `\n`, "\n"))
		outcomes[got]++
		entries, err := os.ReadDir(w.path("out"))
		must(t, err)
		if got == "allow" && strings.Contains(told, "SECRET=") || w.read("out/f") != "keep" || len(entries) != 1 {
			t.Errorf("%s is %s, and it reached out:\n%s", line, got, told)
		}
	}
	if outcomes["deny"] < 300 || outcomes["allow"] > 20 {
		t.Errorf("the verdicts are %v", outcomes)
	}
	t.Log(outcomes)
}

// TestReachBesideOthers puts a line that is denied before, behind and into others:
// it is not allowed there either.
func TestReachBesideOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a", "proj/sub/x", "home/.ssh/id", "out/f", "proj/list", "proj/.env")
	a := w.agent("deny Read(.env)")
	a.call.Session = nil
	var others, denied []string
	for line := range strings.Lines(reach) {
		line = strings.TrimSuffix(line, "\n")
		// What declares functions, ends in a comment or leaves the text of the next line
		// to itself means something else beside others.
		if strings.ContainsAny(line, `#\!`) || strings.Contains(line, "()") || strings.Contains(line, "function") || strings.Contains(line, "<<") || strings.HasSuffix(line, "&") {
			continue
		}
		if others = append(others, line); strings.Contains(line, ".env") {
			if got, _ := a.judged(line); got == "deny" {
				denied = append(denied, line)
			}
		}
	}
	if len(denied) < 100 {
		t.Fatalf("%d lines are denied", len(denied))
	}
	forms := []string{"%s; %s", "%[2]s; %[1]s", "%s && %s", "%s || %s", "%s | %s", "%s & %s", "%s\n%s", "if %s; then %s; fi", "while %s; do %s; done", "(%s); %s", "{ %s; }; %s", "(%s; %s)", "%s; echo \"$(%s)\"", "%s; x=$(%s)", "f() { %s; }; %s", "%s; g() { %s; }; g", "! %s; ! %s", "time %s; %s", "%s; cat <(%s)", "%s; for i in 1; do %s; done", "%s; case a in *) %s;; esac"}
	rapid.Check(t, func(rt *rapid.T) {
		other, x := rapid.SampledFrom(others).Draw(rt, "other"), rapid.SampledFrom(denied).Draw(rt, "denied")
		line := fmt.Sprintf(rapid.SampledFrom(forms).Draw(rt, "form"), other, x)
		if got, told := a.judged(line); got == "allow" {
			rt.Fatalf("%s is allowed: %s", line, told)
		}
	})
}

// judged gives the verdict about a command line, which is not run: there is
// nothing left to run it in.
func (a *agent) judged(line string) (got, told string) {
	raw, err := json.Marshal(map[string]any{"command": line, "background": true})
	must(a.t, err)
	call := a.call
	call.Fence = refusing{a.fence}
	_, err = a.set.Run(a.t.Context(), "bash", raw, call)
	if errors.Is(err, errWouldRun) {
		return "allow", ""
	}
	return outcome(err), fmt.Sprint(err)
}

var errWouldRun = errors.New("it would run")

// refusing ends a call whose command line was allowed.
type refusing struct{ tool.Fence }

func (r refusing) JudgeShell(ctx context.Context, q tool.ShellRequest) error {
	if err := r.Fence.JudgeShell(ctx, q); err != nil {
		return err
	}
	return errWouldRun
}
