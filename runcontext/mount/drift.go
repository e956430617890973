package mount

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/workflow"
)

// maxRendered bounds the rendered files that are read back.
const maxRendered = 64 << 20

// Check compares the workspace at dir with the context that it was made from, by
// the digest of that. It tells every read-only file that is changed, gone or new,
// by path; what tools may write is not looked at. An error means that the workspace
// cannot be read at all.
func Check(ctx context.Context, dir, contextHash string) ([]runcontext.Drift, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeMountFailed, "checking workspace %s: %w", dir, err).WithHint("make it anew")
	}
	defer root.Close() //nolint:errcheck // only read
	raw, _ := readFile(root, planFile)
	var made stamp
	if err := json.Unmarshal(raw, &made); err != nil {
		return []runcontext.Drift{{Path: planFile, Was: "the plan", Is: ""}}, nil //nolint:nilerr // that is the drift
	}
	c := checker{root: root, copier: copier{hash: sha256.New(), buffer: make([]byte, 128<<10), limit: 1 << 62}}
	agents := c.rendered(runcontext.AgentsFile, made.AgentsMD)
	text := c.rendered(runcontext.ContextFile, made.Context)
	hash, err := runcontext.ContextHash(string(agents), text, made.Plan)
	if len(c.drifts) == 0 && (err != nil || hash != contextHash) {
		c.tell(planFile, strings.TrimPrefix(contextHash, "sha256:"), strings.TrimPrefix(hash, "sha256:"))
	}
	for _, e := range made.Plan.Entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.entry(e)
	}
	c.strangers(made.Plan)
	slices.SortFunc(c.drifts, func(a, b runcontext.Drift) int { return strings.Compare(a.Path, b.Path) })
	return c.drifts, nil
}

type checker struct {
	copier
	root   *os.Root
	drifts []runcontext.Drift
}

func (c *checker) tell(name, was, is string) {
	c.drifts = append(c.drifts, runcontext.Drift{Path: name, Was: was, Is: is})
}

func readFile(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRendered {
		return nil, fmt.Errorf("%s is not what was rendered", name)
	}
	return root.ReadFile(name)
}

// rendered compares a rendered file and returns it.
func (c *checker) rendered(name, want string) []byte {
	raw, err := readFile(c.root, name)
	if err != nil {
		c.tell(name, want, "")
		return nil
	}
	if got := canon.Sum(raw); got != want {
		c.tell(name, want, got)
	}
	return raw
}

// entry compares one entry that tools may not write, and the kind of every other.
func (c *checker) entry(e runcontext.Entry) {
	info, err := c.root.Lstat(e.Path)
	switch {
	case e.IsLink():
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			c.tell(e.Path, "a link", "")
		}
	case e.IsDir():
		if err != nil || !info.IsDir() {
			c.tell(e.Path, "a directory", "")
		}
	case e.Mode == runcontext.ReadWrite:
	case err != nil || !info.Mode().IsRegular():
		c.tell(e.Path, e.SHA256, "")
	default:
		if got := c.sum(e.Path); got != e.SHA256 {
			c.tell(e.Path, e.SHA256, got)
		}
	}
}

// sum is the digest of a file, or "" when it cannot be read.
func (c *checker) sum(name string) string {
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	sum, _, err := c.copy("", f, 0)
	if err != nil {
		return ""
	}
	return sum
}

// strangers tells files that are in read-only directories and not in the plan.
func (c *checker) strangers(p runcontext.Plan) {
	known := map[string]bool{".": true, runcontext.AgentsFile: true, runcontext.ContextFile: true, planFile: true}
	for _, dir := range directories(p) {
		known[dir] = true
	}
	for _, e := range p.Entries {
		known[e.Path] = true
	}
	_ = fs.WalkDir(c.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what is missing is told by its entry
		}
		if d.IsDir() && name != "." && writable(p, name) {
			return fs.SkipDir
		}
		if known[name] || writable(p, path.Dir(name)) {
			return nil
		}
		if d.IsDir() {
			c.tell(name, "", "a directory")
			return fs.SkipDir
		}
		is := d.Type().String()
		if d.Type().IsRegular() {
			is = c.sum(filepath.ToSlash(name))
		}
		c.tell(name, "", is)
		return nil
	})
}
