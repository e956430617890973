package cli_test

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenonrun/tenon/artifact/view/chromiumtest"
	"github.com/tenonrun/tenon/cli"
	"github.com/tenonrun/tenon/piece/openspec/openspectest"
	"github.com/tenonrun/tenon/tool/shell/confine"
)

// Secrets that stand in the environment of every page. No command may show
// them, and no state may hold them.
var secrets = map[string]string{
	"MY_API_KEY":      "sk-test-9f2c41d07be853a6",
	"DEPLOY_PASSWORD": "correct-horse-battery-7",
	"FAKE_API_KEY":    "key-of-the-model-server-3",
}

func TestMain(m *testing.M) {
	confine.Main()
	// Pages mostly wait for processes of theirs; -parallel still overrides it.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err) // the flag is always there
	}
	testscript.Main(m, map[string]func(){
		"tenon": func() { os.Exit(cli.Main(os.Args[1:], cli.Standard())) },
	})
}

// TestScripts runs the pages of testdata/script: each is a project with the
// commands typed in it. Beside the commands of testscript there are:
//
//	exit CODE PROGRAM ARG…     run it and demand the exit code; no secret is shown
//	json PATH [VALUE]          standard output is one document that holds VALUE
//	json -set NAME PATH        keep a value in a variable
//	jsonl first|last|any PATH [VALUE]
//	asked [NODE…]              the run in standard output called models in this order
//	modelserver FILE           start a model server that answers from FILE
//	modelreply FILE            answer from FILE from now on
//	modelcalls [-said] PATTERN N  so many requests had a prompt, or a body, that matches
//	modelsaid PATTERN          some request's body matches
//	modelanswered PATTERN N    so many of them were answered and not refused
//	modelrelease               let answers go that are held back
//	modelgap STATUS DURATION   what was refused with STATUS came again, and no sooner
//	start NAME PROGRAM ARG…    run it beside
//	send NAME INT|TERM|KILL    signal what was started
//	finish NAME [CODE]         wait for it; any code when none is given
//	race NAME NAME CODE CODE   wait for both: one ends with each code
//	waitfor NAME PATTERN       until its output matches
//	waitfor -file FILE         until it is there and not empty
//	waitfor -logs NAME PATTERN  until the logs of the run that NAME drives match
//	waitfor -calls PATTERN N   until the model server has had so many requests
//	bytes FILE TEXT            write a file from a text with Go's escapes
//	fill FILE N                append N bytes to a file
//	damage RUN                 change an event of the run in the database
//	untouched                  the state directory holds nothing yet
//	[chromium]                 there is a Chromium
//	[openspec]                 the OpenSpec command line is there, in the directory $OPENSPEC
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no pages:", err)
	}
	state := t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir:      "testdata/script",
		Setup:    func(e *testscript.Env) error { return setup(e, state) },
		Deadline: time.Now().Add(10 * time.Minute),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exit, "json": query, "jsonl": queryLines, "asked": asked,
			"modelserver": modelServer, "modelreply": modelReply, "modelcalls": modelCalls, "modelsaid": modelSaid,
			"modelanswered": modelAnswered, "modelrelease": modelRelease, "modelgap": modelGap, "race": race,
			"start": start, "send": send, "finish": finish, "waitfor": waitFor,
			"bytes": writeBytes, "fill": fill, "damage": damage, "untouched": untouched,
		},
		Condition: condition, RequireExplicitExec: true, ContinueOnError: true,
	})
}

// condition tells what the machine has for a page.
func condition(name string) (bool, error) {
	find, required := openspectest.Find, openspectest.Required()
	switch name {
	case "openspec":
	case "confined":
		kind, _ := confine.Available()
		return kind != confine.None, nil
	case "chromium":
		find, required = chromiumtest.Find, chromiumtest.Required()
	default:
		return false, fmt.Errorf("there is no condition %s", name)
	}
	_, err := find()
	if required {
		return err == nil, err
	}
	return err == nil, nil
}

// pageKey finds the world of a page among the values of its environment.
type pageKey struct{}

// page is what a page has beside its files.
type page struct {
	state string
	model *model
	procs map[string]*process
}

func of(ts *testscript.TestScript) *page { return ts.Value(pageKey{}).(*page) }

func setup(e *testscript.Env, base string) error {
	dir, err := os.MkdirTemp(base, "")
	if err != nil {
		return err
	}
	p := &page{state: filepath.Join(dir, "state"), procs: map[string]*process{}}
	e.Values[pageKey{}] = p
	for k, v := range map[string]string{
		"HOME": filepath.Join(dir, "home"), "XDG_CONFIG_HOME": filepath.Join(dir, "home", ".config"),
		"XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "TENON_STATE": p.state, "STATE": p.state, "TENON_USER": "ada",
		"GORACE": "atexit_sleep_ms=0", "GOGC": "400", "GOCACHE": buildCache(), "GIT_CONFIG_NOSYSTEM": "1", "CI": "1",
	} {
		e.Setenv(k, v)
	}
	for k, v := range secrets {
		e.Setenv(k, v)
	}
	published, err := filepath.Abs("../workflow/load/testdata/definitions")
	if err != nil {
		return err
	}
	e.Setenv("PUBLISHED", published)
	if program, err := openspectest.Find(); err == nil {
		e.Setenv("OPENSPEC", filepath.Dir(program))
	}
	t := e.T()
	e.Defer(func() {
		p.stop()
		if found := leaks(p.state); found != "" {
			t.Log("a secret is in the state: " + found)
			t.FailNow()
		}
	})
	return nil
}

// buildCache is where the demo's tests find the compiled standard library.
func buildCache() string {
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "go-build")
}

// stop ends what the page left running.
func (p *page) stop() {
	for _, proc := range p.procs {
		proc.kill()
	}
	if p.model != nil {
		p.model.release()
		p.model.server.Close()
	}
}

// leaks returns the first file of a tree that holds a secret, or "".
func leaks(dir string) (found string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // a page without a state has none
		}
		raw, err := os.ReadFile(path)
		if name := secretIn(raw); err == nil && name != "" {
			found = name + " in " + path
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func secretIn(raw []byte) string {
	for name, value := range secrets {
		if bytes.Contains(raw, []byte(value)) {
			return name
		}
	}
	return ""
}

func exit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := exitCode(ts.Exec(args[1], args[2:]...))
	shownSecret(ts)
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func exitCode(err error) int {
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	return -1
}

func shownSecret(ts *testscript.TestScript) {
	for _, stream := range []string{"stdout", "stderr"} {
		if name := secretIn([]byte(ts.ReadFile(stream))); name != "" {
			ts.Fatalf("%s shows the secret %s", stream, name)
		}
	}
}

// pattern compiles an expression; its dots stay in a line.
func pattern(ts *testscript.TestScript, s string) *regexp.Regexp {
	re, err := regexp.Compile(s)
	ts.Check(err)
	return re
}

func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes FILE TEXT")
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	ts.Check(err)
	_, err = f.Write(bytes.Repeat([]byte("x"), n))
	ts.Check(errors.Join(err, f.Close()))
}

func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage RUN")
	}
	files, err := filepath.Glob(filepath.Join(of(ts).state, "projects", "*", "tenon.db"))
	if err != nil || len(files) != 1 {
		ts.Fatalf("databases: %q, %v", files, err)
	}
	db, err := sql.Open("sqlite", files[0])
	ts.Check(err)
	res, err := db.Exec("UPDATE log SET data = substr(data, 1, length(data) - 1) WHERE run = (SELECT key FROM runs WHERE run = ?) AND 3 BETWEEN first AND first + n - 1", args[0])
	ts.Check(errors.Join(err, db.Close()))
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		ts.Fatalf("%d events were changed: %v", n, err)
	}
}

func untouched(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: untouched")
	}
	var files []string
	_ = filepath.WalkDir(of(ts).state, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	if len(files) > 0 {
		ts.Fatalf("the state directory holds %q", files)
	}
}

// put gives a command of a page its standard output.
func put(ts *testscript.TestScript, out, errs string) {
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), errs)
}
