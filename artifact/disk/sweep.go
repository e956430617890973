package disk

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// Grace is how long a content is kept that no revision names: longer than any
// write takes, from its content to its line.
const Grace = time.Hour

// Swept counts what a Sweep removed.
type Swept struct {
	Contents int   `json:"contents"`
	Bytes    int64 `json:"bytes"`
}

// Sweep removes the contents, older than Grace, that no revision names, and files
// that a crash left behind. It refuses, with workflow.CodeStoreDamaged, while a log
// has lines that cannot be read: they may name any content.
//
// Who finds its content there already writes its line while Sweep waits; all
// others bring a new one, which Sweep leaves alone.
func (c *Collections) Sweep(ctx context.Context) (Swept, error) {
	var done Swept
	root, err := c.reading()
	if root != nil && err == nil {
		if err = c.enter(); err == nil {
			err = c.alone(func() error { return c.sweep(ctx, &done) })
		}
	}
	return done, fault("sweeping the artifacts", err)
}

func (c *Collections) sweep(ctx context.Context, done *Swept) error {
	used, err := c.used(ctx)
	if err != nil {
		return err
	}
	dirs, err := fs.ReadDir(c.root.FS(), blobsDir)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		dir := path.Join(blobsDir, d.Name())
		files, err := fs.ReadDir(c.root.FS(), dir)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !used[d.Name()+f.Name()] {
				if err := c.sweepFile(path.Join(dir, f.Name()), done); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *Collections) sweepFile(name string, done *Swept) error {
	info, err := c.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.cfg.Now().Sub(info.ModTime()) < Grace {
		return nil
	}
	if err := c.root.Remove(name); err != nil {
		return err
	}
	done.Contents++
	done.Bytes += info.Size()
	return nil
}

// used returns the digests that revisions name.
func (c *Collections) used(ctx context.Context) (map[string]bool, error) {
	names, err := c.Names(ctx)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, name := range names {
		bad, err := c.inspect(name, func(r *artifact.Revision) { used[r.Digest] = true })
		if err != nil {
			return nil, err
		}
		bad = slices.DeleteFunc(bad, func(b Bad) bool { return b.Line == 0 }) // names no content
		if len(bad) > 0 {
			return nil, workflow.Errorf(workflow.CodeStoreDamaged, "no content is removed: %w", bad[0]).
				WithHint("use the version of the program that wrote it, or export the artifacts of %s and remove the collection", name)
		}
	}
	return used, ctx.Err()
}

// inspect reads the log of a collection anew, with eyes of its own.
func (c *Collections) inspect(name string, see func(*artifact.Revision)) ([]Bad, error) {
	s := &collection{all: c, name: name, dir: artifact.DirName(name)}
	err := s.catchUp()
	for _, r := range s.journal.log.Revisions() {
		see(&r)
	}
	bad := s.journal.bad
	return bad, errors.Join(err, s.forget())
}

// Check reads everything and tells what is damaged: lines that are left out, and
// contents that are missing or have changed. It returns the number of revisions
// that it read.
func (c *Collections) Check(ctx context.Context) (revisions int, damage []error, err error) {
	names, err := c.Names(ctx)
	if err != nil {
		return 0, nil, err
	}
	whole := map[string]bool{}
	for _, name := range names {
		bad, err := c.inspect(name, func(r *artifact.Revision) {
			revisions++
			if r.Deleted || whole[r.Digest] || ctx.Err() != nil {
				return
			}
			if _, err := c.readBlob(r); err != nil {
				damage = append(damage, err)
			} else {
				whole[r.Digest] = true
			}
		})
		for _, b := range bad {
			damage = append(damage, b)
		}
		if err != nil {
			return revisions, damage, fault("checking the artifacts", err)
		}
	}
	return revisions, damage, ctx.Err()
}

// Remove forgets a collection and all its revisions. Its contents stay until Sweep
// finds that nobody else has them. The directory stays, with its lock.
func (c *Collections) Remove(ctx context.Context, name string) error {
	opened, err := c.Open(ctx, name)
	if err != nil {
		return err
	}
	s, ok := opened.(*collection)
	if root, err := c.reading(); !ok || root == nil || err != nil {
		return fault("removing the collection "+name, err)
	}
	err = s.write(ctx, func(*artifact.Log) error {
		for _, file := range []string{publicationsFile, logFile} {
			if err := c.root.Remove(path.Join(s.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return errors.Join(s.forget(), c.syncDir(s.dir))
	})
	return fault("removing the collection "+name, err)
}
