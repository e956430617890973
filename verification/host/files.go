package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/verification"
)

// maxJSON bounds a file that a check reads into memory.
const maxJSON = 32 << 20

// stat opens the repository of a check and looks at a path in it, links followed
// as long as they stay inside. The path itself is not followed when its absence is
// asked for: a link that leads nowhere is there.
func (w *work) stat(c verification.Check, path string) (*os.Root, fs.FileInfo, error) {
	repo, err := repository(w.q.Repositories, c)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(repo.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("opening repository %s: %w", repo.ID, err)
	}
	look := root.Stat
	if c.File != nil && c.File.Absent {
		look = root.Lstat
	}
	info, err := look(filepath.FromSlash(path))
	if err != nil {
		_ = root.Close()
		return nil, nil, err
	}
	return root, info, nil
}

// file checks a file. Evidence without a command has exit code 0 when it passed.
func (w *work) file(c verification.Check, e *verification.Evidence) {
	root, info, err := w.stat(c, c.File.Path)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err != nil && !missing:
		e.State, e.Reason = verification.StateBroken, err.Error()
	case missing && c.File.Absent:
		e.State, e.ExitCode = verification.StatePassed, 0
	case missing:
		e.State, e.Reason = verification.StateFailed, c.File.Path+" does not exist"
	case c.File.Absent:
		e.State, e.Reason = verification.StateFailed, c.File.Path+" exists"
	case c.File.SHA256 != "":
		sum(root, info, c.File, e)
	default:
		e.State, e.ExitCode = verification.StatePassed, 0
	}
	if root != nil {
		_ = root.Close()
	}
}

func sum(root *os.Root, info fs.FileInfo, c *verification.FileCheck, e *verification.Evidence) {
	e.State = verification.StateFailed
	if !info.Mode().IsRegular() {
		e.Reason = c.Path + " is not a regular file"
		return
	}
	f, err := root.Open(filepath.FromSlash(c.Path))
	if err != nil {
		e.State, e.Reason = verification.StateBroken, err.Error()
		return
	}
	defer f.Close() //nolint:errcheck // only read
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		e.State, e.Reason = verification.StateBroken, err.Error()
		return
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != c.SHA256 {
		e.Reason = fmt.Sprintf("%s has the SHA-256 %s", c.Path, got)
		return
	}
	e.State, e.ExitCode = verification.StatePassed, 0
}

// json checks a JSON file against a schema.
func (w *work) json(c verification.Check, e *verification.Evidence) {
	e.State = verification.StateBroken
	shape, err := schema.Compile(c.JSON.Schema)
	if err != nil {
		e.Reason = err.Error()
		return
	}
	root, info, err := w.stat(c, c.JSON.Path)
	if errors.Is(err, fs.ErrNotExist) {
		e.State, e.Reason = verification.StateFailed, c.JSON.Path+" does not exist"
		return
	}
	if err != nil {
		e.Reason = err.Error()
		return
	}
	defer root.Close()
	switch {
	case !info.Mode().IsRegular():
		e.State, e.Reason = verification.StateFailed, c.JSON.Path+" is not a regular file"
		return
	case info.Size() > maxJSON:
		e.State, e.Reason = verification.StateFailed, fmt.Sprintf("%s has more than %d bytes", c.JSON.Path, maxJSON)
		return
	}
	raw, err := root.ReadFile(filepath.FromSlash(c.JSON.Path))
	if err != nil {
		e.Reason = err.Error()
		return
	}
	if problems := shape.Validate(raw); problems != nil {
		e.State, e.Reason = verification.StateFailed, c.JSON.Path+" does not fit its schema"
		e.Output, e.Truncated = combined(w.clean(problems.Error()), "")
		return
	}
	e.State, e.ExitCode = verification.StatePassed, 0
}
