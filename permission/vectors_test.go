package permission_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/script/store/storetest"
)

var vectorsFile = flag.String("vectors", filepath.Join("testdata", "vectors", "paths.jsonl"), "the file of vectors that TestVectors runs")

// vector is one line of the file.
type vector struct {
	ID    string
	Group string
	Setup struct {
		Tree []struct{ Path, Kind, Target, Content string }
		Env  string
		// Canon and Leads are what a fake environment answers.
		Canon map[string]struct {
			Canonical *string
			Hops      []string
			Unread    bool
		}
		Leads      map[string]string
		Case       bool `json:"case_insensitive"`
		Norm       bool `json:"normalization_insensitive"`
		Home       string
		Additional []string
	}
	Family    *string
	Root, Cwd *string
	Tool      *struct {
		Name, Slot, Base, Absent string
		PatternParam             *string
		Face                     *bool
	}
	Args  map[string]any
	Rules []struct {
		Effect, Tool string
		Pattern      *string
		Anchor       string
	}
	Expect   map[string]any
	Scenario map[string]any
	Certain  bool

	line []byte // as it stands in the file
}

// runners say who runs the vectors of a group. A group that is not here is listed
// in the log as not run.
var runners = map[string]func(*testing.T, *vector){
	"place":               runPath,
	"absent-slot":         runPath,
	"symlink-chain":       runPath,
	"rule-direction":      runPath,
	"win-namespace":       runPath,
	"glob-split":          runSplit,
	"validate-coordinate": func(t *testing.T, v *vector) { runCheck(t, v, pathid.CheckCoordinate) },
	"validate-grant":      func(t *testing.T, v *vector) { runCheck(t, v, pathid.CheckGrant) },
	"args-rewrite":        runRewrite,

	"script-store-containment": runStore,
	"merge-args":               runStore,
	"normalize-string-arg":     runStore,
}

func runStore(t *testing.T, v *vector) { storetest.Run(t, v.line) }

func TestVectors(t *testing.T) {
	t.Parallel()
	f, err := os.Open(*vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran, left := map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		v.line = bytes.Clone(lines.Bytes())
		run := runners[v.Group]
		if run == nil {
			left[v.Group]++
			continue
		}
		ran[v.Group]++
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			run(t, &v)
		})
	}
	if err := lines.Err(); err != nil || len(ran) == 0 {
		t.Fatalf("no vectors in %s: %v", *vectorsFile, err)
	}
	for group, n := range ran {
		t.Logf("%-26s %3d run", group, n)
	}
	for group, n := range left {
		t.Logf("%-26s %3d NOT RUN: no runner", group, n)
	}
}

// stubEnv answers from a vector.
type stubEnv struct {
	v    *vector
	asks *int
}

var errStub = errors.New("this environment throws")

func (e stubEnv) Resolve(_ context.Context, q permission.Query) (permission.Resolved, error) {
	if e.asks != nil {
		*e.asks++
	}
	if e.v.Setup.Env == "error" {
		return permission.Resolved{}, errStub
	}
	got, ok := e.v.Setup.Canon[q.Lexical]
	if !ok {
		return permission.Resolved{Canonical: q.Lexical, Exists: true}, nil
	}
	if got.Canonical == nil {
		return permission.Resolved{}, errStub
	}
	return permission.Resolved{Canonical: *got.Canonical, Hops: got.Hops, HopsUnread: got.Unread, Exists: true}, nil
}

func (e stubEnv) Lead(_ context.Context, location string) (permission.Lead, error) {
	if e.v.Setup.Env == "error" {
		return permission.Lead{}, errStub
	}
	if to, ok := e.v.Setup.Leads[location]; ok {
		return permission.Lead{To: to}, nil
	}
	return permission.Lead{To: location}, nil
}

func (e stubEnv) Folds(context.Context, string) permission.Fold {
	return permission.Fold{Case: e.v.Setup.Case, Norm: e.v.Setup.Norm}
}

// world is a vector made ready: on the disk all its paths lie below at.
type world struct {
	v       *vector
	at      string
	env     permission.Env
	bases   permission.Bases
	judge   *permission.Judge
	rules   []permission.Rule
	scope   permission.Scope
	resolve int // questions put to a stub
}

func prepare(t *testing.T, v *vector) *world {
	t.Helper()
	w := &world{v: v}
	if v.Setup.Home == "" {
		v.Setup.Home = "/home/u"
	}
	if v.Setup.Env == "disk" {
		w.at = materialise(t, v)
	}
	w.bases = permission.Bases{Root: w.path(deref(v.Root)), Cwd: w.path(deref(v.Cwd))}
	switch v.Setup.Env {
	case "none":
		if v.Group == "args-rewrite" {
			w.env = stubEnv{v, &w.resolve}
		}
	case "disk":
		e, err := disk.NewEnv(existing(w.bases.Root))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		w.env = e
	default:
		w.env = stubEnv{v, &w.resolve}
	}
	w.scope = permission.Scope{Root: w.bases.Root, Home: w.path(v.Setup.Home), Family: pathid.ReadingFamily(w.bases.Root, w.bases.Cwd, "")}
	for _, dir := range append(v.Setup.Additional, deref(v.Cwd)) {
		if dir != "" {
			w.scope.Writable = append(w.scope.Writable, w.path(dir))
		}
	}
	for i, r := range v.Rules {
		effect := map[string]permission.Effect{"allow": permission.Allow, "ask": permission.Ask, "deny": permission.Deny}[r.Effect]
		rule := permission.Rule{Effect: effect, Tool: r.Tool, Anchor: w.path(r.Anchor), Whole: r.Pattern == nil, Source: permission.Source{Name: "vector", Line: i + 1}}
		if r.Pattern != nil {
			rule.Pattern = *r.Pattern
			if strings.HasPrefix(rule.Pattern, "//") && w.at != "" {
				rule.Pattern = "/" + w.at + rule.Pattern[1:]
			}
		}
		w.rules = append(w.rules, rule)
	}
	w.judge = permission.NewJudge(permission.Policy{Rules: permission.Compile(t.Context(), w.rules, w.scope, w.env)}, w.env)
	return w
}

// existing gives the nearest directory that exists, for a root that a tree lacks.
func existing(dir string) string {
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// path gives a placeholder path its place on the disk.
func (w *world) path(p string) string {
	if w.at != "" && strings.HasPrefix(p, "/") {
		if p == "/" {
			return w.at
		}
		return w.at + p
	}
	return p
}

// back is the reverse of path.
func (w *world) back(p string) string {
	if w.at == "" {
		return p
	}
	if p == w.at {
		return "/"
	}
	return strings.TrimPrefix(p, w.at)
}

func materialise(t *testing.T, v *vector) string {
	t.Helper()
	at, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"dir", "file", "symlink"} {
		for _, e := range v.Setup.Tree {
			p := at + e.Path
			switch {
			case e.Kind != kind:
			case kind == "dir":
				must(os.MkdirAll(p, 0o755))
			case kind == "file":
				must(os.MkdirAll(filepath.Dir(p), 0o755))
				must(os.WriteFile(p, []byte(e.Content), 0o600))
			default:
				must(os.MkdirAll(filepath.Dir(p), 0o755))
				target := e.Target
				if strings.HasPrefix(target, "/") {
					target = at + target
				}
				must(os.Symlink(target, p))
			}
		}
	}
	return at
}

func (w *world) target() *permission.Target {
	d := w.v.Tool
	t := &permission.Target{Slot: d.Slot, Base: permission.Base(d.Base), Absent: permission.Absent(d.Absent), Pattern: deref(d.PatternParam)}
	return t
}

// args gives arguments with paths on the disk.
func (w *world) args(in map[string]any) map[string]any {
	out := map[string]any{}
	for k, val := range in {
		if s, ok := val.(string); ok && (k == w.v.Tool.Slot || k == deref(w.v.Tool.PatternParam)) {
			val = w.path(s)
		}
		out[k] = val
	}
	return out
}

func (w *world) call(args map[string]any) *permission.Call {
	c := &permission.Call{Tool: w.v.Tool.Name, Protective: w.target(), Args: w.args(args), Bases: w.bases}
	if w.v.Tool.Face == nil || *w.v.Tool.Face {
		c.Declared = w.target()
	}
	return c
}

func runPath(t *testing.T, v *vector) {
	w := prepare(t, v)
	w.check(t, w.judge.Judge(t.Context(), w.call(v.Args)), w.call(v.Args))
}

// check compares a verdict and a reading with what a vector expects. The views are
// asked for apart, because a verdict that needs no views does not take them.
func (w *world) check(t *testing.T, got permission.Verdict, c *permission.Call) {
	t.Helper()
	leg := permission.NewLeg(permission.NewJudge(permission.Policy{Rules: always(t, w)}, w.env), w.bases)
	stamped := leg.Stamp(t.Context(), &permission.Request{Call: *c, Args: &permission.Args{Values: c.Args}})
	reading := stamped.Protective
	for key, want := range w.v.Expect {
		switch key {
		case "reading":
			equal(t, key, reading.Kind.String(), want)
		case "lexical":
			equal(t, key, w.back(reading.Lexical), want)
		case "canonical":
			if want == nil {
				want = ""
			}
			equal(t, key, w.back(reading.Canonical), want)
		case "hops":
			w.checkHops(t, &reading, want)
		case "unread":
			equal(t, key, reading.Unread, want)
		case "word":
			equal(t, key, string(reading.Word), want)
		case "verdict":
			equal(t, key, got.Effect.String(), want)
		default:
			t.Errorf("nothing checks %q", key)
		}
	}
	if lines := got.Explain(); len(lines) < 2 || got.Reason == "" {
		t.Errorf("the verdict explains nothing: %q", lines)
	}
	if got.Effect != permission.None && got.Rule == nil && got.Default == "" && reading.Kind != pathid.Unreadable {
		t.Errorf("the verdict %v names no rule", got.Effect)
	}
}

// always is a set with a rule about paths, so that a reading is taken.
func always(t *testing.T, w *world) *permission.Set {
	rule := permission.Rule{Effect: permission.Deny, Tool: w.v.Tool.Name, Pattern: "//nowhere"}
	whole := permission.Rule{Effect: permission.Deny, Tool: "Read", Pattern: "//nowhere"}
	return permission.Compile(t.Context(), []permission.Rule{rule, whole}, w.scope, nil)
}

func (w *world) checkHops(t *testing.T, r *permission.Reading, want any) {
	t.Helper()
	set := func(list []string) []string {
		var out []string
		for _, h := range list {
			if h != r.Lexical && h != r.Canonical {
				out = append(out, w.back(h))
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	var wanted []string
	for _, h := range want.([]any) {
		wanted = append(wanted, w.path(h.(string)))
	}
	equal(t, "hops", fmt.Sprint(set(r.Hops)), fmt.Sprint(set(wanted)))
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

func runSplit(t *testing.T, v *vector) {
	family := map[string]pathid.Family{"": pathid.None, "posix": pathid.Posix, "win32": pathid.Win32}[deref(v.Family)]
	pattern, ok := v.Args["pattern"].(string)
	if !ok {
		t.Fatal("the vector has no pattern")
	}
	s := pathid.SplitGlob(pattern, family)
	words := map[pathid.Kind]string{pathid.AtPath: "split", pathid.NoPath: "none", pathid.Refused: "refused"}
	for key, want := range v.Expect {
		switch key {
		case "reading":
			equal(t, key, words[s.Kind], want)
		case "baseDir":
			equal(t, key, s.Base, want)
		case "relativePattern":
			equal(t, key, s.Pattern, want)
		case "word":
			equal(t, key, string(s.Word), want)
		default:
			t.Errorf("nothing checks %q", key)
		}
	}
}

func runCheck(t *testing.T, v *vector, check func(string) error) {
	value, text := v.Args["value"].(string)
	valid := text && check(value) == nil
	equal(t, "valid", valid, v.Expect["valid"])
	if valid {
		equal(t, "value", value, v.Expect["value"])
	}
}
