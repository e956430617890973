//go:build unix

package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

func itoa(n int) string { return strconv.Itoa(n) }

// TestBadCommands: every bad command has a state and a reason.
func TestBadCommands(t *testing.T) {
	t.Parallel()
	never := sh("echo waiting; exec sleep 600")
	never.TimeoutMs = 300
	deaf := sh(`trap "" TERM; echo $$ > ../pid; while :; do sleep 0.2; done`)
	deaf.TimeoutMs = 500
	late := sh("exit 0")
	late.TimeoutMs = 7_200_001
	for name, tc := range map[string]struct {
		check  verification.Check
		idle   time.Duration
		state  string
		reason string
		absent bool
	}{
		"missing command":     {verification.Check{Command: "no-such-program-here"}, 0, verification.StateBroken, "command not found", true},
		"missing in a shell":  {line("no-such-program-here"), 0, verification.StateFailed, "exit code 127", true},
		"missing file":        {verification.Check{Command: "./none"}, 0, verification.StateBroken, "no such file", true},
		"not executable":      {verification.Check{Command: "./data"}, 0, verification.StateBroken, "not executable", false},
		"never ends":          {never, 0, verification.StateHung, "longer than 300ms", false},
		"silent":              {sh("exec sleep 600"), 300 * time.Millisecond, verification.StateHung, "silent for 300ms", false},
		"ignores TERM":        {deaf, 0, verification.StateHung, "longer than", false},
		"kills itself":        {sh("kill -SEGV $$"), 0, verification.StateHung, "SIGSEGV", false},
		"closes stdout early": {sh("exec >&- 2>&-; sleep 0.1; exit 3"), 0, verification.StateFailed, "exit code 3", false},
		"closes, then fine":   {sh("exec >&- 2>&-; sleep 0.1"), 0, verification.StatePassed, "", false},
		"not UTF-8":           {sh(`printf '\377\376\000ok'`), 0, verification.StatePassed, "", false},
		"timeout too long":    {late, 0, verification.StateBroken, "timeoutMs is 7200001", false},
		"NUL":                 {verification.Check{Command: "true", Args: []string{"a\x00b"}}, 0, verification.StateBroken, "NUL", false},
		"nothing":             {verification.Check{}, 0, verification.StateBroken, "exactly one", false},
		"does not parse":      {line("if"), 0, verification.StateBroken, "parsing the shell string", false},
		"cwd is missing":      {verification.Check{Command: "true", Cwd: "none"}, 0, verification.StateBroken, "none", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, tc.check)
			if err := os.WriteFile(filepath.Join(s.dir, "data"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			s.config.Idle = tc.idle
			r := s.run()
			e := r.Commands[0]
			if e.State != tc.state || !strings.Contains(e.Reason, tc.reason) || e.Absent != tc.absent || (r.State == workflow.ReceiptValid) != (tc.reason == "") || !utf8.ValidString(e.Output) {
				t.Errorf("%s: %q (absent %v), receipt %s: %q", e.State, e.Reason, e.Absent, r.State, r.Reason)
			}
			if name == "ignores TERM" && alive(pidIn(t, filepath.Join(s.dir, "..", "pid"))) {
				t.Error("it is still alive")
			}
		})
	}
}

// TestFlood: two gigabytes of output cost time, not memory, and their size is
// known. It is not parallel: it measures the heap.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 2 GB")
	}
	size := 2_000_000_000
	if raced {
		size /= 20 // slow to hash
	}
	s := play(t, sh(fmt.Sprintf("yes | head -c %d; echo THE END", size)))
	s.q.Progress = nil
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			case <-stop:
				peak <- most
				return
			}
		}
	}()
	r := s.run()
	close(stop)
	e := r.Commands[0]
	if most := <-peak; most > 256<<20 {
		t.Errorf("the heap grew to %d MiB", most>>20)
	}
	if r.State != workflow.ReceiptValid || e.StdoutBytes != int64(size)+8 || !e.Truncated || !strings.HasSuffix(e.Output, "THE END\n") || utf8.RuneCountInString(e.Output) > 32_000 {
		t.Errorf("%s: %d bytes, %d kept", r.Reason, e.StdoutBytes, len(e.Output))
	}
}

// TestTails: a noisy stream does not push the other out.
func TestTails(t *testing.T) {
	t.Parallel()
	s := play(t, sh("seq 1 100000; echo OUT; seq 1 100000 >&2; echo ERR >&2; exit 1"))
	e := s.run().Commands[0]
	if n := utf8.RuneCountInString(e.Output); n > 32_000 || n < 31_000 || !e.Truncated || !strings.Contains(e.Output, "OUT\n") || !strings.HasSuffix(e.Output, "ERR\n") {
		t.Errorf("%d characters", n)
	}
	s = play(t, sh("echo OUT; seq 1 100000 >&2; exit 1"))
	if e := s.run().Commands[0]; !strings.HasPrefix(e.Output, "OUT\n") || utf8.RuneCountInString(e.Output) > 32_000 {
		t.Errorf("%.20q", e.Output)
	}
	// Anchors are found beyond the end that is kept.
	s = play(t, sh("echo '--- FAIL: TestFar (0.00s)'; seq 1 20000; exit 1"))
	if e := s.run().Commands[0]; strings.Contains(e.Output, "TestFar") || !strings.Contains(e.Anchors, "TestFar") {
		t.Errorf("anchors %q", e.Anchors)
	}
}

func TestTypedChecks(t *testing.T) {
	t.Parallel()
	sum := "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" // of foo
	file := func(c verification.FileCheck) verification.Check { return verification.Check{File: &c} }
	object := func(path, schema string) verification.Check {
		return verification.Check{JSON: &verification.JSONCheck{Path: path, Schema: []byte(schema)}}
	}
	for name, tc := range map[string]struct {
		check verification.Check
		state string
	}{
		"exists":          {file(verification.FileCheck{Path: "foo", Exists: true}), verification.StatePassed},
		"directory":       {file(verification.FileCheck{Path: "dir", Exists: true}), verification.StatePassed},
		"missing":         {file(verification.FileCheck{Path: "none", Exists: true}), verification.StateFailed},
		"absent":          {file(verification.FileCheck{Path: "none", Absent: true}), verification.StatePassed},
		"not absent":      {file(verification.FileCheck{Path: "foo", Absent: true}), verification.StateFailed},
		"sum":             {file(verification.FileCheck{Path: "foo", SHA256: sum}), verification.StatePassed},
		"other sum":       {file(verification.FileCheck{Path: "data.json", SHA256: sum}), verification.StateFailed},
		"sum of a pipe":   {file(verification.FileCheck{Path: "pipe", SHA256: sum}), verification.StateFailed},
		"sum of a folder": {file(verification.FileCheck{Path: "dir", SHA256: sum}), verification.StateFailed},
		"json":            {object("data.json", `{"required":["a"]}`), verification.StatePassed},
		"json misses":     {object("data.json", `{"required":["b"]}`), verification.StateFailed},
		"no json":         {object("foo", `true`), verification.StateFailed},
		"json pipe":       {object("pipe", `true`), verification.StateFailed},
		"json missing":    {object("none", `true`), verification.StateFailed},
		"bad schema":      {object("data.json", `{"typ":1}`), verification.StateBroken},
		"large":           {object("large", `true`), verification.StateFailed},
		"no git":          {verification.Check{Clean: &verification.CleanCheck{}}, verification.StateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, tc.check)
			s.write("foo", "foo")
			s.write("data.json", `{"a":1}`)
			s.q.Candidate = nil // pipes cannot be hashed
			if err := syscall.Mkfifo(filepath.Join(s.dir, "pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(s.dir, "dir"), 0o700); err != nil {
				t.Fatal(err)
			}
			if name == "large" {
				s.write("large", "")
				if err := os.Truncate(filepath.Join(s.dir, "large"), 33<<20); err != nil {
					t.Fatal(err)
				}
			}
			e := s.run().Commands[0]
			if e.State != tc.state || (e.ExitCode == 0) != (tc.state == verification.StatePassed) || (e.Reason == "") != (tc.state == verification.StatePassed) {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	s := play(t, verification.Check{Clean: &verification.CleanCheck{}})
	s.q.Setup = []verification.Check{{Command: "git", Args: []string{"init", "-q"}}}
	r := s.run()
	if e := r.Commands[0]; e.State != verification.StateFailed || !strings.Contains(e.Reason, "not committed") || e.Output != "? file\n" {
		t.Errorf("%+v", e)
	}
	s.kept = nil
	s.q.Setup = []verification.Check{line("git add . && git -c user.name=a -c user.email=a@b commit -qm x")}
	if r = s.run(); r.Commands[0].State != verification.StatePassed {
		t.Errorf("%+v", r.Commands[0])
	}
}

// TestSecrets: nothing that is kept holds a known secret.
func TestSecrets(t *testing.T) {
	t.Parallel()
	c := sh("echo $TOKEN; echo hunter2hunter2 >&2; exit 1")
	c.Args = append(c.Args, "hunter2hunter2")
	c.Env = map[string]string{"TOKEN": "hunter2hunter2", "API_PASSWORD": "correct horse 1"}
	c.Stdin = "hunter2hunter2"
	s := play(t, c, line("echo hunter2hunter2"))
	r := s.run()
	all := string(r.Canonical()) + strings.Join(s.lines, "") + r.Summary()
	if strings.Contains(all, "hunter2") || strings.Contains(all, "correct horse") || !strings.Contains(all, "sha256:") {
		t.Errorf("a secret is kept: %s", all)
	}
}
