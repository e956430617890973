package harvest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/tenonrun/tenon/deliverable"
)

// take takes in one file, if it is there.
func (t *taker) take(p string) {
	if len(t.out.Files) == t.limits.Files {
		t.refuse(p, deliverable.MissingFile, fmt.Sprintf("is not taken: more than %d files are delivered", t.limits.Files))
		return
	}
	most := min(t.limits.File, t.left)
	data, err := t.read(p, most)
	var refused refusal
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return
	case errors.As(err, &refused):
		t.refuse(p, refused.reason, refused.detail)
		return
	case err != nil:
		t.fault(deliverable.HarvestError, p, "reading it: %v", plain(err))
		return
	}
	t.left -= int64(len(data))
	sum := sha256.Sum256(data)
	t.out.Files = append(t.out.Files, deliverable.File{
		Path: p, Kind: t.kinds[p], Size: int64(len(data)), Digest: hex.EncodeToString(sum[:]), Data: data,
	})
}

func (t *taker) refuse(p string, reason deliverable.Reason, detail string) {
	if _, told := t.refusal(p); !told {
		t.out.Refused = append(t.out.Refused, deliverable.Refusal{Path: p, Reason: reason, Detail: detail})
	}
}

// refusal is why a file that is there is not taken in.
type refusal struct {
	reason deliverable.Reason
	detail string
}

func (r refusal) Error() string { return r.detail }

// read reads a regular file of at most most bytes.
func (t *taker) read(p string, most int64) ([]byte, error) {
	link, err := t.root.Lstat(p)
	if err != nil {
		return nil, lookup(err, false)
	}
	info, err := t.root.Stat(p)
	if err != nil {
		return nil, lookup(err, link.Mode()&fs.ModeSymlink != 0)
	}
	if err := usable(info, most); err != nil {
		return nil, err
	}
	// Whatever takes the place of the file now must not hold the open up.
	f, err := t.root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, lookup(err, link.Mode()&fs.ModeSymlink != 0)
	}
	defer f.Close() //nolint:errcheck // only read
	before, err := f.Stat()
	if err != nil {
		return nil, err //nolint:wrapcheck // take wraps
	}
	if err := usable(before, most); err != nil {
		return nil, err
	}
	var data bytes.Buffer
	data.Grow(int(before.Size()) + bytes.MinRead)
	if _, err := io.Copy(&data, io.LimitReader(f, most+1)); err != nil {
		return nil, err //nolint:wrapcheck // take wraps
	}
	after, err := f.Stat()
	switch {
	case err != nil:
		return nil, err //nolint:wrapcheck // take wraps
	case int64(data.Len()) != before.Size() || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()):
		return nil, errors.New("it was changed meanwhile")
	}
	return data.Bytes(), nil
}

// usable refuses what is no regular file within bounds.
func usable(info fs.FileInfo, most int64) error {
	switch {
	case !info.Mode().IsRegular():
		return refusal{deliverable.MissingFile, what(info.Mode()) + "; a regular file is wanted"}
	case info.Size() > most:
		return refusal{deliverable.MissingFile, fmt.Sprintf("has %d bytes, at most %d can be taken; make it smaller", info.Size(), most)}
	}
	return nil
}

// lookup tells what a turn did from what the machine did.
func lookup(err error, link bool) error {
	switch {
	case errors.Is(err, syscall.ELOOP):
		return refusal{deliverable.WrongTargetSlot, "is a link that leads in a circle; a regular file is wanted"}
	case link && errors.Is(err, fs.ErrNotExist):
		return refusal{deliverable.MissingFile, "is a link to nothing; a regular file is wanted"}
	case strings.Contains(err.Error(), "escapes"):
		return refusal{deliverable.WrongTargetSlot, "is a link that leaves the directory; write the file itself there"}
	case errors.Is(err, fs.ErrPermission):
		return refusal{deliverable.MissingFile, "may not be read; change its permissions"}
	}
	return err
}

// what says what a file is instead of a regular one.
func what(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "is a directory"
	case mode&fs.ModeSymlink != 0:
		return "is a link"
	case mode&fs.ModeNamedPipe != 0:
		return "is a named pipe"
	case mode&fs.ModeSocket != 0:
		return "is a socket"
	case mode&fs.ModeDevice != 0:
		return "is a device"
	case mode.IsRegular():
		return "is a file"
	}
	return "is no regular file"
}

// plain takes the path out of an error: it is of this machine.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Bounds of the look through a slot: how deep, and how many entries for each file
// that may be delivered.
const (
	maxDepth = 32
	lookAt   = 10
)

// names lists the files of the slot, the index left out, in order, and reports
// whether that is all of them.
func (t *taker) names() ([]string, bool) {
	t.looked = 0
	out, ok := t.list(nil, ".", 0)
	slices.Sort(out)
	return out, ok
}

func (t *taker) list(out []string, dir string, depth int) ([]string, bool) {
	f, err := t.root.Open(dir)
	if err != nil {
		return out, false
	}
	entries, err := f.ReadDir(lookAt*t.limits.Files + 1)
	f.Close() //nolint:errcheck // only read
	if err != nil && !errors.Is(err, io.EOF) {
		return out, false
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	whole := true
	for _, e := range entries {
		if t.looked++; t.looked > lookAt*t.limits.Files {
			return out, false // a forest of directories
		}
		p := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxDepth:
			var ok bool
			out, ok = t.list(out, p, depth+1)
			whole = whole && ok
		case e.IsDir():
			whole = false
		case p != deliverable.IndexFile:
			out = append(out, p)
		}
		if len(out) > t.limits.Files {
			return out, false
		}
	}
	return out, whole
}
