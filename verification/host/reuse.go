package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// Limits of what a check may name as inputs when its result is reused.
const (
	maxInputs     = 10_000
	maxInputBytes = 256 << 20
)

// stored is a result in the cache.
type stored struct {
	Key      string                `json:"key"`
	Evidence verification.Evidence `json:"evidence"`
}

// reusing runs a command, or takes the result of an earlier run over the same
// inputs where the policy allows that.
func (w *work) reusing(ctx context.Context, c verification.Check, p verification.Policy, e *verification.Evidence) {
	if w.cfg.Cache == "" || p.Reuse != verification.ReuseSnapshot {
		w.command(ctx, c, p, e)
		return
	}
	key, err := w.snapshot(ctx, c, p)
	if err == nil {
		if old, ok := w.recall(key); ok {
			old.ID, old.Check, old.Reused = e.ID, e.Check, true
			*e = old
			return
		}
	} else {
		w.show(w.clean(c.Name() + ": not reused: " + err.Error() + "\n"))
	}
	w.command(ctx, c, p, e)
	if err != nil || e.State != verification.StatePassed || e.Suspect != "" {
		return
	}
	if now, err := w.snapshot(ctx, c, p); err == nil && now == key {
		w.remember(key, *e)
	}
}

func (w *work) entry(key string) string { return filepath.Join(w.cfg.Cache, key+".json") }

// recall returns the passing result of an earlier run.
func (w *work) recall(key string) (verification.Evidence, bool) {
	raw, err := os.ReadFile(w.entry(key))
	if err != nil {
		return verification.Evidence{}, false
	}
	var s stored
	err = json.Unmarshal(raw, &s)
	return s.Evidence, err == nil && s.Key == key && s.Evidence.State == verification.StatePassed && s.Evidence.Suspect == ""
}

// remember keeps a passing result. Where it cannot be kept, the check runs again.
func (w *work) remember(key string, e verification.Evidence) {
	raw, err := json.Marshal(stored{Key: key, Evidence: e})
	if err == nil {
		err = os.MkdirAll(w.cfg.Cache, 0o700)
	}
	if err != nil {
		return
	}
	tmp, err := os.CreateTemp(w.cfg.Cache, "new-*")
	if err != nil {
		return
	}
	_, err = tmp.Write(raw)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), w.entry(key))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
}

// snapshot is the digest of all that the result of a check may depend on.
func (w *work) snapshot(ctx context.Context, c verification.Check, p verification.Policy) (string, error) {
	id, err := c.Identity()
	if err != nil {
		return "", err
	}
	environment, err := w.environmentOf(ctx, c)
	if err != nil {
		return "", err
	}
	repo, err := repository(w.q.Repositories, c)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(repo.Path)
	if err != nil {
		return "", fmt.Errorf("opening repository %s: %w", repo.ID, err)
	}
	defer root.Close()
	s := survey{ctx: ctx, found: [][2]string{}}
	for _, input := range p.Inputs {
		if err := s.tree(root, path.Clean(filepath.ToSlash(input)), "repository:"); err != nil {
			return "", err
		}
	}
	for _, input := range p.ToolchainInputs {
		if err := s.toolchain(input); err != nil {
			return "", err
		}
	}
	return canon.Digest(struct {
		Check       workflow.Digest
		Repository  string
		Environment string
		Inputs      [][2]string
	}{id, repo.ID, environment, s.found})
}

// environmentOf asks for what a command with this place and these variables sees.
func (w *work) environmentOf(ctx context.Context, c verification.Check) (string, error) {
	cmd, _, err := w.prepare(c)
	if err != nil {
		return "", err
	}
	cmd.Argv, cmd.Line, cmd.OnOutput, cmd.Timeout = []string{"true"}, "", nil, 10*time.Second
	exit, err := w.cfg.Runner.Run(ctx, cmd)
	if err == nil && !exit.OK() {
		err = errors.New("true is not true here")
	}
	if err != nil {
		return "", fmt.Errorf("reading the environment: %w", err)
	}
	return exit.EnvDigest, nil
}

// survey lists files with their content.
type survey struct {
	ctx   context.Context
	found [][2]string // name, content
	bytes int64
}

// toolchain adds a path of the machine: links of the path itself are followed.
func (s *survey) toolchain(input string) error {
	real, err := filepath.EvalSymlinks(input)
	if err != nil {
		return fmt.Errorf("reading toolchain input %s: %w", input, err)
	}
	root, err := os.OpenRoot(filepath.Dir(real))
	if err != nil {
		return fmt.Errorf("reading toolchain input %s: %w", input, err)
	}
	defer root.Close()
	return s.tree(root, filepath.Base(real), input+":"+real+":")
}

// tree adds a file, or all files below a directory.
func (s *survey) tree(root *os.Root, name, prefix string) error {
	return fs.WalkDir(root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("reading input %s: %w", at, err)
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		case len(s.found) >= maxInputs:
			return fmt.Errorf("the inputs are more than %d files", maxInputs)
		}
		content, err := s.content(root, at, d.Type())
		if err != nil {
			return fmt.Errorf("reading input %s: %w", at, err)
		}
		s.found = append(s.found, [2]string{prefix + at, content})
		return nil
	})
}

func (s *survey) content(root *os.Root, at string, kind fs.FileMode) (string, error) {
	switch {
	case kind.IsDir():
		return "directory", nil
	case kind&fs.ModeSymlink != 0:
		if _, err := root.Stat(at); err != nil {
			return "", fmt.Errorf("a link that leads out or nowhere: %w", err)
		}
		target, err := root.Readlink(at)
		return "link:" + target, err
	case !kind.IsRegular():
		return "", errors.New("it is neither a file nor a directory nor a link")
	}
	f, err := root.Open(at)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if s.bytes += info.Size(); s.bytes > maxInputBytes {
		return "", fmt.Errorf("the inputs are more than %d bytes", maxInputBytes)
	}
	hash := sha256.New()
	_, err = io.Copy(hash, io.LimitReader(f, info.Size())) // what grows meanwhile changes the candidate
	return fmt.Sprintf("file:%t:%s", info.Mode()&0o111 != 0, hex.EncodeToString(hash.Sum(nil))), err
}
