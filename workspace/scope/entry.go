package scope

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git names its objects so
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"
)

// name is a path, slash-separated and relative to the repository. It may hold
// any bytes, and keeps them in JSON.
type name string

// MarshalJSON implements json.Marshaler.
func (n name) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.QuoteToASCII(string(n))) }

// UnmarshalJSON implements json.Unmarshaler.
func (n *name) UnmarshalJSON(raw []byte) error {
	var quoted string
	if err := json.Unmarshal(raw, &quoted); err != nil {
		return err
	}
	plain, err := strconv.Unquote(quoted)
	*n = name(plain)
	return err
}

// kind says what lies at a path.
type kind string

const (
	nothing kind = ""
	file    kind = "file"
	link    kind = "link"
	folder  kind = "directory"
	other   kind = "other" // a pipe, socket or device
)

// entry is a path as it was before the turn, and where its bytes are.
type entry struct {
	Path     name        `json:"path"`
	Kind     kind        `json:"kind"`
	Perm     fs.FileMode `json:"perm,omitempty"`
	Size     int64       `json:"size,omitempty"`
	Modified int64       `json:"modified,omitempty"` // nanoseconds
	Changed  int64       `json:"changed,omitempty"`  // nanoseconds, of the inode; 0 is not known
	Text     name        `json:"text,omitempty"`     // of a link
	Blob     string      `json:"blob,omitempty"`     // git object with the bytes
	Tree     name        `json:"tree,omitempty"`     // nested repository of that object
	Sum      string      `json:"sum,omitempty"`      // SHA-256 of bytes in the pack
	At       int64       `json:"at,omitempty"`       // where they start in the pack
	Lost     string      `json:"lost,omitempty"`     // why the bytes are nowhere
}

// look returns what lies at a path, without following links: what is behind a
// linked directory is nothing.
func (p *place) look(at string) (entry, error) {
	e := entry{Path: name(at)}
	if !p.real(path.Dir(at)) {
		return e, nil
	}
	full := p.full(at)
	info, err := os.Lstat(full)
	if gone(err) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	e.Perm, e.Modified, e.Changed = info.Mode().Perm(), info.ModTime().UnixNano(), changed(info)
	switch mode := info.Mode(); {
	case mode.IsRegular():
		e.Kind, e.Size = file, info.Size()
	case mode&fs.ModeSymlink != 0:
		text, err := os.Readlink(full)
		if err != nil {
			return e, err
		}
		e.Kind, e.Text = link, name(text)
	case mode.IsDir():
		e.Kind = folder
	default:
		e.Kind = other
	}
	return e, nil
}

func (p *place) full(at string) string { return filepath.Join(p.dir, filepath.FromSlash(at)) }

// real reports whether a directory is reached without a link.
func (p *place) real(dir string) bool {
	if dir == "." {
		return true
	}
	known, ok := p.dirs[dir]
	if ok {
		return known
	}
	if known = p.real(path.Dir(dir)); known {
		info, err := os.Lstat(p.full(dir))
		known = err == nil && info.IsDir()
	}
	p.dirs[dir] = known
	return known
}

// racy is the age below which a time stamp proves nothing: a later write may
// have got the same one.
const racy = 2 * time.Second

// same reports whether a path is as it was. contents is false when only the
// permissions differ.
func (p *place) same(before, now entry, captured time.Time) (same, contents bool, err error) {
	if before.Kind != now.Kind || before.Kind == file && before.Size != now.Size {
		return false, false, nil
	}
	switch {
	case before.Kind == link:
		return before.Text == now.Text, false, nil
	case before.Kind != file:
		return true, true, nil
	}
	stamped := before.Modified == now.Modified && before.Changed == now.Changed
	if before.Lost != "" {
		return stamped && before.Perm == now.Perm, false, nil
	}
	old := before.Changed != 0 && time.Unix(0, before.Changed).Before(captured.Add(-racy))
	if stamped && old {
		return true, true, nil
	}
	var h hash.Hash
	want := before.Sum
	switch {
	case before.Blob == "":
		h = sha256.New()
	case len(before.Blob) == hex.EncodedLen(sha256.Size):
		h, want = sha256.New(), before.Blob
	default:
		h, want = sha1.New(), before.Blob //nolint:gosec // see above
	}
	if before.Blob != "" {
		fmt.Fprintf(h, "blob %d\x00", now.Size)
	}
	err = p.copy(h, string(now.Path))
	if errors.Is(err, fs.ErrPermission) { // the turn closed it
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	contents = hex.EncodeToString(h.Sum(nil)) == want
	return contents && before.Perm == now.Perm, contents, nil
}

// copy writes the bytes of a regular file.
func (p *place) copy(to io.Writer, at string) error {
	f, err := p.root.OpenFile(filepath.FromSlash(at), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("reading %s: it is no regular file any more", shown(at))
	}
	_, err = io.Copy(to, f)
	return err
}

// sum returns the hex SHA-256 of a regular file; "" when it cannot be read.
func (p *place) sum(at string) string {
	h := sha256.New()
	if p.copy(h, at) != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// read returns a file of at most limit bytes; the error is errFull when it is
// longer.
func (p *place) read(at string, limit int64) ([]byte, error) {
	var b bytes.Buffer
	err := p.copy(&capped{to: &b, room: limit}, at)
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

var errFull = errors.New("over the bound")

// capped fails with errFull when more than room bytes come.
type capped struct {
	to   io.Writer
	room int64
}

func (c *capped) Write(p []byte) (int, error) {
	if c.room -= int64(len(p)); c.room < 0 {
		return 0, errFull
	}
	return c.to.Write(p)
}
