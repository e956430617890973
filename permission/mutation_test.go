package permission_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var mutations = flag.Bool("mutations", false, "break the fence in each way that TestMutations knows, and see that tests fail; a few minutes")

// mutation is one way to break the fence.
type mutation struct {
	name  string
	file  string // of the module
	old   string // text of the file, there once
	with  string
	tests string // package of the tests that must fail; empty for TestVectors
}

// breaks has the mistakes that programs of this sort were published with, first
// those that the vectors must find, then those that need a disk.
var breaks = []mutation{
	{name: "no hops", file: "permission/reading.go", old: "r.Hops = append(r.Hops, hop)", with: "_ = hop"},
	{name: "no canonical path", file: "permission/reading.go", old: "r.Canonical, r.Exists, r.Dev, r.Ino = got.Canonical,", with: "r.Canonical, r.Exists, r.Dev, r.Ino = r.Lexical,"},
	{name: "folded before links", file: "permission/reading.go", old: "q := Query{Base: r.Base, Spelled: r.Spelled,", with: "q := Query{Base: \"\", Spelled: r.Lexical,"},
	{name: "the working directory for all", file: "permission/target.go", old: "if which == BaseCwd && b.Cwd != \"\" {", with: "if b.Cwd != \"\" {"},
	{name: "no screen", file: "internal/pathid/screen.go", old: "if f != Win32 || s == \"\" {", with: "if true {"},
	{name: "beginnings in place of components", file: "permission/trie.go", old: "if to := n.names[name]; to != nil {\n\t\t\t\treached = enter(reached, to)\n\t\t\t}",
		with: "for key, to := range n.names {\n\t\t\t\tif len(name) >= len(key) && name[:len(key)] == key {\n\t\t\t\t\treached = enter(reached, to)\n\t\t\t\t}\n\t\t\t}"},
	{name: "an allow by one view", file: "permission/match.go", old: "ok = r.admits(path, reading.Family, f)", with: "_ = f"},
	{name: "an allow without all views", file: "permission/reading.go", old: "return r.Kind == pathid.AtPath && r.Canonical != \"\" && !r.Unread", with: "return r.Kind == pathid.AtPath && r.Canonical != \"\""},
	{name: "unreadable is nothing", file: "permission/judge.go", old: "pending = true", with: "pending = false"},
	{name: "allow before ask", file: "permission/judge.go", old: "for _, list := range [...]*table{&t.deny, &t.ask} {", with: "for _, list := range [...]*table{&t.deny} {"},
	{name: "no twins", file: "permission/lead.go", old: "if lead == nil {\n\t\t\tcontinue", with: "if true {\n\t\t\tcontinue"},
	{name: "allow twins by links of the tree", file: "permission/lead.go", old: "if l.inWritable(link) {", with: "if l.inWritable(link) && false {", tests: "./permission/disk"},
	{name: "no fold of case", file: "permission/judge.go", old: "q.folds = j.env.Folds(ctx, q.protective.Lexical)", with: "_ = ctx"},
	{name: "fewer links than the system follows", file: "permission/disk/walker.go", old: "const maxLinks = 40", with: "const maxLinks = 5", tests: "./permission/disk"},
	{name: "dangling links are missing names", file: "permission/disk/walker.go", old: "case err == nil && target == \"\":", with: "case err == nil && len(todo) == 0:\n\t\t\tcur, t.exists = at, false\n\t\tcase err == nil && target == \"\":", tests: "./permission/disk"},
	{name: "what is open is not compared", file: "permission/disk/open_linux.go", old: "if err != nil || p != canonical {", with: "if err != nil || p == \"\" {", tests: "./permission/disk"},
	{name: "another file in the same place is opened", file: "permission/disk/dir_posix.go", old: "|| want != (tool.Identity{}) && info.Identity != want {", with: "{", tests: "./permission/disk"},
	{name: "the directory of a write is not looked at again", file: "permission/disk/write.go", old: "if err := w.dir.verify(parent); err != nil {", with: "if false {\n\t\tvar err error", tests: "./permission/disk"},
	{name: "hard links are not asked about", file: "permission/disk/fence.go", old: "info.Links < 2 ||", with: "true ||", tests: "./permission/disk"},
	{name: "written through links", file: "permission/disk/fence.go", old: "if r.Linked {", with: "if false {", tests: "./permission/disk"},
	{name: "entries of a walk are not judged", file: "permission/disk/walk.go", old: "case v.Effect == permission.Deny:", with: "case false:", tests: "./permission/disk"},
	{name: "arguments before a rewrite are forgotten", file: "permission/disk/fence.go", old: "if r.Args != nil && r.Args.From != nil {", with: "if false {", tests: "./permission/disk"},
	{name: "paths of commands are not judged", file: "permission/disk/shell.go", old: "case v.Effect == permission.Deny:", with: "case false:", tests: "./permission/disk"},
	{name: "hidden text of commands is nothing", file: "permission/disk/shell.go", old: "case len(opaque) > 0 && !f.held(r):", with: "case false:", tests: "./permission/disk"},
	{name: "a child is as free as it says", file: "permission/judge.go", old: "append(append([]Policy(nil), j.policies...), child.policies...)", with: "child.policies", tests: "./permission/disk"},
	{name: "places of keys are open", file: "permission/defaults.go", old: "if view, path, ok := d.in(r, private, q.folds); ok {", with: "if view, path, ok := d.in(r, private, q.folds); ok && false {", tests: "./permission/disk"},
	{name: "names that a line makes lead nowhere", file: "tool/shell/line/line.go", old: "w.lead()", with: "", tests: "./permission/disk"},
	{name: "writes outside are only those that are written so", file: "permission/defaults.go", old: "case q.op == OpWrite && out:", with: "case q.op == OpWrite && out && view == Lexical:", tests: "./permission/disk"},
}

// TestMutations breaks the fence in many ways, one at a time, and holds that the
// tests find each of them.
func TestMutations(t *testing.T) {
	if !*mutations {
		t.Skip("it builds the tests many times: run it with -mutations")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"", "./permission/disk"} {
		if out, ok := (mutation{tests: pkg}).run(t, root, map[string]string{}); !ok {
			t.Fatalf("the tests of %q fail without any mutation:\n%s", pkg, out)
		}
	}
	for _, m := range breaks {
		t.Run(m.name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(root, m.file))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.old); n != 1 {
				t.Fatalf("the text to change is %d times in %s: mend the mutation", n, m.file)
			}
			changed := filepath.Join(t.TempDir(), "changed.go")
			if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.old, m.with, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			out, ok := m.run(t, root, map[string]string{filepath.Join(root, m.file): changed})
			switch failures := strings.Count(out, "--- FAIL: "); {
			case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
				t.Fatalf("it does not build: mend the mutation:\n%s", out)
			case ok:
				t.Error("no test fails")
			default:
				t.Logf("%d tests fail", failures)
			}
		})
	}
}

// run runs the tests with files replaced; ok says that they pass.
func (m mutation) run(t *testing.T, root string, replace map[string]string) (out string, ok bool) {
	t.Helper()
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-short", "-count=1", "-vet=off", "-timeout=120s", "-overlay=" + overlay}
	if m.tests == "" {
		args = append(args, "-run=^TestVectors$", "./permission")
	} else {
		args = append(args, "-skip=Race|Search|Reach|WalkOfMany|Hostile|Hangs", m.tests) // what takes long: the others are enough
	}
	args = append(args, "-rapid.nofailfile")
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err = cmd.Run()
	return both.String(), err == nil
}
