package disk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tenonrun/tenon/tool"
)

// kindError says that a file is of a kind that tools do not open.
type kindError struct{ kind tool.Kind }

func (e *kindError) Error() string { return "it is no regular file but a " + string(e.kind) }

func notRegular(k tool.Kind) error { return &kindError{k} }

// file is an open regular file.
type file struct {
	*os.File
	info tool.Info
}

// Info implements tool.File.
func (f file) Info() tool.Info { return f.info }

// failed tells what could not be done with a place.
func failed(doing string, p tool.Place, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	f := &tool.Failed{What: doing + " " + tool.Quote(p.Spelled), Err: err}
	switch {
	case errors.Is(err, errMoved):
		f = &tool.Failed{What: tool.Quote(p.Spelled) + " changed since it was judged", Next: "try again"}
	case errors.Is(err, fs.ErrNotExist):
		f.Next = "look for the right name"
	}
	return f
}

// usable refuses places that no Judge gave.
func usable(p tool.Place, write bool) error {
	if p.Canonical == "" {
		return &tool.Failed{What: "the call names no file"}
	}
	if write && p.Op != tool.OpWrite {
		return &tool.Failed{What: tool.Quote(p.Spelled) + " was judged for reading and not for writing"}
	}
	return nil
}

// Stat implements tool.Fence.
func (f *Fence) Stat(_ context.Context, p tool.Place) (tool.Info, error) {
	if err := usable(p, false); err != nil {
		return tool.Info{}, err
	}
	info, err := statCanonical(p.Canonical)
	if err != nil {
		return info, failed("looking at", p, err)
	}
	return info, nil
}

// Open implements tool.Fence.
func (f *Fence) Open(_ context.Context, p tool.Place) (tool.File, error) {
	if err := usable(p, false); err != nil {
		return nil, err
	}
	h, info, err := openRegular(p.Canonical, p.Identity)
	if err != nil {
		return nil, failed("opening", p, err)
	}
	return file{h, info}, nil
}

// Digest implements tool.Fence.
func (f *Fence) Digest(_ context.Context, canonical string) (string, error) {
	h, _, err := openRegular(canonical, tool.Identity{})
	if errors.Is(err, fs.ErrNotExist) {
		return tool.NoFile, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s for its digest: %w", tool.Quote(canonical), err)
	}
	defer done(h)
	return digest(h)
}

// done ends what was only read.
func done(c io.Closer) { _ = c.Close() }

func digest(r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
