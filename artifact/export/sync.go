package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// SyncOptions say what Sync does. A shared directory holds
//
//	COLLECTION/DEVICE.jsonl   the revisions that a device brought, without contents
//	blobs/ab/cdef…            a content under its SHA-256
//
// Each device writes only the file of its name, and contents never change, so that
// nobody waits for anybody.
type SyncOptions struct {
	// Dir is the shared directory. It is made when it is not there.
	Dir string
	// Collection is the name of the collection there.
	Collection string
	// Device names the file that this place writes.
	Device string
	// Limits bound the contents that are read.
	Limits artifact.Limits
}

// Synced tells what a Sync did.
type Synced struct {
	Pushed  int             `json:"pushed"`  // revisions that the directory did not have
	Pulled  artifact.Merged `json:"pulled"`  // of those that the collection did not have
	Waiting int             `json:"waiting"` // revisions whose contents have not arrived yet, or are damaged
	Skipped int             `json:"skipped"` // lines that cannot be read
	Lost    int             `json:"lost"`    // revisions of the collection whose contents cannot be read
}

// Sync pulls what other devices brought into a shared directory, and pushes what it
// lacks. It may be stopped at any point and run again. Errors have
// workflow.CodeInvalidArtifactID for the names, else those of the collection.
func Sync(ctx context.Context, c artifact.Collection, o SyncOptions) (Synced, error) {
	var done Synced
	for _, name := range []string{o.Collection, o.Device} {
		if err := artifact.CheckName(name); err != nil {
			return done, fmt.Errorf("syncing artifacts: %w", err)
		}
	}
	p, err := openPlace(filepath.Clean(o.Dir), true)
	if err != nil {
		return done, fmt.Errorf("syncing artifacts: %w", err)
	}
	defer p.root.Close() //nolint:errcheck // a root is a place, nothing is written through its end
	s := syncer{SyncOptions: o, place: p, dir: artifact.DirName(o.Collection), there: map[artifact.Revision]bool{}, done: &done}
	for _, step := range []func(context.Context, artifact.Collection) error{s.read, s.pull, s.push} {
		if err := step(ctx, c); err != nil {
			return done, fmt.Errorf("syncing artifacts with %s: %w", o.Dir, err)
		}
	}
	return done, nil
}

type syncer struct {
	SyncOptions
	place *place
	dir   string
	there map[artifact.Revision]bool // in the directory
	order []artifact.Revision        // of there
	mine  []artifact.Revision        // in the file of this place
	done  *Synced
}

func (s *syncer) file() string { return path.Join(s.dir, artifact.DirName(s.Device)+".jsonl") }

// read reads the lines of all devices. A program that copies the directory may have
// given a file another name; it counts all the same.
func (s *syncer) read(ctx context.Context, _ artifact.Collection) error {
	entries, err := fs.ReadDir(s.place.root.FS(), s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".jsonl") {
			if err := s.readFile(ctx, path.Join(s.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxLog bounds the log of a device in bytes.
const maxLog = 1 << 30

func (s *syncer) readFile(ctx context.Context, name string) error {
	f, err := s.place.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxLog))
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		r, err := artifact.DecodeReference([]byte(line))
		if err != nil {
			s.done.Skipped++
			continue
		}
		if name == s.file() {
			s.mine = append(s.mine, r)
		}
		if !s.there[r] {
			s.there[r] = true
			s.order = append(s.order, r)
		}
	}
	return ctx.Err()
}

// pull takes what the collection lacks, and leaves out what is deleted.
func (s *syncer) pull(ctx context.Context, c artifact.Collection) error {
	here := map[artifact.Revision]bool{}
	var both artifact.Log
	for copied, err := range c.Export(ctx) {
		if err == nil {
			here[copied.Revision] = true
			_, err = both.Add(copied.Revision)
		}
		if err != nil {
			return err
		}
	}
	var clashes []string
	for _, r := range s.order {
		fate, err := both.Add(r)
		if err != nil {
			return err
		}
		if fate == artifact.Clash {
			clashes = append(clashes, r.ID)
		}
	}
	var err error
	s.done.Pulled, err = c.Merge(ctx, s.fresh(both.Revisions(), here))
	s.done.Pulled.Clashes = append(s.done.Pulled.Clashes, clashes...)
	return err
}

// fresh yields the revisions that are not here and whose contents have arrived.
func (s *syncer) fresh(all []artifact.Revision, here map[artifact.Revision]bool) iter.Seq2[artifact.Copy, error] {
	return func(yield func(artifact.Copy, error) bool) {
		for _, r := range all {
			if here[r] {
				continue
			}
			var content string
			if !r.Deleted {
				var err error
				if content, err = s.content(&r); err != nil {
					s.done.Waiting++
					continue
				}
			}
			if !yield(artifact.Copy{Revision: r, Content: func(context.Context) (string, error) { return content, nil }}, nil) {
				return
			}
		}
	}
}

func blobName(digest string) string { return path.Join("blobs", digest[:2], digest[2:]) }

// content reads a content of the directory, when it is whole.
func (s *syncer) content(r *artifact.Revision) (string, error) {
	f, err := s.place.root.Open(blobName(r.Digest))
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != r.Bytes {
		return "", fmt.Errorf("it is not whole: %w", errors.Join(err, fs.ErrInvalid))
	}
	raw, err := io.ReadAll(io.LimitReader(f, r.Bytes))
	if err != nil {
		return "", err
	}
	return string(raw), r.Verify(string(raw), s.Limits)
}

// push brings what the directory lacks: first the contents, then the lines.
func (s *syncer) push(ctx context.Context, c artifact.Collection) error {
	lines := s.mine
	for copied, err := range c.Export(ctx) {
		if err == nil {
			err = s.bring(ctx, &copied)
		}
		switch {
		case err != nil:
			return err
		case !s.whole(&copied.Revision):
			s.done.Lost++
		case !s.there[copied.Revision]:
			lines = append(lines, copied.Revision)
			s.done.Pushed++
		}
	}
	if s.done.Pushed == 0 {
		return nil
	}
	var raw []byte
	for _, r := range lines {
		var err error
		if raw, err = r.AppendReference(raw); err != nil {
			return err
		}
	}
	return s.place.put(s.file(), raw)
}

// whole reports whether the directory has the content of a revision, by its size.
func (s *syncer) whole(r *artifact.Revision) bool {
	if r.Deleted {
		return true
	}
	info, err := s.place.root.Stat(blobName(r.Digest))
	return err == nil && info.Size() == r.Bytes
}

// bring writes a content into the directory, unless it is there. One that cannot be
// read here is left out.
func (s *syncer) bring(ctx context.Context, c *artifact.Copy) error {
	if s.whole(&c.Revision) {
		return nil
	}
	content, err := c.Content(ctx)
	if workflow.CodeOf(err) == workflow.CodeStoreDamaged || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.place.put(blobName(c.Digest), []byte(content))
}
