package mount

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tenonrun/tenon/runcontext"
)

// copier reads one file after the other.
type copier struct {
	dir    string // empty: only digest
	hash   hash.Hash
	buffer []byte
	limit  int64
}

// entry digests one entry, and writes it when there is a directory.
func (c *copier) entry(e *runcontext.Entry, o origin) error {
	to := ""
	if c.dir != "" {
		to = filepath.Join(c.dir, filepath.FromSlash(e.Path))
	}
	switch {
	case e.IsLink():
		if to == "" {
			return nil
		}
		return os.Symlink(e.Origin, to)
	case e.Content != nil:
		if to == "" {
			return nil // NewPlan compared its digest
		}
		return os.WriteFile(to, e.Content, mode(*e))
	case o.root == nil:
		return nil // a directory, made before
	}
	in, err := o.root.OpenFile(o.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return cause(err)
	}
	defer in.Close() //nolint:errcheck // only read
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file any more", o.name)
	}
	sum, size, err := c.copy(to, in, mode(*e))
	if err != nil {
		return err
	}
	if e.SHA256 != "" && e.SHA256 != sum {
		return fmt.Errorf("it changed: its sha256 was %.12s and is %.12s", e.SHA256, sum)
	}
	e.SHA256, e.Size = sum, size
	return nil
}

func mode(e runcontext.Entry) fs.FileMode {
	if e.Mode == runcontext.ReadWrite {
		return 0o644
	}
	return 0o444
}

// copy digests in, writing what it digests to a new file.
func (c *copier) copy(to string, in *os.File, mode fs.FileMode) (sum string, size int64, err error) {
	var out *os.File
	if to != "" {
		if out, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
			return "", 0, err
		}
		defer func() {
			if closeErr := out.Close(); err == nil {
				err = closeErr
			}
		}()
	}
	c.hash.Reset()
	for {
		n, readErr := in.Read(c.buffer)
		_, _ = c.hash.Write(c.buffer[:n]) // never fails
		if size += int64(n); size > c.limit {
			return "", 0, fmt.Errorf("it is larger than %d bytes", c.limit)
		}
		if out != nil {
			if _, err := out.Write(c.buffer[:n]); err != nil {
				return "", 0, err
			}
		}
		if errors.Is(readErr, io.EOF) {
			return hex.EncodeToString(c.hash.Sum(nil)), size, nil
		}
		if readErr != nil {
			return "", 0, cause(readErr)
		}
	}
}
