package tenon

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenonrun/tenon/workflow"
)

// writeUnlinked writes a new file into folders below a directory, which are made
// when they are missing. None of them may be a link, and the file may not be
// there with another content.
func writeUnlinked(base string, folders []string, name string, content []byte) error {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it after this
	for _, folder := range folders {
		next, err := below(root, folder)
		if err != nil {
			return err
		}
		_ = root.Close()
		root = next
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return sameFile(root, name, content)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	return nil
}

// below opens a directory that is no link, and makes one that is missing.
func below(dir *os.Root, name string) (*os.Root, error) {
	if err := dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, linked(filepath.Join(dir.Name(), name))
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if after, err := next.Stat("."); err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(linked(filepath.Join(dir.Name(), name)), next.Close())
	}
	return next, nil
}

// sameFile accepts a file that is there with the same content.
func sameFile(dir *os.Root, name string, content []byte) error {
	path := filepath.Join(dir.Name(), name)
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return linked(path)
	}
	there, err := dir.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Equal(there, content) {
		return workflow.Errorf(workflow.CodeInvalidArguments, "%s is there already, with another content", path).
			WithHint("save it under another name, or remove the file")
	}
	return nil
}

func linked(path string) error {
	return workflow.Errorf(workflow.CodeInvalidArguments, "%s is a link, or no plain file or directory: nothing is written through it", path).
		WithHint("replace it with a directory, or save the script under another name")
}
