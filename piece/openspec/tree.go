package openspec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/workflow"
)

// Bounds of an OpenSpec folder that is copied.
const (
	maxTreeFiles = 20_000
	maxTreeBytes = 256 << 20
)

// States of a path: stateAbsent, stateDir, or a prefix and the hex SHA-256 of a
// file's bytes or of a link's text.
const (
	stateAbsent = ""
	stateDir    = "dir"
	prefixFile  = "file:"
	prefixExec  = "exec:"
	prefixLink  = "link:"
)

// entry is one path of a folder.
type entry struct {
	State string
	Perm  fs.FileMode
}

// tree is the content of an OpenSpec folder: slash-separated path → entry.
type tree map[string]entry

// read lists an OpenSpec folder with the digests of its files. Where to is not
// nil, it copies the folder there too. Links are judged in the repository only:
// what the command line makes of them in a copy is its own affair.
func (v *visit) read(from, to *os.Root) (tree, error) {
	all, size := tree{}, int64(0)
	err := fs.WalkDir(from.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		e, n, err := v.take(from, to, name)
		if err != nil {
			return err
		}
		all[name] = e
		if size += n; len(all) > maxTreeFiles || size > maxTreeBytes {
			return v.errorf(workflow.CodeArtifactLimit, "%s/ has more than %d files or %d MiB", folder, maxTreeFiles, maxTreeBytes>>20).
				WithHint("move what does not belong to OpenSpec out of it")
		}
		return nil
	})
	var coded *workflow.Error
	if err != nil && !errors.As(err, &coded) {
		return nil, v.errorf(workflow.CodeArtifactScope, "reading %s/ of repository %s: %w", folder, v.repo.ID, err)
	}
	return all, err
}

// take reads, and copies, one path.
func (v *visit) take(from, to *os.Root, name string) (entry, int64, error) {
	info, err := from.Lstat(name)
	if err != nil {
		return entry{}, 0, err
	}
	if !utf8.ValidString(name) {
		return entry{}, 0, v.errorf(workflow.CodeArtifactScope, "the name of %s/%q is not UTF-8", folder, name).WithHint("rename it")
	}
	e := entry{Perm: info.Mode().Perm()}
	switch mode := info.Mode(); {
	case mode.IsDir():
		e.State = stateDir
		if to != nil {
			err = to.Mkdir(name, e.Perm|0o700)
		}
		return e, 0, err
	case mode&fs.ModeSymlink != 0:
		text, err := v.link(from, name)
		if err == nil && to != nil {
			err = to.Symlink(text, name)
		}
		e.State = linkState(text)
		return e, int64(len(text)), err
	case mode.IsRegular():
		var into io.WriteCloser
		if to != nil {
			if into, err = to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, e.Perm|0o600); err != nil {
				return entry{}, 0, err
			}
		}
		e.State, err = digest(from, name, e.Perm, into)
		return e, info.Size(), err
	}
	return entry{}, 0, v.errorf(workflow.CodeArtifactScope, "%s/%s is a special file", folder, name).WithHint("remove it from the folder")
}

// link reads a link and refuses one that leads away from what is copied.
func (v *visit) link(from *os.Root, name string) (string, error) {
	text, err := from.Readlink(name)
	if err != nil {
		return "", err
	}
	refused := func(where string) error {
		return v.errorf(workflow.CodeArtifactScope, "the link %s/%s leads out of %s, to %s", folder, name, where, text).
			WithHint("put the file itself there")
	}
	if from.Name() != v.path(folder) {
		return text, nil
	}
	target := path.Join(folder, path.Dir(name), filepath.ToSlash(text)) // relative to the repository
	full := filepath.Join(from.Name(), filepath.FromSlash(name))
	if filepath.IsAbs(text) || !below(target, ".") || leaves(v.root, full) {
		return "", refused("the repository")
	}
	if v.matters(name) && (!below(target, folder) || leaves(from.Name(), full)) {
		return "", refused(folder + "/")
	}
	return text, nil
}

// leaves reports whether a link ends at something outside of a directory. A link
// to nothing does not.
func leaves(dir, link string) bool {
	real, err := filepath.EvalSymlinks(link)
	return err == nil && !inside(dir, real)
}

// matters reports whether the command line may read or write a path when it
// archives the change. Other changes, old archives and notes are only carried
// along.
func (v *visit) matters(name string) bool {
	parts := strings.Split(name, "/")
	switch {
	case len(parts) == 1:
		return path.Ext(name) != ".md"
	case parts[0] == "changes" && parts[1] == "archive":
		return len(parts) == 2
	case parts[0] == "changes":
		return parts[1] == v.change
	}
	return true
}

// below reports whether a clean slash-separated path is dir or lies in it.
func below(name, dir string) bool {
	if dir == "." {
		return name != ".." && !strings.HasPrefix(name, "../")
	}
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// inside is below for paths of the operating system, with the links of the
// directory resolved.
func inside(dir, name string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(dir, name)
	return err == nil && below(filepath.ToSlash(rel), ".")
}

// stateOf returns the state of a path as it is now.
func stateOf(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stateAbsent, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return stateDir, nil
	case info.Mode()&fs.ModeSymlink != 0:
		text, err := root.Readlink(name)
		return linkState(text), err
	case info.Mode().IsRegular():
		return digest(root, name, info.Mode().Perm(), nil)
	}
	return "special", nil
}

// digest returns the state of a file, and copies it to where into is not nil.
func digest(root *os.Root, name string, perm fs.FileMode, into io.WriteCloser) (string, error) {
	sum := sha256.New()
	f, err := root.Open(name)
	if err != nil {
		return "", errors.Join(err, closed(into))
	}
	defer f.Close() //nolint:errcheck // it was only read
	var w io.Writer = sum
	if into != nil {
		w = io.MultiWriter(sum, into)
	}
	_, err = io.Copy(w, f)
	prefix := prefixFile
	if perm&0o100 != 0 {
		prefix = prefixExec
	}
	return prefix + hex.EncodeToString(sum.Sum(nil)), errors.Join(err, closed(into))
}

func closed(c io.Closer) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

func linkState(text string) string {
	sum := sha256.Sum256([]byte(text))
	return prefixLink + hex.EncodeToString(sum[:])
}
