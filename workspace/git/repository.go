package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Version returns the version of the git program, such as "2.39.5". The error is
// ErrNoGit when there is none.
func Version(ctx context.Context) (string, error) {
	said, err := line(ctx, "", "version")
	if err != nil {
		return "", err
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(said, "git version "), " ")
	return version, nil
}

// Root returns the canonical top directory of the work tree that holds path. The
// error wraps ErrNoRepository when there is none, a bare repository included.
func Root(ctx context.Context, path string) (string, error) {
	return directory(ctx, path, "--show-toplevel")
}

// Common returns the canonical git common directory of path: the one that all
// work trees of a repository share. The error wraps ErrNoRepository when there is
// none.
func Common(ctx context.Context, path string) (string, error) {
	if found, ok, err := readCommon(path); ok || err != nil {
		return found, err
	}
	return directory(ctx, path, "--git-common-dir")
}

// readCommon finds the common directory by reading, which is quicker than to
// start git. ok is false where git has to be asked: in bare repositories, and
// when what it finds is not as usual.
func readCommon(path string) (found string, ok bool, err error) {
	dir, err := filepath.Abs(path)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", false, fmt.Errorf("looking for a repository: %w", err)
	}
	bare := false
	for at := dir; ; at = filepath.Dir(at) {
		if hasGit(at) {
			found, ok = commonOf(filepath.Join(at, ".git"))
			return found, ok, nil
		}
		bare = bare || isBare(at)
		if at != filepath.Dir(at) {
			continue
		}
		if bare {
			return "", false, nil
		}
		return "", false, fmt.Errorf("%s: %w", path, ErrNoRepository)
	}
}

// commonOf follows ".git", which is a directory or a file that names one, and
// the "commondir" of work trees.
func commonOf(dir string) (common string, ok bool) {
	if raw, err := os.ReadFile(dir); err == nil {
		to, named := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir:")
		if !named {
			return "", false
		}
		dir = within(filepath.Dir(dir), strings.TrimSpace(to))
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		dir = within(dir, strings.TrimSpace(string(raw)))
	}
	canonical, err := filepath.EvalSymlinks(dir)
	if err != nil || !exists(filepath.Join(canonical, "HEAD")) {
		return "", false
	}
	return canonical, true
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func directory(ctx context.Context, path, which string) (string, error) {
	above, err := marked(path)
	if err != nil {
		return "", err
	}
	if !above && which == "--show-toplevel" {
		return "", fmt.Errorf("%s: %w", path, ErrNoRepository)
	}
	found, err := line(ctx, path, "rev-parse", which)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(found) {
		found = filepath.Join(path, found)
	}
	canonical, err := filepath.EvalSymlinks(found)
	if err != nil {
		return "", fmt.Errorf("finding the git directory of %s: %w", path, err)
	}
	return filepath.Abs(canonical)
}

// marked reports whether path or a directory above it has an entry ".git". It
// answers without the git program.
func marked(path string) (bool, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false, fmt.Errorf("looking for a repository: %w", err)
	}
	for ; ; path = filepath.Dir(path) {
		if hasGit(path) {
			return true, nil
		}
		if path == filepath.Dir(path) {
			return false, nil
		}
	}
}

// isBare reports whether dir is a git directory itself.
func isBare(dir string) bool {
	return exists(filepath.Join(dir, "HEAD")) && exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
}

func hasGit(dir string) bool { return exists(filepath.Join(dir, ".git")) }

// listed reports whether git knows what lies in dir: it is in a work tree that
// does not ignore it as a whole.
func listed(ctx context.Context, dir string) (bool, error) {
	if hasGit(dir) {
		return true, nil
	}
	root, err := Root(ctx, dir)
	if errors.Is(err, ErrNoRepository) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	canonical, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, fmt.Errorf("finding the repository of %s: %w", dir, err)
	}
	rel, err := filepath.Rel(root, canonical)
	if err != nil || rel == "." {
		return err == nil, err
	}
	_, _, err = run(ctx, root, "", "check-ignore", "-q", "--", filepath.ToSlash(rel))
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true, nil
	}
	return false, err
}
