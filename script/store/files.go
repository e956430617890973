package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// extension ends the name of every script file.
const extension = ".js"

// Files is the Store in a directory: DIR/PARTITION/RUN.js for runs, DIR/NAME.js
// for saved names. It is safe for concurrent use, also by several processes. It
// has no List: its directory mixes names with the partitions of runs.
type Files struct {
	dir  string // absolute
	real string // dir without links
	root *os.Root
}

var (
	_ Store    = (*Files)(nil)
	_ Resolver = (*Files)(nil)
)

// Open opens the store in dir, which is made with mode 0700 when it is missing.
func Open(dir string) (*Files, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the script store in %s: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("opening the script store: %w", err)
	}
	canonical, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("opening the script store: %w", err)
	}
	root, err := os.OpenRoot(canonical)
	if err != nil {
		return nil, fmt.Errorf("opening the script store: %w", err)
	}
	return &Files{dir: abs, real: canonical, root: root}, nil
}

// Close releases the directory.
func (f *Files) Close() error { return f.root.Close() }

// Partition is the name of the directory that holds the scripts of a scope.
func Partition(scope string) string {
	sum := sha256.Sum256([]byte(scope))
	return "s-" + hex.EncodeToString(sum[:16])
}

// Persist implements Store. Directories have mode 0700, files 0600.
func (f *Files) Persist(_ context.Context, run, script, scope string) (string, error) {
	if !IsName(run) {
		return "", &Error{CodeRefused, fmt.Sprintf("keeping a workflow script: run id %q is not one file name: use letters, digits, '.', '_' and '-'", run)}
	}
	if len(script) > MaxScript {
		return "", &Error{CodeTooLarge, fmt.Sprintf("keeping a workflow script: it has %d bytes, at most %d are kept: make it shorter", len(script), MaxScript)}
	}
	name := Partition(scope)
	if err := f.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keeping the script of run %s: %w", run, err)
	}
	part, err := f.partition(name)
	if err != nil {
		return "", fmt.Errorf("keeping the script of run %s: %w", run, err)
	}
	defer part.Close() //nolint:errcheck // nothing is written through it
	if err := replace(part, run+extension, script); err != nil {
		return "", fmt.Errorf("keeping the script of run %s: %w", run, err)
	}
	return filepath.Join(f.dir, name, run+extension), nil
}

// Load implements Store.
func (f *Files) Load(_ context.Context, path, scope string) (string, error) {
	leaf, ok := f.leaf(path, Partition(scope))
	if !ok {
		return "", errRefused()
	}
	part, err := f.partition(Partition(scope))
	if err != nil {
		return "", loadError(path, err)
	}
	defer part.Close() //nolint:errcheck // only read
	script, err := read(part, leaf)
	if err != nil {
		return "", loadError(path, err)
	}
	return script, nil
}

// ResolveName implements Resolver.
func (f *Files) ResolveName(_ context.Context, name string) (Resolution, bool, error) {
	if !IsName(name) {
		return Resolution{}, false, nil
	}
	script, err := read(f.root, name+extension)
	var refused *Error
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &refused) && refused.Code == CodeRefused:
		return Resolution{}, false, nil
	case err != nil:
		return Resolution{}, false, fmt.Errorf("reading the saved workflow %s: %w", name, err)
	}
	return Resolution{Script: script}, true, nil
}

// leaf returns the file name of a path right in the partition.
func (f *Files) leaf(path, partition string) (name string, ok bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	dir, name := filepath.Split(filepath.Clean(path))
	dir = filepath.Clean(dir)
	if dir != filepath.Join(f.dir, partition) && dir != filepath.Join(f.real, partition) {
		return "", false
	}
	stem, ok := strings.CutSuffix(name, extension)
	return name, ok && IsName(stem)
}

// partition opens a partition that is a directory of its own.
func (f *Files) partition(name string) (*os.Root, error) {
	before, err := f.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, errRefused()
	}
	part, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if after, err := part.Stat("."); err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(errRefused(), part.Close())
	}
	return part, nil
}

// swaps is how often a file may be replaced by another writer while it is opened.
const swaps = 100

// read returns a regular file of dir that is no link.
func read(dir *os.Root, name string) (string, error) {
	for range swaps {
		file, err := steady(dir, name)
		if err != nil {
			return "", err
		}
		if file != nil {
			return content(file)
		}
	}
	return "", errRefused()
}

// steady opens a regular file; nil when another one took its place meanwhile.
func steady(dir *os.Root, name string) (*os.File, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errRefused()
	}
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	after, err := file.Stat()
	if err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// content reads a script and closes its file.
func content(file *os.File) (string, error) {
	info, err := file.Stat()
	if err != nil {
		return "", errors.Join(err, file.Close())
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxScript+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	if len(data) > MaxScript {
		return "", &Error{CodeTooLarge, fmt.Sprintf("the script %s has %d bytes, at most %d are read: make it shorter", info.Name(), info.Size(), MaxScript)}
	}
	return string(data), nil
}

// replace puts a file in the place of name, which must not be a link.
func replace(dir *os.Root, name, content string) error {
	if there, err := dir.Lstat(name); err == nil && !there.Mode().IsRegular() {
		return errRefused()
	}
	file, err := temporary(dir, name)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if err == nil {
		err = file.Sync()
	}
	temp := filepath.Base(file.Name())
	if err = errors.Join(err, file.Close()); err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}

// temporary makes a new file beside name; another writer, or one that died, may
// have taken some names.
func temporary(dir *os.Root, name string) (file *os.File, err error) {
	for i := range 1000 {
		file, err = dir.OpenFile("."+name+"."+strconv.Itoa(i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return file, err
}

// loadError keeps refusals as they are: they say the same for every path.
func loadError(path string, err error) error {
	var own *Error
	if errors.As(err, &own) && own.Code == CodeRefused {
		return errRefused()
	}
	return fmt.Errorf("loading the workflow script %s: %w", path, err)
}
