//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/tool"
)

func tempDir(t testing.TB) string {
	t.Helper()
	at, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newEnv(t testing.TB, root string) *Env {
	t.Helper()
	e, err := NewEnv(root)
	ok(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

func TestLinkBudget(t *testing.T) {
	t.Parallel()
	at := tempDir(t)
	ok(t, os.WriteFile(at+"/l0", nil, 0o600))
	for i := 1; i <= 41; i++ {
		ok(t, os.Symlink(fmt.Sprintf("l%d", i-1), fmt.Sprintf("%s/l%d", at, i)))
	}
	ok(t, os.Symlink("none", at+"/m0"))
	for i := 1; i <= 41; i++ {
		ok(t, os.Symlink(fmt.Sprintf("m%d", i-1), fmt.Sprintf("%s/m%d", at, i)))
	}
	e := newEnv(t, at)
	for name, want := range map[string]string{"l33": "l0", "l40": "l0", "l41": "", "m32": "none", "m39": "none", "m40": ""} {
		r, err := e.Resolve(t.Context(), permission.Query{Base: at, Spelled: name, Lexical: at + "/" + name})
		if want == "" {
			if !errors.Is(err, syscall.ELOOP) {
				t.Errorf("%s: %+v %v", name, r, err)
			}
			continue
		}
		if err != nil || r.Canonical != at+"/"+want || len(r.Hops) < 30 {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	at := tempDir(t)
	ok(t, os.WriteFile(at+"/f", nil, 0o600))
	ok(t, os.Symlink("loop", at+"/loop"))
	e := newEnv(t, at)
	for _, name := range []string{"f/x", "loop", "loop/x", "a\x00b", strings.Repeat("n", 256), strings.Repeat("n/", 3000)} {
		if r, err := e.Resolve(t.Context(), permission.Query{Base: at, Spelled: name, Lexical: filepath.Join(at, name)}); err == nil {
			t.Errorf("%.20q: %+v", name, r)
		}
	}
	for name, want := range map[string]string{"n\nl": "n\nl", "\xff\xfe": "\xff\xfe", "f/": "f", "a b": "a b", strings.Repeat("n", 255): strings.Repeat("n", 255), "x/../f": "f"} {
		r, err := e.Resolve(t.Context(), permission.Query{Base: at, Spelled: name, Lexical: filepath.Join(at, name)})
		if err != nil || r.Canonical != at+"/"+want {
			t.Errorf("%.20q: %+v %v", name, r, err)
		}
	}
	if r, err := e.Resolve(t.Context(), permission.Query{Spelled: "/proc/self/fd/1", Lexical: "/proc/self/fd/1"}); err == nil && !strings.HasPrefix(r.Canonical, "/") {
		t.Errorf("a descriptor is %+v", r)
	}
	gone, err := os.Create(at + "/gone")
	ok(t, err)
	defer gone.Close()
	ok(t, os.Remove(at+"/gone"))
	magic := fmt.Sprintf("/proc/self/fd/%d", gone.Fd())
	if r, err := e.Resolve(t.Context(), permission.Query{Spelled: magic, Lexical: magic}); err == nil {
		t.Errorf("a deleted file is at %+v", r)
	}
}

func TestFileSystemThatHangs(t *testing.T) {
	t.Parallel()
	at := tempDir(t)
	e := newEnv(t, "")
	e.timeout = time.Millisecond
	release := make(chan struct{})
	defer close(release)
	e.resolver = func(string, bool) (permission.Resolved, error) {
		<-release
		return permission.Resolved{}, nil
	}
	set := permission.Compile(t.Context(), []permission.Rule{
		{Effect: permission.Deny, Tool: "Read", Pattern: "//etc/**"},
		{Effect: permission.Allow, Tool: "Read", Pattern: "//**"},
	}, permission.Scope{Root: at}, nil)
	judge := permission.NewJudge(permission.Policy{Rules: set}, e)
	call := func(p string) permission.Verdict {
		target := &permission.Target{Slot: "p", Base: permission.BaseRoot, Absent: permission.AbsentNone, Op: permission.OpRead}
		return judge.Judge(t.Context(), &permission.Call{Tool: "read", Protective: target, Declared: target, Args: map[string]any{"p": p}, Bases: permission.Bases{Root: at}})
	}
	if v := call("/etc/x"); v.Effect != permission.Deny || v.Reading.Asked {
		t.Errorf("a denial waits: %+v", v)
	}
	for range waiting + 2 {
		if v := call("x"); v.Effect != permission.None || !v.Reading.Unread || v.Reading.Cause == nil {
			t.Fatalf("a path that hangs is %+v", v)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.timeout = time.Hour
	if _, err := e.Resolve(ctx, permission.Query{Spelled: "/x", Lexical: "/x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up gives %v", err)
	}
}

// TestFollowsAsTheSystem compares the walk by hand, the proof and the hops with
// what the kernel opens, on random trees of links.
func TestFollowsAsTheSystem(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d"}
	parts := append([]string{"..", ".", "none"}, names...)
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 5).Draw(t, "parts"), "/")
	})
	rapid.Check(t, func(rt *rapid.T) {
		at, err := os.MkdirTemp(tempRoot, "w")
		ok(t, err)
		defer os.RemoveAll(at)
		dirs := []string{at}
		for i := range rapid.IntRange(1, 8).Draw(rt, "entries") {
			p := filepath.Join(rapid.SampledFrom(dirs).Draw(rt, "dir"), rapid.SampledFrom(names).Draw(rt, "name"))
			switch rapid.IntRange(0, 3).Draw(rt, fmt.Sprint("kind", i)) {
			case 0:
				_ = os.WriteFile(p, nil, 0o600)
			case 1:
				if os.Mkdir(p, 0o700) == nil {
					dirs = append(dirs, p)
				}
			default:
				target := path.Draw(rt, "target")
				if rapid.Bool().Draw(rt, "absolute") {
					target = at + "/" + target
				}
				_ = os.Symlink(target, p)
			}
		}
		e, err := NewEnv(at)
		ok(t, err)
		defer e.Close()
		for range 4 {
			compareWithKernel(rt, e, at, path.Draw(rt, "spelled"))
		}
	})
}

var tempRoot = func() string {
	p, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return os.TempDir()
	}
	return p
}()

func compareWithKernel(t *rapid.T, e *Env, at, spelled string) {
	full := at + "/" + spelled
	r, err := e.Resolve(context.Background(), permission.Query{Base: at, Spelled: spelled, Lexical: filepath.Clean(full), Identity: true})
	if err == nil && (r.Exists != (r.Ino != 0)) {
		t.Fatalf("%s: %+v", spelled, r)
	}
	unproved := &Env{timeout: e.timeout, slots: e.slots, resolver: resolveFull}
	again, againErr := unproved.Resolve(context.Background(), permission.Query{Base: at, Spelled: spelled, Lexical: filepath.Clean(full), Identity: true})
	if !reflect.DeepEqual(r, again) || (err == nil) != (againErr == nil) {
		t.Fatalf("%s: with a proof it is %+v (%v), without %+v (%v)", spelled, r, err, again, againErr)
	}
	walked, walkErr := follow(full, readlink)
	fd, kernelErr := unix.Open(full, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch {
	case kernelErr == nil:
		want, perr := handlePath(fd)
		unix.Close(fd)
		if perr != nil || err != nil || r.Canonical != want || !r.Exists {
			t.Fatalf("%s: the kernel opens %s, the environment says %+v (%v)", spelled, want, r, err)
		}
		if walkErr != nil || walked.canonical != want {
			t.Fatalf("%s: the kernel opens %s, the walk says %+v (%v)", spelled, want, walked, walkErr)
		}
		_, linkErr := readlink(full)
		leaf := filepath.Base(full)
		if link := linkErr == nil && leaf != "." && leaf != ".."; link != (len(r.Hops) > 0) {
			t.Fatalf("%s: a link is there: %v, and the hops are %q", spelled, link, r.Hops)
		}
	case errors.Is(kernelErr, unix.ENOENT):
		// A name that is missing may be made later: making it must lead there.
		if err != nil && !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENOTDIR) {
			t.Fatalf("%s is missing and gives %v", spelled, err)
		}
		checkMissing(t, full, r, err)
	default:
		if err == nil {
			t.Fatalf("%s: the kernel says %v, the environment %+v", spelled, kernelErr, r)
		}
	}
}

// checkMissing makes the file that is missing and looks where it came to be.
func checkMissing(t *rapid.T, full string, r permission.Resolved, err error) {
	fd, createErr := unix.Open(full, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if createErr != nil {
		return
	}
	made, perr := handlePath(fd)
	unix.Close(fd)
	defer os.Remove(made)
	if perr != nil || err != nil || made != r.Canonical || r.Exists {
		t.Fatalf("%s was made at %s, the environment says %+v (%v)", full, made, r, err)
	}
}

func TestLeadNamesItsLinks(t *testing.T) {
	t.Parallel()
	at := tempDir(t)
	ok(t, os.MkdirAll(at+"/real/sub", 0o700))
	ok(t, os.Symlink("real", at+"/a"))
	ok(t, os.Symlink(at+"/a/sub", at+"/b"))
	lead, err := newEnv(t, "").Lead(t.Context(), at+"/b/none")
	if err != nil || lead.To != at+"/real/sub/none" || !slices.Equal(lead.Links, []string{at + "/b", at + "/a"}) {
		t.Errorf("%+v %v", lead, err)
	}
}

// TestSystemCalls counts what one judgment costs, in a process of its own under
// strace.
func TestSystemCalls(t *testing.T) {
	t.Parallel()
	if at := os.Getenv("TENON_TEST_CALLS"); at != "" {
		runCounted(t, at)
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	at := tempDir(t)
	ok(t, os.MkdirAll(at+"/proj/a/b/c/d/e", 0o700))
	ok(t, os.WriteFile(at+"/proj/a/b/c/d/e/f", nil, 0o600))
	ok(t, os.Symlink("a", at+"/proj/link"))
	cmd := exec.Command(strace, "-f", "-qq", "-e", "trace=file,desc", "-o", at+"/log", os.Args[0], "-test.run=^TestSystemCalls$", "-test.count=1")
	cmd.Env = append(os.Environ(), "TENON_TEST_CALLS="+at+"/proj")
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "Operation not permitted") {
			t.Skip("strace may not trace here")
		}
		t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.ReadFile(at + "/log")
	ok(t, err)
	counts := map[string]int{}
	part := ""
	mark := regexp.MustCompile(`"/mark/(\w+)"`)
	counted := regexp.MustCompile(`\b(openat2?|readlinkat|readlink|newfstatat|fstat|close|statx|open)\(`)
	for line := range strings.Lines(string(raw)) {
		if m := mark.FindStringSubmatch(line); m != nil {
			part = m[1]
		} else if counted.MatchString(line) {
			counts[part]++
		}
	}
	for part, most := range map[string]int{"plain": 2, "linked": 4, "missing": 4, "denied": 0} {
		// The first judgment finds out that the directory is linked.
		if counts[part] > most*rounds+1 {
			t.Errorf("%s: %d system calls in %d judgments, at most %d each", part, counts[part], rounds, most)
		}
	}
	t.Logf("system calls in %d judgments: %v", rounds, counts)
}

const rounds = 20

func runCounted(t *testing.T, root string) {
	judge, call := benchJudge(t, root, 200)
	for _, c := range []struct{ part, path string }{{"plain", "a/b/c/d/e/f"}, {"linked", "link/b/c/d/e/f"}, {"missing", "a/b/c/d/e/new"}, {"denied", "secret7/x"}, {"end", ""}} {
		_ = os.Chdir("/mark/" + c.part)
		for range rounds {
			if c.path != "" {
				call.Args["file_path"] = c.path
				judge.Judge(t.Context(), call)
			}
		}
	}
}

// benchJudge has n rules: names at any depth, globs, anchored paths, of each
// effect.
func benchJudge(t testing.TB, root string, n int) (*permission.Judge, *permission.Call) {
	t.Helper()
	env := newEnv(t, root)
	var rules []permission.Rule
	for i := range n {
		r := permission.Rule{Effect: permission.Deny, Tool: "Read", Source: permission.Source{Name: "bench", Line: i}}
		switch i % 5 {
		case 0:
			r.Pattern = fmt.Sprintf("secret%d/**", i+7)
		case 1:
			r.Pattern = fmt.Sprintf("*.key%d", i)
		case 2:
			r.Pattern = fmt.Sprintf("//etc/conf%d/**", i)
		case 3:
			r.Effect, r.Pattern = permission.Ask, fmt.Sprintf("pkg/**/gen%d_*.go", i)
		case 4:
			r.Effect, r.Pattern = permission.Allow, fmt.Sprintf("./vendor%d/**", i)
		}
		rules = append(rules, r)
	}
	rules = append(rules, permission.Rule{Effect: permission.Allow, Tool: "Read", Pattern: "./a/**"}, permission.Rule{Effect: permission.Deny, Tool: "Read", Pattern: "secret7/**"})
	set := permission.Compile(t.Context(), rules, permission.Scope{Root: root, Home: "/home/u"}, env)
	target := &permission.Target{Slot: "file_path", Base: permission.BaseCwd, Absent: permission.AbsentNone, Op: permission.OpRead}
	return permission.NewJudge(permission.Policy{Rules: set}, env),
		&permission.Call{Tool: "read", Protective: target, Declared: target, Args: map[string]any{}, Bases: permission.Bases{Root: root}}
}

// spent reports the processor time of an operation, which other work on the
// machine changes less than the time of the clock.
func spent(b *testing.B) func() {
	before := cpuTime()
	return func() { b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op") }
}

func cpuTime() int64 {
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return use.Utime.Nano() + use.Stime.Nano()
}

func BenchmarkJudge(b *testing.B) {
	at := tempDir(b)
	ok(b, os.MkdirAll(at+"/a/b/c/d/e", 0o700))
	ok(b, os.WriteFile(at+"/a/b/c/d/e/f", nil, 0o600))
	ok(b, os.Symlink("a", at+"/link"))
	judge, call := benchJudge(b, at, 200)
	for _, c := range []struct {
		name, path string
		want       permission.Effect
	}{{"plain", "a/b/c/d/e/f", permission.Allow}, {"linked", "link/b/c/d/e/f", permission.None}, {"missing", "a/b/c/d/e/new", permission.Allow}, {"denied", "secret7/x", permission.Deny}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			defer spent(b)()
			call.Args["file_path"] = c.path
			for b.Loop() {
				if v := judge.Judge(b.Context(), call); v.Effect != c.want {
					b.Fatal(v.Effect)
				}
			}
		})
	}
}

func BenchmarkFence(b *testing.B) {
	at := tempDir(b)
	ok(b, os.MkdirAll(at+"/a/b/c/d/e", 0o700))
	ok(b, os.WriteFile(at+"/a/b/c/d/e/f", nil, 0o600))
	f, _, err := Open(b.Context(), Config{Root: at, Home: "/home/u", Access: permission.AccessWrite})
	ok(b, err)
	defer f.Close()
	for _, op := range []tool.Op{tool.OpRead, tool.OpWrite} {
		r := tool.Request{
			Tool: map[tool.Op]string{tool.OpRead: "read", tool.OpWrite: "write"}[op], Args: &tool.Args{Values: map[string]any{"file_path": "a/b/c/d/e/f"}},
			Target: tool.Target{Slot: "file_path", Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: op},
		}
		b.Run(string(op), func(b *testing.B) {
			b.ReportAllocs()
			defer spent(b)()
			for b.Loop() {
				if _, err := f.Judge(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRules measures the rules alone, on a view in hand.
func BenchmarkRules(b *testing.B) {
	judge, _ := benchJudge(b, "/", 200)
	r := permission.Place(permission.Spelling{Kind: pathid.AtPath, Spelled: "/a/b/c/d/e/f", Family: pathid.Posix})
	r.Asked, r.Canonical = true, r.Lexical
	b.ReportAllocs()
	defer spent(b)()
	for b.Loop() {
		judge.JudgeReading(b.Context(), "read", permission.OpRead, r)
	}
}

// TestWithoutOpenat2 is about systems that lack the call or forbid it: the path
// of the handle is then all that tells what was opened. It does not run beside
// other tests.
func TestWithoutOpenat2(t *testing.T) {
	has := hasOpenat2
	hasOpenat2 = func() bool { return false }
	defer func() { hasOpenat2 = has }()
	at := tempDir(t)
	ok(t, os.MkdirAll(at+"/proj/d", 0o700))
	ok(t, os.MkdirAll(at+"/out", 0o700))
	ok(t, os.WriteFile(at+"/proj/d/f", []byte("in"), 0o600))
	ok(t, os.WriteFile(at+"/out/f", []byte("out"), 0o600))
	f, _, err := Open(t.Context(), Config{Root: at + "/proj", Access: permission.AccessWrite})
	ok(t, err)
	defer f.Close()
	place := func(op tool.Op) tool.Place {
		p, err := f.Judge(t.Context(), tool.Request{
			Tool: map[tool.Op]string{tool.OpRead: "read", tool.OpWrite: "write"}[op], Args: &tool.Args{Values: map[string]any{"p": "d/f"}},
			Target: tool.Target{Slot: "p", Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: op},
		})
		ok(t, err)
		p.Identity = tool.Identity{} // as of an entry of a walk
		return p
	}
	read, write := place(tool.OpRead), place(tool.OpWrite)
	h, err := f.Open(t.Context(), read)
	ok(t, err)
	ok(t, h.Close())
	ok(t, os.Rename(at+"/proj/d", at+"/proj/old"))
	ok(t, os.Symlink(at+"/out", at+"/proj/d"))
	var failed *tool.Failed
	if _, err := f.Open(t.Context(), read); !errors.As(err, &failed) {
		t.Errorf("opening gave %v", err)
	}
	if _, err := f.Write(t.Context(), write, tool.Draft{Content: []byte("x")}); !errors.As(err, &failed) {
		t.Errorf("writing gave %v", err)
	}
	if got, err := os.ReadFile(at + "/out/f"); string(got) != "out" || err != nil {
		t.Errorf("outside is %q (%v)", got, err)
	}
}

func TestAllocations(t *testing.T) {
	at := tempDir(t)
	ok(t, os.MkdirAll(at+"/a/b/c/d/e", 0o700))
	ok(t, os.WriteFile(at+"/a/b/c/d/e/f", nil, 0o600))
	judge, call := benchJudge(t, at, 200)
	call.Args["file_path"] = "a/b/c/d/e/f"
	if n := testing.AllocsPerRun(200, func() { judge.Judge(t.Context(), call) }); n > 4 {
		t.Errorf("a judgment makes %v allocations, at most 4", n)
	}
}
