//go:build unix

package harvest_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tenonrun/tenon/deliverable"
	"github.com/tenonrun/tenon/deliverable/harvest"
)

// place is a workspace with one repository.
type place struct {
	t    *testing.T
	root string
	harvest.Workspace
}

func newPlace(t *testing.T) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{t, root, harvest.Workspace{Dir: filepath.Join(root, "ws"), Repos: map[string]string{"app": filepath.Join(root, "app")}}}
	for _, dir := range []string{"ws/deliverables", "app", "outside"} {
		p.must(os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	p.write("outside/secret.json", `{"entity":"stolen","balanced":true}`)
	return p
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) path(name string) string { return filepath.Join(p.root, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	p.must(os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	p.must(os.WriteFile(p.path(name), []byte(text), 0o644))
}

func (p *place) take(spec *deliverable.Spec, limits harvest.Limits) deliverable.Harvest {
	p.t.Helper()
	h, err := harvest.Take(p.t.Context(), p.Workspace, spec, limits)
	p.must(err)
	return h
}

func closeReport(t *testing.T) *deliverable.Spec {
	t.Helper()
	data, err := os.ReadFile("testdata/close-report.json")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data))
}

func parse(t *testing.T, text string) *deliverable.Spec {
	t.Helper()
	s, err := deliverable.Load("spec.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const anything = "{slug: c, kind: custom, outputContract: {mode: workspace-files}}"

func faults(v deliverable.Verdict) string {
	var out []string
	for _, f := range v.Faults {
		at := f.Path
		if f.Pointer != "" {
			at += "#" + f.Pointer
		}
		out = append(out, strings.TrimSpace(string(f.Reason)+" "+at))
	}
	return strings.Join(out, "\n")
}

// The months end as the contract says: what is on disk after each turn, and what
// follows.
func TestMonthEnd(t *testing.T) {
	t.Parallel()
	const right = `{"entity":"IT01","balanced":true}`
	file := func(name, text string) func(*place) { return func(p *place) { p.write(name, text) } }
	nothing := func(*place) {}
	for name, c := range map[string]struct {
		turns []func(*place)
		want  []string // faults and action of each harvest
	}{
		"right":       {[]func(*place){file("ws/deliverables/close.json", right)}, []string{": accept"}},
		"no file":     {[]func(*place){nothing, file("ws/deliverables/close.json", right)}, []string{"MISSING_FILE close.json: correct", ": accept"}},
		"wrong twice": {[]func(*place){file("ws/deliverables/close.json", `{"entity":"IT01","balanced":"yes"}`), nothing}, []string{"SCHEMA_VIOLATION close.json#/balanced: correct", "SCHEMA_VIOLATION close.json#/balanced: fail"}},
		"words":       {[]func(*place){file("ws/deliverables/close.json", "# Report\n"), file("ws/deliverables/close.json", right)}, []string{"MALFORMED_JSON close.json: correct", ": accept"}},
		"wrong slot":  {[]func(*place){file("app/close.json", right), file("ws/deliverables/close.json", right)}, []string{"WRONG_TARGET_SLOT close.json: correct", ": accept"}},
		"the machine": {
			[]func(*place){
				func(p *place) { p.must(os.Rename(p.path("ws"), p.path("away"))) },
				func(p *place) {
					p.must(os.Rename(p.path("away"), p.path("ws")))
					p.write("ws/deliverables/close.json", right)
				},
			},
			[]string{"HARVEST_ERROR: retry-harvest", ": accept"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, spec := newPlace(t), closeReport(t)
			p.write("ws/deliverables/manifest.json", `{"deliverables":[{"path":"close.json","kind":"report"}]}`)
			var state deliverable.State
			for i, turn := range c.turns {
				turn(p)
				v := spec.Judge(p.take(spec, harvest.Limits{}))
				step := spec.Next(state, "", v)
				state = step.State
				if got := faults(v) + ": " + string(step.Action); got != c.want[i] {
					t.Errorf("harvest %d: %s, want %s: %v", i+1, got, c.want[i], v.Faults)
				}
				if step.Action == deliverable.Accept && (v.Content.Files[0].Kind != "report" || v.Content.Files[0].Size != int64(len(right)) || len(v.Content.Files[0].Digest) != 64) {
					t.Errorf("delivered %+v", v.Content)
				}
			}
		})
	}
}

// Nothing outside of the slot is taken, whatever leads there.
func TestContainment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lay  func(*place)
		want deliverable.Reason
	}{
		"link out": {func(p *place) { p.must(os.Symlink("../../outside/secret.json", p.path("ws/deliverables/close.json"))) }, deliverable.WrongTargetSlot},
		"absolute link": {func(p *place) {
			p.must(os.Symlink(p.path("outside/secret.json"), p.path("ws/deliverables/close.json")))
		}, deliverable.WrongTargetSlot},
		"link into the space": {func(p *place) {
			p.write("ws/other.json", `{}`)
			p.must(os.Symlink("../other.json", p.path("ws/deliverables/close.json")))
		}, deliverable.WrongTargetSlot},
		"link to nothing":  {func(p *place) { p.must(os.Symlink("gone", p.path("ws/deliverables/close.json"))) }, deliverable.MissingFile},
		"link in a circle": {func(p *place) { p.must(os.Symlink("close.json", p.path("ws/deliverables/close.json"))) }, deliverable.WrongTargetSlot},
		"the slot is a link": {func(p *place) {
			p.must(os.Remove(p.path("ws/deliverables")))
			p.must(os.Symlink("../outside", p.path("ws/deliverables")))
		}, deliverable.WrongTargetSlot},
		"the slot is a file": {func(p *place) { p.must(os.Remove(p.path("ws/deliverables"))); p.write("ws/deliverables", "x") }, deliverable.WrongTargetSlot},
		"named pipe":         {func(p *place) { p.must(syscall.Mkfifo(p.path("ws/deliverables/close.json"), 0o644)) }, deliverable.MissingFile},
		"link to a named pipe": {func(p *place) {
			p.must(syscall.Mkfifo(p.path("ws/deliverables/x"), 0o644))
			p.must(os.Symlink("x", p.path("ws/deliverables/close.json")))
		}, deliverable.MissingFile},
		"directory":        {func(p *place) { p.must(os.Mkdir(p.path("ws/deliverables/close.json"), 0o755)) }, deliverable.MissingFile},
		"link to a device": {func(p *place) { p.must(os.Symlink("/dev/zero", p.path("ws/deliverables/close.json"))) }, deliverable.WrongTargetSlot},
		"a gigabyte": {func(p *place) {
			p.write("ws/deliverables/close.json", "")
			p.must(os.Truncate(p.path("ws/deliverables/close.json"), 1<<30))
		}, deliverable.MissingFile},
		"listed out of the way": {func(p *place) {
			p.write("ws/deliverables/close.json", `{"entity":"a","balanced":true}`)
			p.write("ws/deliverables/manifest.json", `{"deliverables":[{"path":"../../outside/secret.json"}]}`)
		}, deliverable.WrongTargetSlot},
		"listed as absolute": {func(p *place) {
			p.write("ws/deliverables/close.json", `{"entity":"a","balanced":true}`)
			p.write("ws/deliverables/manifest.json", `{"deliverables":[{"path":"/etc/passwd"}]}`)
		}, deliverable.WrongTargetSlot},
		"index is no JSON": {func(p *place) {
			p.write("ws/deliverables/close.json", `{"entity":"a","balanced":true}`)
			p.write("ws/deliverables/manifest.json", `close.json`)
		}, deliverable.MalformedJSON},
		"index is a pipe": {func(p *place) {
			p.write("ws/deliverables/close.json", `{"entity":"a","balanced":true}`)
			p.must(syscall.Mkfifo(p.path("ws/deliverables/manifest.json"), 0o644))
		}, deliverable.MissingFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, spec := newPlace(t), closeReport(t)
			c.lay(p)
			h := p.take(spec, harvest.Limits{})
			v := spec.Judge(h)
			if !slices.ContainsFunc(v.Faults, func(f deliverable.Fault) bool { return f.Reason == c.want }) || v.Mechanical() {
				t.Errorf("faults %v, want %s", v.Faults, c.want)
			}
			for _, f := range h.Files {
				if strings.Contains(string(f.Data), "stolen") {
					t.Errorf("%s was taken from outside", f.Path)
				}
			}
			for _, f := range v.Faults {
				if strings.Contains(f.String(), p.root) {
					t.Errorf("%s names a path of this machine", f)
				}
			}
		})
	}
}

func TestSocketIsNoFile(t *testing.T) {
	t.Parallel()
	p, spec := newPlace(t), parse(t, anything)
	t.Cleanup(func() { os.RemoveAll(filepath.Join(p.path("ws"), "deliverables")) }) //nolint:errcheck // of a temporary directory
	short, err := os.MkdirTemp("", "s")
	p.must(err)
	t.Cleanup(func() { os.RemoveAll(short) }) //nolint:errcheck // of a temporary directory
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	p.must(err)
	t.Cleanup(func() { l.Close() }) //nolint:errcheck // only a name
	p.must(os.Rename(filepath.Join(short, "s"), p.path("ws/deliverables/s")))
	if v := spec.Judge(p.take(spec, harvest.Limits{})); faults(v) != "MISSING_FILE s" || !strings.Contains(v.Faults[0].Message, "socket") {
		t.Errorf("faults %v", v.Faults)
	}
}

func TestLinkInsideOfTheSlot(t *testing.T) {
	t.Parallel()
	p, spec := newPlace(t), closeReport(t)
	p.write("ws/deliverables/v2/close.json", `{"entity":"IT01","balanced":true}`)
	p.must(os.Symlink("v2/close.json", p.path("ws/deliverables/close.json")))
	if v := spec.Judge(p.take(spec, harvest.Limits{})); !v.Accepted() {
		t.Errorf("faults %v", v.Faults)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p, spec := newPlace(t), parse(t, anything)
	for _, name := range []string{"a", "b", "c"} {
		p.write("ws/deliverables/"+name, "12345")
	}
	for name, c := range map[string]struct {
		limits harvest.Limits
		want   string
	}{
		"all fit":      {harvest.Limits{File: 5, Total: 15, Files: 3}, ""},
		"each too big": {harvest.Limits{File: 4}, "MISSING_FILE a\nMISSING_FILE b\nMISSING_FILE c"},
		"one too many": {harvest.Limits{Total: 14}, "MISSING_FILE c"},
		"too many":     {harvest.Limits{Files: 2}, "SCHEMA_VIOLATION"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := faults(spec.Judge(p.take(spec, c.limits))); got != c.want {
				t.Errorf("faults %q, want %q", got, c.want)
			}
		})
	}
}

func TestForest(t *testing.T) {
	t.Parallel()
	p, spec := newPlace(t), parse(t, anything)
	for i := range 25 {
		p.must(os.MkdirAll(p.path(fmt.Sprintf("ws/deliverables/%d/a/b", i)), 0o755))
	}
	p.write("ws/deliverables/z", "x")
	if got := faults(spec.Judge(p.take(spec, harvest.Limits{Files: 3}))); got != "SCHEMA_VIOLATION" {
		t.Errorf("faults %q", got)
	}
	if v := spec.Judge(p.take(spec, harvest.Limits{Files: 30})); !v.Accepted() {
		t.Errorf("faults %v", v.Faults)
	}
}

func TestCustom(t *testing.T) {
	t.Parallel()
	p, spec := newPlace(t), parse(t, anything)
	p.write("ws/deliverables/src/main.go", "package main")
	p.write("ws/deliverables/README.md", "")
	p.write("ws/scratch.txt", "not delivered")
	v := spec.Judge(p.take(spec, harvest.Limits{}))
	if !v.Accepted() || len(v.Content.Files) != 2 || v.Content.Files[1].Path != "src/main.go" {
		t.Errorf("delivered %+v, %v", v.Content.Files, v.Faults)
	}
	p.write("ws/deliverables/manifest.json", `{"deliverables":[{"path":"./deliverables/README.md","kind":"guide"},{"path":"README.md"},{"path":"manifest.json"}]}`)
	v = spec.Judge(p.take(spec, harvest.Limits{}))
	if !v.Accepted() || len(v.Content.Files) != 1 || v.Content.Files[0].Kind != "guide" {
		t.Errorf("listed %+v, %v", v.Content.Files, v.Faults)
	}
	if all := strings.Join(v.Warnings, "\n"); !strings.Contains(all, "src/main.go") || !strings.Contains(all, "twice") {
		t.Errorf("warnings %q", all)
	}
}

func TestRepository(t *testing.T) {
	t.Parallel()
	text := "{slug: r, kind: custom, outputContract: {mode: workspace-files, targetSlot: {kind: repos, repoSlug: NAME}, files: [{canonicalPath: docs/api.md}]}}"
	p := newPlace(t)
	spec := parse(t, strings.Replace(text, "NAME", "app", 1))
	p.write("ws/deliverables/docs/api.md", "x")
	if v := spec.Judge(p.take(spec, harvest.Limits{})); faults(v) != "WRONG_TARGET_SLOT docs/api.md" || !strings.Contains(v.Faults[0].Message, "repos/app/docs/api.md") {
		t.Errorf("faults %v", v.Faults)
	}
	p.write("app/docs/api.md", "x")
	if v := spec.Judge(p.take(spec, harvest.Limits{})); !v.Accepted() {
		t.Errorf("faults %v", v.Faults)
	}
	spec = parse(t, strings.Replace(text, "NAME", "other", 1))
	if v := spec.Judge(p.take(spec, harvest.Limits{})); !v.Mechanical() || !strings.Contains(v.Faults[0].Message, "it has: app") {
		t.Errorf("faults %v", v.Faults)
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	p, spec := newPlace(t), closeReport(t)
	p.write("ws/deliverables/close.json", "{}")
	p.must(os.Chmod(p.path("ws/deliverables/close.json"), 0))
	if v := spec.Judge(p.take(spec, harvest.Limits{})); faults(v) != "MISSING_FILE close.json" || !strings.Contains(v.Faults[0].Message, "permissions") {
		t.Errorf("faults %v", v.Faults)
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	p, spec := newPlace(t), closeReport(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := harvest.Take(ctx, p.Workspace, spec, harvest.Limits{}); err == nil {
		t.Error("a stopped harvest says nothing")
	}
}
