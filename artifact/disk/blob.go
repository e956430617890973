package disk

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/workflow"
)

// blob is a content that is to be kept.
type blob struct{ digest, content string }

// blobPath returns the file of a content; the digest is one.
func blobPath(digest string) string { return path.Join(blobsDir, digest[:2], digest[2:]) }

// keepBlobs makes contents durable. It needs the turn of a collection, so that
// Sweep does not run.
func (c *Collections) keepBlobs(blobs []blob) error {
	var put []placing
	dirs := map[string]bool{}
	err := func() error {
		for _, b := range blobs {
			p, err := c.stage(b)
			if err != nil {
				return err
			}
			if p.file != nil {
				put = append(put, p)
			}
		}
		for _, p := range put {
			if err := c.disk.sync(p.file); err != nil {
				return err
			}
		}
		for _, p := range put {
			if err := p.place(c.root); err != nil {
				return err
			}
			dirs[path.Dir(p.at)] = true
		}
		return nil
	}()
	for _, p := range put {
		err = errors.Join(err, p.drop(c.root))
	}
	for dir := range dirs {
		err = errors.Join(err, c.syncDir(dir))
	}
	return err
}

// placing is a file on its way to its name.
type placing struct {
	file     *os.File // nil when the content is there
	from, at string
}

// stage writes a content into a file beside its place, unless it is there. A file
// that is there and holds something else is damaged: it is replaced.
func (c *Collections) stage(b blob) (placing, error) {
	p := placing{at: blobPath(b.digest)}
	if c.holds(b) {
		return placing{}, nil
	}
	dir := path.Dir(p.at)
	err := c.root.Mkdir(dir, 0o700)
	if err == nil {
		err = c.syncDir(blobsDir)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return placing{}, err
	}
	p.from = path.Join(dir, ident.New(".new-"))
	f, err := c.root.OpenFile(p.from, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return placing{}, err
	}
	p.file = f
	if _, err = c.disk.write(f, []byte(b.content), 0); err != nil {
		return placing{}, errors.Join(err, p.drop(c.root))
	}
	return p, nil
}

// place gives the file its name.
func (p *placing) place(root *os.Root) error {
	return root.Rename(p.from, p.at)
}

// drop closes the file, and removes it when it did not get its name.
func (p *placing) drop(root *os.Root) error {
	err := p.file.Close()
	if rm := root.Remove(p.from); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}

// holds reports whether a content is there, byte for byte.
func (c *Collections) holds(b blob) bool {
	info, err := c.root.Stat(blobPath(b.digest))
	if err != nil || info.Size() != int64(len(b.content)) {
		return false
	}
	raw, err := c.root.ReadFile(blobPath(b.digest))
	return err == nil && bytes.Equal(raw, []byte(b.content))
}

// has reports whether a content of the size of the revision is there. Reading it
// tells whether it is whole.
func (c *Collections) has(r *artifact.Revision) bool {
	root, err := c.reading()
	if err != nil || root == nil {
		return false
	}
	info, err := root.Stat(blobPath(r.Digest))
	return err == nil && info.Size() == r.Bytes
}

// readBlob returns the content of a revision.
func (c *Collections) readBlob(r *artifact.Revision) (string, error) {
	root, err := c.reading()
	if err != nil {
		return "", err
	}
	at := filepath.Join(c.cfg.Dir, filepath.FromSlash(blobPath(r.Digest)))
	lost := func(why string) error {
		return workflow.Errorf(workflow.CodeStoreDamaged, "the content of version %d of %s %s: %s", r.Version, r.Artifact, why, at).
			WithHint("the other versions are not harmed; write the text again, or merge from a device that has it, to mend it")
	}
	if root == nil {
		return "", lost("is missing")
	}
	info, err := root.Stat(blobPath(r.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return "", lost("is missing")
	}
	if err != nil {
		return "", err
	}
	if info.Size() != r.Bytes {
		return "", lost("has another size")
	}
	raw, err := root.ReadFile(blobPath(r.Digest))
	if err != nil {
		return "", err
	}
	content := string(raw)
	if artifact.Digest(content) != r.Digest {
		return "", lost("has changed")
	}
	return content, nil
}

// Content returns a content of that SHA-256 and size, although no log may name it
// any more; false when it is not here, or not whole.
func (c *Collections) Content(digest string, size int64) (string, bool) {
	content, err := c.readBlob(&artifact.Revision{Digest: digest, Bytes: size})
	return content, err == nil
}

// replace puts a whole file in its place, durably. It needs a turn.
func (c *Collections) replace(name string, raw []byte) error {
	from := path.Join(path.Dir(name), ident.New(".new-"))
	f, err := c.root.OpenFile(from, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	p := placing{file: f, from: from, at: name}
	if _, err = c.disk.write(f, raw, 0); err == nil {
		err = c.disk.sync(f)
	}
	if err == nil {
		err = p.place(c.root)
	}
	if err = errors.Join(err, p.drop(c.root)); err != nil {
		return err
	}
	return c.syncDir(path.Dir(name))
}

// syncDir makes the names in a directory durable.
func (c *Collections) syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no way to ask for that
	}
	d, err := c.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(c.disk.sync(d), d.Close())
}
