package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds every wait of a page.
const patience = 30 * time.Second

// process is a program that a page started beside itself.
type process struct {
	cmd      *exec.Cmd
	out, err buffer
	done     chan struct{}
	code     int
}

// buffer collects output while others read it.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARG…")
	}
	if of(ts).procs[args[0]] != nil {
		ts.Fatalf("%s runs already", args[0])
	}
	p := &process{cmd: exec.Command(args[1], args[2:]...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = ts.MkAbs("."), &p.out, &p.err
	p.cmd.Env = environ(ts)
	p.cmd.WaitDelay = time.Second
	ts.Check(p.cmd.Start())
	go func() {
		defer close(p.done)
		p.code = exitCode(p.cmd.Wait())
	}()
	of(ts).procs[args[0]] = p
}

// environ is the environment of the page, as far as tenon looks at it.
func environ(ts *testscript.TestScript) []string {
	names := []string{"PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "TENON_STATE", "TENON_USER", "GORACE", "GOCOVERDIR", "CI", "TENON_TRUST", "WORK"}
	for name := range secrets {
		names = append(names, name)
	}
	var out []string
	for _, name := range names {
		if v := ts.Getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

func proc(ts *testscript.TestScript, name string) *process {
	p := of(ts).procs[name]
	if p == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return p
}

func send(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: send NAME INT|TERM|KILL")
	}
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[args[1]]
	if !ok {
		ts.Fatalf("unknown signal %s", args[1])
	}
	ts.Check(proc(ts, args[0]).cmd.Process.Signal(sig))
}

func finish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: finish NAME [CODE]")
	}
	p := proc(ts, args[0])
	expect(ts, args[0], strings.Join(args[1:], ""))
	delete(of(ts).procs, args[0])
	put(ts, p.out.String(), p.err.String())
}

// expect waits for a process and looks at its code, unless any will do.
func expect(ts *testscript.TestScript, name, code string) {
	p := proc(ts, name)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.kill()
		ts.Fatalf("%s did not end\n%s\n%s", name, p.out.String(), p.err.String())
	}
	if leak := secretIn([]byte(p.out.String() + p.err.String())); leak != "" {
		ts.Fatalf("%s shows the secret %s", name, leak)
	}
	if code != "" && strconv.Itoa(p.code) != code {
		delete(of(ts).procs, name)
		ts.Logf("%s\n%s", p.out.String(), p.err.String())
		ts.Fatalf("%s ended with exit code %d, want %s", name, p.code, code)
	}
}

// race waits for two processes that want the same: one is told at once that the
// other has it and ends with the second code; then held answers of the model go,
// and the other ends with the first. The output of the loser is what is looked at.
func race(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: race NAME NAME CODE CODE")
	}
	winner, loser := args[0], args[1]
	select {
	case <-proc(ts, loser).done:
	case <-proc(ts, winner).done:
		winner, loser = loser, winner
	case <-time.After(patience):
		ts.Fatalf("neither ended")
	}
	expect(ts, loser, args[3])
	theModel(ts).release()
	expect(ts, winner, args[2])
	p := proc(ts, loser)
	put(ts, p.out.String(), p.err.String())
	delete(of(ts).procs, winner)
	delete(of(ts).procs, loser)
}

func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case !neg && len(args) == 3 && args[0] == "-calls":
		want, err := strconv.Atoi(args[2])
		ts.Check(err)
		re := pattern(ts, args[1])
		until(ts, func() bool { return theModel(ts).calls(re) >= want }, args)
	case !neg && len(args) == 2 && args[0] == "-file":
		until(ts, func() bool {
			info, err := os.Stat(ts.MkAbs(args[1]))
			return err == nil && info.Size() > 0
		}, args)
	case !neg && len(args) == 3 && args[0] == "-logs":
		p, re := proc(ts, args[1]), pattern(ts, args[2])
		until(ts, func() bool {
			run := drives.FindStringSubmatch(p.err.String())
			if run == nil {
				return false
			}
			cmd := exec.Command("tenon", "logs", run[1])
			cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
			out, err := cmd.Output()
			return err == nil && re.Match(out)
		}, args)
	case !neg && len(args) == 2:
		p, re := proc(ts, args[0]), pattern(ts, args[1])
		until(ts, func() bool { return re.MatchString(p.out.String() + p.err.String()) }, args)
	default:
		ts.Fatalf("usage: waitfor NAME PATTERN, waitfor -file FILE, waitfor -logs NAME PATTERN, or waitfor -calls PATTERN N")
	}
}

// drives finds in the progress of a process which run it drives.
var drives = regexp.MustCompile(`(?m)^run ([a-z0-9]+) (?:of|goes on)`)

// until looks again and again: what it waits for is in another process.
func until(ts *testscript.TestScript, holds func() bool, what []string) {
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("waited in vain for %q", what)
		}
	}
}
