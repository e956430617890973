//go:build unix

package disk_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/tool"
)

// soon fails when something does not come back: it waits for another process.
func soon(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Fatalf("%s hangs", what)
	}
}

// usual are arguments of each tool that it takes.
var usual = map[string]map[string]any{
	"read": {"path": "a"}, "write": {"path": "n", "content": "x"}, "edit": {"path": "a", "old_string": "proj", "new_string": "x"},
	"grep": {"pattern": "x", "path": "."}, "glob": {"pattern": "*", "path": "."}, "ls": {"path": "."}, "bash": {"command": "true"},
}

// TestHostileArguments sends what no tool takes, to every tool: nothing is judged,
// nothing is done, and the model is told what to send.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a")
	a := w.agent()
	for name, args := range usual {
		encode := func(change func(m map[string]any)) string {
			m := map[string]any{}
			for k, v := range args {
				m[k] = v
			}
			change(m)
			raw, err := json.Marshal(m)
			must(t, err)
			return string(raw)
		}
		list := map[string]string{
			"an array": `["a"]`, "a number": `3`, "a boolean": `true`, "half an object": `{"path":`, "two objects": `{}{}`, "not UTF-8": "{\"path\":\"\xff\",\"command\":\"\xff\"}",
			"no text": "\x00\x01", "a huge text": `{"path":"` + strings.Repeat("a", 10<<20) + `"}`, "a deep one": strings.Repeat(`{"path":`, 200_000) + strings.Repeat("}", 200_000),
			"an unknown argument": encode(func(m map[string]any) { m["nobody"] = 1 }), "a key twice": `{"path":"a","path":"b","command":"true","pattern":"x"}`,
			"a huge array": `[` + strings.Repeat(`"a",`, 3_000_000) + `"a"]`,
		}
		for key := range args {
			for kind, v := range map[string]any{"an array": []any{"a"}, "an object": map[string]any{"a": 1}, "a boolean": true} {
				list[key+" as "+kind] = encode(func(m map[string]any) { m[key] = v })
			}
			if key != "path" || name == "read" || name == "write" || name == "edit" {
				list["no "+key] = encode(func(m map[string]any) { delete(m, key) })
				list["null for "+key] = encode(func(m map[string]any) { m[key] = nil })
			}
			switch key {
			case "path":
				list["a NUL in the path"] = encode(func(m map[string]any) { m[key] = "a\x00b" })
				list["a long path"] = encode(func(m map[string]any) { m[key] = strings.Repeat("x/", 2048) })
			case "command":
				list["a NUL in the command"] = encode(func(m map[string]any) { m[key] = "true\x00" })
				list["a long command"] = encode(func(m map[string]any) { m[key] = "true " + strings.Repeat("x", 1<<20) })
			}
		}
		for what, raw := range list {
			soon(t, name+" with "+what, func() {
				r, err := a.raw(name, raw)
				if outcome(err) != "bad" || r.Text != "" || len(tool.Explain(err)) > 4000 {
					t.Errorf("%s with %s: %q %.300v", name, what, r.Text, err)
				}
			})
		}
	}
	entries, err := os.ReadDir(w.path("proj"))
	must(t, err)
	if len(entries) != 1 || w.read("proj/a") != "proj/a" {
		t.Errorf("left behind: %v", entries)
	}
}

// TestHostileNames has names that no one types: all that is told about them is
// plain, valid text on one line each, and rules hold for them.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "out/x")
	names := []string{"new\nline", "back\\slash", "tab\t", "bell\a", "esc\x1b[31m", "quote\"", " space ", "-rf", "\xff\xfe", "a\xc3", "\u202egpj", "*", "[x]", "{a,b}", "~", "$HOME", "!x", "#x", "\u2028", strings.Repeat("n", 255)}
	for _, n := range names {
		must(t, os.WriteFile(w.path("proj/"+n), []byte("needle"), 0o600))
		must(t, os.MkdirAll(w.path("proj/d/"+n), 0o700))
		must(t, os.WriteFile(w.path("proj/d/"+n+"/f"), []byte("needle"), 0o600))
	}
	a := w.agent()
	for call, holds := range map[string]int{"ls": len(names) + 1, "glob pattern=** limit=2000": 2 * len(names), "grep pattern=needle mode=files": 2 * len(names)} {
		got, told := a.does(call)
		if text, _, _ := strings.Cut(told, "{\"path\""); got != "allow" || strings.Count(text, "\n") != holds-1 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\a\u202e\u2028") {
			t.Errorf("%s: %s, %d lines\n%q", call, got, strings.Count(text, "\n")+1, text)
		}
	}
	for _, n := range names {
		raw := func(name string, m map[string]any) (tool.Result, error) {
			args, err := json.Marshal(m)
			must(t, err)
			return a.raw(name, string(args))
		}
		if !utf8.ValidString(n) {
			continue // JSON has no way to spell it
		}
		if r, err := raw("read", map[string]any{"path": n}); err != nil || !strings.Contains(r.Text, "needle") {
			t.Errorf("reading %q: %v", n, err)
		}
		if _, err := raw("edit", map[string]any{"path": "d/" + n + "/f", "old_string": "needle", "new_string": "done"}); err != nil {
			t.Errorf("editing %q: %v", n, err)
		}
		if _, err := raw("write", map[string]any{"path": "made/" + n, "content": "x"}); err != nil || w.read("proj/made/"+n) != "x" {
			t.Errorf("writing %q: %v", n, err)
		}
		if r, err := raw("ls", map[string]any{"path": "d/" + n}); err != nil || !strings.HasPrefix(r.Text, "f  ") {
			t.Errorf("listing %q: %v %q", n, err, r.Text)
		}
		f := w.fence("deny Read(./" + permission.EscapePath(n) + ")")
		if _, err := w.judge(f, "read", n); outcome(err) != "deny" {
			t.Errorf("a rule for %q does not hold: %v", n, err)
		}
	}
	for call, want := range map[string]string{"read path=" + strings.Repeat("n", 256): "ask", "write path=" + strings.Repeat("n", 256) + " content=x": "ask", "write path=" + strings.Repeat("n", 250) + "/x content=x": "allow", "read path=" + strings.Repeat("d/", 2047): "ask", "bash cat 'new\nline' $'\\xff\\xfe' ./-rf": "allow", "bash cat ../out/$'\\xff'": "ask", "bash cat '../out/\nx'": "ask"} {
		if got, told := a.does(call); got != want {
			t.Errorf("%.60s is %s: %.300s", call, got, told)
		}
	}
}

// TestSpecialFiles calls every tool for what is no file: nothing waits for another
// process, nothing is opened that acts when it is opened.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a")
	must(t, syscall.Mkfifo(w.path("proj/pipe"), 0o600))
	for name, target := range map[string]string{"zero": "/dev/zero", "tty": "/dev/tty", "full": "/dev/full", "env": "/proc/self/environ", "mem": "/proc/self/mem", "fd": "/proc/self/fd/0", "root": "/proc/self/root", "cwd": "/proc/self/cwd", "topipe": "pipe", "stdin": "/dev/stdin"} {
		must(t, os.Symlink(target, w.path("proj/"+name)))
	}
	// The name of a socket is bounded by the system.
	short, err := os.MkdirTemp("", "s")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(short) })
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	must(t, os.Link(filepath.Join(short, "s"), w.path("proj/socket")))
	special := []string{"pipe", "topipe", "socket"}
	if os.Geteuid() == 0 && syscall.Mknod(w.path("proj/device"), syscall.S_IFCHR|0o666, 1<<8|5) == nil {
		special = append(special, "device")
	}
	free := w.agent("user allow Read", "user allow Edit(//**)", "user allow Edit(./**)", "user allow Bash")
	tight := w.agent()
	for _, name := range append(special, "zero", "tty", "full", "env", "mem", "fd", "stdin") {
		for _, call := range []string{"read path=" + name, "write path=" + name + " content=x overwrite=true", "edit path=" + name + " old_string=a new_string=b", "grep pattern=a path=" + name, "glob pattern=* path=" + name, "ls path=" + name} {
			for which, a := range map[string]*agent{"with all rights": free, "without rules": tight} {
				soon(t, call, func() {
					if got, told := a.does(call); got == "allow" || strings.Contains(told, "PATH=") {
						t.Errorf("%s %s is %s: %.200s", call, which, got, told)
					}
				})
			}
		}
	}
	for _, call := range []string{"read path=/proc/self/environ", "grep pattern=PATH path=/proc/self/environ", "grep pattern=PATH path=/proc/self", "read path=/proc/self/root" + w.path("proj/a"), "ls path=/proc/self/fd", "ls path=/dev", "read path=root/proc/self/environ", "write path=/proc/self/comm content=x overwrite=true", "write path=/dev/null content=x overwrite=true", "glob pattern=/proc/self/*"} {
		soon(t, call, func() {
			if got, told := free.does(call); got != "deny" && call != "read path=/proc/self/root"+w.path("proj/a") || strings.Contains(told, "PATH=") {
				t.Errorf("%s is %s: %.200s", call, got, told)
			}
			if got, _ := tight.does(call); got == "allow" && !strings.Contains(call, "root/tmp") {
				t.Errorf("%s is %s without rules", call, got)
			}
		})
	}
	soon(t, "a search", func() {
		for call, want := range map[string]string{"grep pattern=proj mode=files": "a", "glob pattern=*": "a", "ls": "pipe  (fifo)", "bash cat zero | head -c 3 | wc -c": "3"} {
			if got, told := free.does(call); got != "allow" || !strings.Contains(told, want) {
				t.Errorf("%s is %s: %s", call, got, told)
			}
		}
		for call, want := range map[string]string{"bash cat env": "ask", "bash cat /proc/self/environ": "ask", "bash cat < /proc/1/environ": "ask", "bash cat zero": "allow", "bash cat /proc/self/root/etc/passwd": "ask", "bash echo x > full": "deny"} {
			if got, told := tight.does(call); got != want && !(want == "allow" && got == "ask") {
				t.Errorf("%s is %s: %s", call, got, told)
			}
		}
	})
	soon(t, "a command that waits", func() {
		r, err := free.raw("bash", `{"command":"cat pipe","timeoutMs":300}`)
		if err != nil || !strings.Contains(string(r.Data), `"timedOut":true`) {
			t.Errorf("%v %s", err, r.Text)
		}
	})
}

// huge is the size of a file with nothing but holes.
const huge = 100 << 30

func TestHugeFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a")
	for name, head := range map[string]string{"zeros": "", "text": "first line\nsecond needle\n"} {
		must(t, os.WriteFile(w.path("proj/"+name), []byte(head), 0o600))
		if err := os.Truncate(w.path("proj/"+name), huge); err != nil {
			t.Skipf("this file system has no files of that size: %v", err)
		}
	}
	a := w.agent()
	for _, c := range []struct{ call, outcome, tells string }{
		{"read path=zeros", "failed", "100.0 GiB"}, {"read path=text", "failed", "100.0 GiB"},
		{"write path=zeros content=x overwrite=true", "failed", "100.0 GiB"}, {"write path=zeros content=x", "failed", "100.0 GiB"}, {"edit path=zeros old_string=a new_string=b", "failed", "100.0 GiB"}, {"edit path=text old_string=first new_string=b", "failed", "100.0 GiB"},
		{"grep pattern=needle path=text", "failed", "100.0 GiB"}, {"grep pattern=needle", "allow", "1 binary file matched"}, {"grep pattern=needle path=zeros", "failed", "100.0 GiB"},
		{"ls", "allow", "zeros  100.0 GiB"}, {"glob pattern=*", "allow", "zeros"}, {"bash stat -c %s zeros", "allow", "107374182400"}, {"bash head -c 10 text", "allow", "first line"},
		{"bash head -c 200000000 zeros", "allow", "200000000 bytes of output, not all shown"},
	} {
		soon(t, c.call, func() {
			got, told := a.does(c.call)
			if got != c.outcome || !strings.Contains(told, c.tells) || len(told) > 60<<10 {
				t.Errorf("%s is %s: %.300q", c.call, got, told)
			}
		})
	}
	if info, err := os.Stat(w.path("proj/zeros")); err != nil || info.Size() != huge {
		t.Errorf("the file is %v %v", info, err)
	}
}

var entries = flag.Int("entries", 210_000, "entries of the directory of TestHugeDirectory: more than what is sorted, listed for patterns, and looked at below a directory")

// TestHugeDirectory is made in memory: a million entries (-entries 1000000) take
// a minute on a disk, and there is no bound that needs more than the default.
func TestHugeDirectory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it makes very many files")
	}
	at, err := os.MkdirTemp("/dev/shm", "tenon-huge-")
	if err != nil {
		t.Skipf("there is no file system in memory here: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	w := &world{t: t, at: at}
	w.put("proj/many/", "home/")
	n := *entries
	if raceEnabled {
		n = min(n, 30_000) // there is one goroutine: nothing races
	}
	for i := range n {
		must(t, syscall.Mknod(fmt.Sprintf("%s/proj/many/%07d", at, i), syscall.S_IFREG|0o600, 0))
	}
	must(t, os.WriteFile(w.path("proj/many/0000007"), []byte("needle\n"), 0o600))
	a := w.agent("deny Read(many/0000005)")
	expanded := "ask" // the pattern stands for more than is listed
	if n <= 40_000 {
		expanded = "deny"
	}
	for _, c := range []struct{ call, outcome, tells string }{
		{"ls path=many", "allow", fmt.Sprintf("[the first 500 of %d entries by name", n-1)},
		{"ls path=many limit=3", "allow", "0000000  0 bytes\n0000001  0 bytes\n0000002  0 bytes\n"},
		{"glob pattern=many/*7", "allow", fmt.Sprintf("[the last changed 200 of %d files", n/10)},
		{"glob pattern=many/*0000005", "allow", "[no file matches]"},
		{"grep pattern=needle mode=files limit=3", "allow", ""},
		{"read path=many/0000007", "allow", "needle"}, {"read path=many/0000005", "deny", ""},
		{"edit path=many/0000007 old_string=needle new_string=thread", "allow", ""},
		{"write path=many/new content=x", "allow", ""},
		{"bash ls many | wc -l", "allow", fmt.Sprint(n + 1)},
		{"bash grep -r needle many", "deny", ""}, {"bash cat many/*5", expanded, ""},
	} {
		soon(t, c.call, func() {
			begin := time.Now()
			got, told := a.does(c.call)
			t.Logf("%-50s %s", c.call, time.Since(begin).Round(time.Millisecond))
			if got != c.outcome || !strings.Contains(told, c.tells) || len(told) > 60<<10 {
				t.Errorf("%s is %s: %.300q", c.call, got, told)
			}
		})
	}
	// Without a rule that is reached the directory is too big to be judged whole.
	if n > 200_000 {
		if got, told := w.agent().does("bash grep -r needle many"); got != "deny" || !strings.Contains(told, "too much to be judged") {
			t.Errorf("it is %s: %s", got, told)
		}
	}
}

// TestDeepTree hides a denied file deeper than a walk goes.
func TestDeepTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a")
	at := w.path("proj")
	for range 450 { // names of one letter: within the longest path
		at += "/d"
	}
	must(t, os.MkdirAll(at, 0o755))
	must(t, os.WriteFile(at+"/.env", []byte("proj/a needle"), 0o600))
	a := w.agent("deny Read(.env)")
	if got, told := a.does("bash grep -r needle ."); got != "deny" || !strings.Contains(told, "too much to be judged") {
		t.Errorf("it is %s: %s", got, told)
	}
	if got, told := a.does("grep pattern=proj/a"); got != "allow" || strings.Contains(told, "needle\n") || !strings.Contains(told, "1 directory too deep") {
		t.Errorf("it is %s: %s", got, told)
	}
	if got, told := a.does("read path=" + strings.Repeat("d/", 450) + ".env"); got != "deny" {
		t.Errorf("it is %s: %s", got, told)
	}
}

// TestManyCalls holds that nothing of a call stays behind.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a", "proj/l -> a")
	a := w.agent("deny Read(k)")
	for range 200 {
		for _, call := range []string{"read path=a", "read path=l", "read path=k", "read path=none", "write path=n content=x overwrite=true", "grep pattern=x", "nobody x=y", "ls path=a"} {
			_, err := a.run(call)
			var unknown *tool.Unknown
			if strings.HasPrefix(call, "nobody") && !errors.As(err, &unknown) {
				t.Fatal(err)
			}
		}
	}
	left, err := filepath.Glob(w.path("proj/.tenon-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
}
