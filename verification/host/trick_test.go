//go:build unix

package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
)

// TestTricks: no way leads to a valid receipt that the tree does not deserve.
func TestTricks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		check  verification.Check
		state  string // of the check
		reason string // of the receipt
	}{
		"a pipe hides a failure":          {line("sh -c 'echo 3 failed; exit 1' | tee check.log >/dev/null"), verification.StateFailed, "exit code 1"},
		"a pipe whose status is dropped":  {line("false | tee x; echo fine"), verification.StateBroken, "nobody sees a failure"},
		"|| true":                         {line("(echo 'Tests: 1 failed, 2 passed'; exit 1) || true"), verification.StateFailed, "1 failed"},
		"green exit, failure text":        {sh("echo '--- FAIL: TestA (0.00s)'; echo FAIL; exit 0"), verification.StateFailed, "exit code 0, but the output says"},
		"failure text on stderr":          {sh("seq 9999; echo 'npm ERR! Test failed.  See above.' >&2"), verification.StateFailed, "npm ERR!"},
		"the check edits the tree":        {sh("echo better > file"), verification.StatePassed, "the work tree changed while"},
		"the check adds a file":           {sh("touch new"), verification.StatePassed, "the work tree changed while"},
		"cwd outside":                     {verification.Check{Command: "true", Cwd: ".."}, verification.StateBroken, "leads out"},
		"absolute cwd":                    {verification.Check{Command: "true", Cwd: "/"}, verification.StateBroken, "absolute"},
		"cwd through a link":              {verification.Check{Command: "true", Cwd: "out"}, verification.StateBroken, "leads out"},
		"program outside":                 {verification.Check{Command: "../evil"}, verification.StateBroken, "leads out of the repository"},
		"program outside, deep":           {verification.Check{Command: "./sub/../../evil"}, verification.StateBroken, "leads out of the repository"},
		"program through a link":          {verification.Check{Command: "out/evil"}, verification.StateBroken, "link out of the repository"},
		"program is a link":               {verification.Check{Command: "./evil"}, verification.StateBroken, "link out of the repository"},
		"file through a link":             {verification.Check{File: &verification.FileCheck{Path: "out/evil", Exists: true}}, verification.StateBroken, "escapes"},
		"file outside":                    {verification.Check{File: &verification.FileCheck{Path: "../evil", Exists: true}}, verification.StateBroken, "escapes"},
		"absent, a dangling link":         {verification.Check{File: &verification.FileCheck{Path: "dangling", Absent: true}}, verification.StateFailed, "dangling exists"},
		"absent, a link outside":          {verification.Check{File: &verification.FileCheck{Path: "evil", Absent: true}}, verification.StateFailed, "evil exists"},
		"absent outside":                  {verification.Check{File: &verification.FileCheck{Path: "out/none", Absent: true}}, verification.StateBroken, "escapes"},
		"absent":                          {verification.Check{File: &verification.FileCheck{Path: "sub/none", Absent: true}}, verification.StatePassed, ""},
		"json through a link":             {verification.Check{JSON: &verification.JSONCheck{Path: "out/evil", Schema: []byte("true")}}, verification.StateBroken, "escapes"},
		"unknown policy":                  {verification.Check{Command: "true", Policy: []byte(`{"trust":true}`)}, verification.StateBroken, `"trust", which is not known`},
		"two things at once":              {verification.Check{Command: "true", CommandLine: "true"}, verification.StateBroken, "exactly one"},
		"another repository":              {verification.Check{RepositoryID: "other", Command: "true"}, verification.StateBroken, `no repository "other"`},
		"a link of a virtual environment": {verification.Check{Command: ".venv/bin/evil"}, verification.StatePassed, ""},
		"trusted exit":                    {verification.Check{Command: "echo", Args: []string{"3 failed"}, Policy: []byte(`{"trustExit":true}`)}, verification.StatePassed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, tc.check)
			s.write("../evil", "#!/bin/sh\nexit 0\n")
			for _, dir := range []string{"sub", ".venv/bin"} {
				if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for link, to := range map[string]string{"out": "..", "evil": "../evil", "dangling": "nowhere", ".venv/bin/evil": "../../../evil"} {
				if err := os.Symlink(to, filepath.Join(s.dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			r := s.run()
			if e := r.Commands[0]; e.State != tc.state || !strings.Contains(r.Reason, tc.reason) || (r.State == workflow.ReceiptValid) != (tc.reason == "") || r.Certifies() != (tc.reason == "") {
				t.Errorf("the check %s (%q), the receipt %s: %q", e.State, e.Reason, r.State, r.Reason)
			}
		})
	}
}

// TestScopes: with several scopes the directory has to be said, and links do not
// lead from one to what is beside it.
func TestScopes(t *testing.T) {
	t.Parallel()
	for cwd, want := range map[string]string{"": "several scopes", "a": "", "b/c": "", "d": "outside the scope", "a/side": "outside the scope", ".": "outside the scope"} {
		s := play(t, verification.Check{Command: "true", Cwd: cwd})
		for _, dir := range []string{"a", "b/c", "d"} {
			if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("../d", filepath.Join(s.dir, "a", "side")); err != nil {
			t.Fatal(err)
		}
		s.q.Repositories[0].Scope = []string{"a", "b"}
		if r := s.run(); (r.State == workflow.ReceiptValid) != (want == "") || !strings.Contains(r.Reason, want) {
			t.Errorf("cwd %q: %s, %q, want %q", cwd, r.State, r.Reason, want)
		}
	}
}

// TestOutlives: what a check leaves in the background is ended before the tree is
// hashed again. It cannot edit the files that the receipt is about: what it does
// until its end makes the receipt invalid, and after that it does nothing.
func TestOutlives(t *testing.T) {
	t.Parallel()
	const up = `; while ! test -s ../pid; do sleep 0.01; done`
	for name, tc := range map[string]struct {
		script string
		state  string
	}{
		"background":    {`(sleep 60; echo late >> file) & echo $! > ../pid`, workflow.ReceiptValid},
		"own group":     {`setsid sh -c 'echo $$ > ../pid; exec >/dev/null 2>&1; sleep 60; echo late >> file' &` + up[1:], workflow.ReceiptValid},
		"ignores TERM":  {`sh -c 'trap "" TERM; echo $$ > ../pid; while :; do sleep 0.2; done' &` + up[1:], workflow.ReceiptValid},
		"grandchild":    {`sh -c 'sh -c "echo \$\$ > ../pid; exec sleep 600" & exit 0'` + up, workflow.ReceiptValid},
		"edits at last": {`sh -c 'trap "echo late >> file; exit" TERM; echo $$ > ../pid; while :; do sleep 0.01; done' &` + up[1:], workflow.ReceiptInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, sh(tc.script))
			if tc.state == workflow.ReceiptInvalid { // it gets the time that it needs
				s.config.Runner = process.New(process.Config{Grace: time.Minute, Home: filepath.Dir(s.dir)})
			}
			r := s.run()
			if r.State != tc.state {
				t.Errorf("%s: %s", r.State, r.Reason)
			}
			if pid := pidIn(t, filepath.Join(s.dir, "..", "pid")); alive(pid) {
				t.Errorf("process %d outlived the check", pid)
			}
			if now, err := tree(s.dir); err != nil || now != r.After {
				t.Errorf("the tree changed after the receipt: %v", err)
			}
		})
	}
}

// TestClockSetBack: neither the deadline nor the order of times in a receipt
// depends on a clock that somebody sets.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	now := workflow.TimeOf(time.Now())
	back := func() workflow.Time { now = now.Add(-time.Hour); return now }
	s := play(t, sh("exit 0"))
	s.config.Now = back
	if r := s.run(); r.State != workflow.ReceiptValid || r.Ended < r.Started || r.Commands[0].Ended < r.Commands[0].Started {
		t.Errorf("%+v", r)
	}
	s = play(t, sh("exec sleep 600"))
	s.config.Now = back
	s.q.Deadline = now.Add(-time.Hour).Add(300 * time.Millisecond)
	if r := s.run(); r.Reason != "the time of the run was up" || r.Commands[0].State != verification.StateHung {
		t.Errorf("%s: %+v", r.Reason, r.Commands[0])
	}
}

func pidIn(t *testing.T, path string) int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for _, c := range strings.TrimSpace(string(raw)) {
		pid = pid*10 + int(c-'0')
	}
	return pid
}

// alive tells a process that runs from one that ended or waits to be reaped.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
