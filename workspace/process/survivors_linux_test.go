package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/process"
)

// running reports whether pid is a process that is not a zombie.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

func pids(t *testing.T, output []byte) (list []int) {
	t.Helper()
	for _, word := range strings.Fields(string(output)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("output %q is not a list of process ids", output)
		}
		list = append(list, pid)
	}
	return list
}

// stubborn ignores TERM, prints its id and makes the file "up".
const stubborn = `sh -c 'trap "" TERM; echo $$; : >up; while :; do sleep 1; done'`

// isUp waits for a stubborn process in the same directory.
const isUp = "until [ -e up ]; do sleep 0.01; done; "

func TestCancelEndsWhatLeftTheGroup(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		line  string
		count int // ids in the output
	}{
		"own session":        {"setsid " + stubborn + " & wait", 1},
		"orphan":             {"(setsid " + stubborn + " &) ; sleep 60", 1},
		"no environment":     {"setsid env -i PATH=$PATH " + stubborn + " & wait", 1},
		"child without one":  {"setsid sh -c 'env -i PATH=$PATH sleep 61 & echo $!; wait' & wait", 1},
		"group without one":  {"env -i PATH=$PATH " + stubborn + " & wait", 1},
		"main has exited":    {"trap 'exit 0' TERM; setsid " + stubborn + " & wait", 1},
		"several, nested":    {"setsid sh -c 'setsid " + strings.ReplaceAll(stubborn, "'", `'\''`) + " & echo $$; wait' & wait", 2},
		"closed all streams": {"setsid sh -c 'trap \"\" TERM; echo $$; exec >&- 2>&- <&-; while :; do sleep 1; done' & wait", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var output []byte
			_, err := runner().Run(ctx, workspace.Command{Line: tc.line, Dir: t.TempDir(), OnOutput: func(_ workspace.Stream, p []byte) {
				if output = append(output, p...); bytes.Count(output, []byte("\n")) == tc.count {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, output %q", err, output)
			}
			for _, pid := range pids(t, output) {
				if running(pid) {
					t.Errorf("process %d outlived the command", pid)
				}
			}
		})
	}
}

func TestHeldPipe(t *testing.T) {
	t.Parallel()
	marker := "held-" + strconv.Itoa(os.Getpid())
	start := time.Now()
	exit := run(t, workspace.Command{Line: "setsid " + stubborn + " & " + isUp + "head -c 50000 /dev/zero | tr '\\000' x; exit 4", Marker: marker})
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("a background process held the run for %v", took)
	}
	first, rest, _ := strings.Cut(string(exit.Stdout), "\n")
	if exit.Code != 4 || !exit.PipeHeld || len(rest) != 50000 {
		t.Errorf("code %d, held %v, %d bytes", exit.Code, exit.PipeHeld, len(rest))
	}
	pid := pids(t, []byte(first))[0]
	if !running(pid) {
		t.Errorf("the background process was ended with its command")
	}
	if found, err := runner().Sweep(t.Context(), "another-run"); found != 0 || err != nil {
		t.Errorf("sweep of another run: %d, %v", found, err)
	}
	elsewhere := process.New(process.Config{Home: "/elsewhere"})
	if found, err := elsewhere.Sweep(t.Context(), marker); found != 0 || err != nil || !running(pid) {
		t.Errorf("sweep of a run with this id in another home: %d, %v; still running %v", found, err, running(pid))
	}
	found, err := runner().Sweep(t.Context(), marker)
	if err != nil || found == 0 || running(pid) {
		t.Errorf("sweep: %d, %v; still running %v", found, err, running(pid))
	}
}

func TestKillRest(t *testing.T) {
	t.Parallel()
	exit := run(t, workspace.Command{Line: "setsid " + stubborn + " & " + isUp + "exit 5", KillRest: true})
	if pid := pids(t, exit.Stdout)[0]; running(pid) {
		t.Errorf("process %d is left", pid)
	}
	if exit.Code != 5 || exit.TimedOut || exit.PipeHeld {
		t.Errorf("exit %+v", exit)
	}
}

// Two commands of one run share the marker; the end of one spares the other.
func TestLimitSparesTheSibling(t *testing.T) {
	t.Parallel()
	r, dir := runner(), t.TempDir()
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		<-started
		if _, err := r.Run(t.Context(), workspace.Command{Line: "sleep 60", Timeout: 50 * time.Millisecond, Marker: "shared"}); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	var once bool
	exit, err := r.Run(t.Context(), workspace.Command{
		Line: "echo on; until [ -e go ]; do sleep 0.02; done", Dir: dir, Marker: "shared",
		OnOutput: func(workspace.Stream, []byte) {
			if !once {
				once = true
				close(started)
			}
		},
	})
	<-ended
	if err != nil || !exit.OK() {
		t.Errorf("the sibling ended with %+v, %v", exit, err)
	}
}
