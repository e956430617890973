package export

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/workflow"
)

// place is a directory that is written to.
type place struct {
	dir     string
	root    *os.Root
	replace bool
}

func openPlace(dir string, replace bool) (*place, error) {
	err := os.MkdirAll(dir, 0o755)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "opening the directory: %w", err).WithHint("name a directory that this user may write")
	}
	return &place{dir: dir, root: root, replace: replace}, nil
}

// put makes a file whole, or leaves it as it was.
func (p *place) put(name string, raw []byte) error {
	if info, err := p.root.Stat(name); err == nil && info.Size() == int64(len(raw)) {
		if there, err := p.root.ReadFile(name); err == nil && bytes.Equal(there, raw) {
			return nil
		}
	}
	return p.stream(name, func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	})
}

// stream makes a file of what write writes. It is there whole or not at all.
func (p *place) stream(name string, write func(io.Writer) error) error {
	if err := p.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	from := path.Join(path.Dir(name), ident.New(".new-"))
	f, err := p.root.OpenFile(from, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = write(w)
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err == nil {
		err = p.settle(from, name)
	}
	if err != nil {
		return errors.Join(err, p.root.Remove(from))
	}
	return nil
}

// settle gives a file its name.
func (p *place) settle(from, name string) error {
	_, err := p.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && p.replace:
		return p.root.Rename(from, name)
	case err != nil:
		return err
	}
	if same, err := p.equal(from, name); err != nil {
		return err
	} else if same {
		return p.root.Rename(from, name)
	}
	return workflow.Errorf(workflow.CodeArtifactConflict, "%s is in %s already and holds something else: it was left as it is", name, p.dir).
		WithHint("choose an empty directory, or ask for the files to be replaced")
}

// equal compares two files.
func (p *place) equal(a, b string) (bool, error) {
	one, err := p.root.Open(a)
	if err != nil {
		return false, err
	}
	defer one.Close() //nolint:errcheck // only read
	two, err := p.root.Open(b)
	if err != nil {
		return false, err
	}
	defer two.Close() //nolint:errcheck // only read
	x, y := bufio.NewReaderSize(one, 64<<10), bufio.NewReaderSize(two, 64<<10)
	for {
		c, errX := x.ReadByte()
		d, errY := y.ReadByte()
		if errors.Is(errX, io.EOF) || errors.Is(errY, io.EOF) {
			return errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF), nil
		}
		if errX != nil || errY != nil || c != d {
			return false, errors.Join(errX, errY)
		}
	}
}
