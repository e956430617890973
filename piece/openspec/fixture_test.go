package openspec_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/openspec"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/process"
	"github.com/tenonrun/tenon/workspace/workspacetest"
)

// documents of a change that is valid and adds a requirement to a spec that
// exists, and another to a new one.
var documents = map[string]string{
	"openspec/config.yaml":                "schema: spec-driven\n",
	"openspec/specs/lamp/spec.md":         "# lamp Specification\n\n## Purpose\nThe lamp gives the light that people need in order to read at night.\n\n## Requirements\n\n### Requirement: Light\nThe lamp SHALL shine.\n\n#### Scenario: On\n- **WHEN** it is on\n- **THEN** it shines\n",
	"openspec/changes/archive/.gitkeep":   "",
	"openspec/changes/dim-lamp/design.md": "A dimmer.\n",
	"openspec/changes/dim-lamp/proposal.md": "## Why\nPeople want to read at night without waking up everybody else in the room.\n\n" +
		"## What Changes\n- The lamp can be dimmed\n",
	"openspec/changes/dim-lamp/tasks.md":             "## 1. Work\n- [x] 1.1 Build it\n- [x] 1.2 Test it\n",
	"openspec/changes/dim-lamp/specs/lamp/spec.md":   delta("ADDED", "Dimming", "The lamp SHALL dim."),
	"openspec/changes/dim-lamp/specs/switch/spec.md": delta("ADDED", "Turning", "The switch SHALL turn."),
}

func delta(how, title, text string) string {
	return fmt.Sprintf("## %s Requirements\n\n### Requirement: %s\n%s\n\n#### Scenario: Used\n- **WHEN** it is used\n- **THEN** it works\n", how, title, text)
}

// repository writes the documents into a new directory; more overrides them, and
// a "" takes one away.
func repository(t testing.TB, more map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range []map[string]string{documents, more} {
		for name, content := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if content == "" && files[name] == "" && filepath.Base(name) != ".gitkeep" {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				continue
			}
			write(t, path, content)
		}
	}
	return dir
}

// tempDir is in memory where the system has such a place: these tests flush
// thousands of files.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tenon")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// node is a visit of a node over a repository.
type node struct {
	kind   string
	params string
	cfg    openspec.Config
	*piecetest.Context
}

// visit makes a node whose candidate is the content of the repository.
func visit(t testing.TB, dir, kind, params string, cfg openspec.Config) *node {
	t.Helper()
	if cfg.Redactor == nil {
		cfg.Redactor = text.NewRedactor(nil, "hunter2hunter2")
	}
	n := newNode(dir, kind, params, cfg)
	n.Desk = tempDir(t)
	return n
}

func newNode(dir, kind, params string, cfg openspec.Config) *node {
	return &node{kind: kind, params: params, cfg: cfg, Context: &piecetest.Context{
		Hash: func() (string, error) { return hash(dir) },
		F: piece.Frame{
			Run: "run1", Node: "n", Kind: kind, Level: 1, Params: json.RawMessage(params),
			Repositories: []workflow.RepositoryInfo{{ID: "app", Path: dir}},
		},
	}}
}

func (n *node) run(ctx context.Context) (workflow.Settled, error) {
	for _, p := range openspec.Pieces(n.cfg) {
		if p.Kind == n.kind {
			return p.Run(ctx, n.Context)
		}
	}
	return workflow.Settled{}, fmt.Errorf("there is no kind %s", n.kind)
}

// output returns the members of an output.
func output(t testing.TB, s workflow.Settled) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(s.Output.JSON, &out); err != nil {
		t.Fatalf("output %s: %v", s.Output.JSON, err)
	}
	return out
}

// list returns every path of a directory with its mode and content.
func list(t testing.TB, dir string) string {
	t.Helper()
	lines, err := lines(dir)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func lines(dir string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "%s %s", info.Mode(), filepath.ToSlash(rel))
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			fmt.Fprintf(&b, " -> %s\n", to)
			return err
		case info.IsDir():
			b.WriteString("\n")
			return nil
		}
		raw, err := os.ReadFile(path)
		fmt.Fprintf(&b, " %q\n", raw)
		return err
	})
	return b.String(), err
}

func hash(dir string) (string, error) {
	all, err := lines(dir)
	sum := sha256.Sum256([]byte(all))
	return workspace.CandidateFormat + hex.EncodeToString(sum[:]), err
}

// realRunner is a configuration with real processes.
func realRunner(command ...string) openspec.Config {
	return openspec.Config{Runner: process.New(process.Config{Grace: 100 * time.Millisecond}), Command: command}
}

// twin is an OpenSpec command line in memory: it archives by moving the change
// and writing two specs, and names the archive after a date that changes with
// every call.
func twin(days ...string) *workspacetest.Runner {
	return &workspacetest.Runner{Answer: func(c workspace.Command) (workspace.Exit, error) {
		if c.Argv[len(c.Argv)-1] == "--version" {
			return workspace.Exit{Stdout: []byte(openspec.Version + "\n")}, nil
		}
		if len(days) == 0 {
			return workspace.Exit{}, fmt.Errorf("the command line was called too often")
		}
		name := days[0] + "-dim-lamp"
		days = days[1:]
		root := filepath.Join(c.Dir, "openspec")
		for path, content := range map[string]string{"specs/lamp/spec.md": "lamp, dimmed\n", "specs/switch/spec.md": "switch\n"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
				return workspace.Exit{}, err
			}
			if err := os.WriteFile(filepath.Join(root, path), []byte(content), 0o644); err != nil {
				return workspace.Exit{}, err
			}
		}
		if err := os.Rename(filepath.Join(root, "changes/dim-lamp"), filepath.Join(root, "changes/archive", name)); err != nil {
			return workspace.Exit{}, err
		}
		return workspace.Exit{Stdout: fmt.Appendf(nil,
			`{"archive":{"change":"dim-lamp","archivedAs":%q,"specsUpdated":true,"totals":{"added":2}},"root":{"path":%q}}`, name, c.Dir)}, nil
	}}
}
