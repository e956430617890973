//go:build !unix

package git

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
)

// stamped says that stamps tell every change on this system.
const stamped = false

// root is a directory; the names of its methods are relative to it.
type root struct{ dir string }

func openRoot(dir string) (root, error) {
	_, err := os.Stat(dir)
	return root{dir}, err
}

func (root) close() {}

func (r root) lstat(name string) (stamp, error) {
	info, err := os.Lstat(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mtime: info.ModTime().UnixNano(), mode: uint32(info.Mode().Perm())}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		s.mode |= modeRegular
	case mode.IsDir():
		s.mode |= modeDirectory
	case mode&fs.ModeSymlink != 0:
		s.mode |= modeLink
	}
	return s
}

func hashFile(ctx context.Context, r root, name string) (sum [sha256.Size]byte, s stamp, err error) {
	f, err := os.Open(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil {
		return sum, s, err
	}
	defer f.Close() //nolint:errcheck // only read
	before, err := f.Stat()
	if err != nil {
		return sum, s, err
	}
	if s = stampOf(before); !s.is(modeRegular) {
		return sum, s, errMoved
	}
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	if sum, err = h.stream(ctx, s.size, f.Read); err != nil {
		return sum, s, err
	}
	after, err := f.Stat()
	if err != nil {
		return sum, s, err
	}
	if stampOf(after) != s {
		return sum, s, errMoved
	}
	return sum, s, nil
}

func openOwn(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close() //nolint:errcheck // only read
		return nil, 0, err
	}
	return f, info.Size(), nil
}
