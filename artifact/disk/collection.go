package disk

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"sync"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/internal/lock"
)

// collection is one directory.
type collection struct {
	all       *Collections
	name, dir string

	turn sync.Mutex // of this process; held before mu
	gate *lock.Gate // of all processes

	mu        sync.Mutex // of the values below
	journal   journal
	published fs.FileInfo // of the record that was read; nil when there was none
}

var _ artifact.Collection = (*collection)(nil)

func (s *collection) doing(what, id string, err error) error {
	if err == nil {
		return nil
	}
	place := s.name
	if artifact.CheckID(id) == nil { // else it may be anything
		place += "/" + id
	}
	return fault(what+" "+place, err)
}

// current runs f with the values of now.
func (s *collection) current(ctx context.Context, f func(*artifact.Log) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.all.visit(s); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(); err != nil {
		return err
	}
	return f(&s.journal.log)
}

// write runs f when it is this one's turn, with the values of now.
func (s *collection) write(ctx context.Context, f func(*artifact.Log) error) error {
	if err := s.all.visit(s); err != nil {
		return err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.take(); err != nil {
		return err
	}
	defer s.gate.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catchUp(); err != nil {
		return err
	}
	if err := s.mend(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(&s.journal.log)
}

// take waits for the turn. Lock files stay for ever: a new one under the name of
// a held one would have a second owner.
func (s *collection) take() error {
	if err := s.all.enter(); err != nil {
		return err
	}
	if s.gate == nil {
		if err := s.openGate(); err != nil {
			return err
		}
	}
	return s.gate.Lock()
}

func (s *collection) openGate() error {
	return s.all.alone(func() error {
		err := s.all.root.Mkdir(s.dir, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		s.gate, err = lock.OpenGate(filepath.Join(s.all.cfg.Dir, s.dir, "lock"))
		return err
	})
}

// close closes the files.
func (s *collection) close() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.release()
}

// release closes the files. It needs the turn and the lock of the values.
func (s *collection) release() error {
	err := s.forget()
	if s.gate != nil {
		err = errors.Join(err, s.gate.Close())
		s.gate = nil
	}
	return err
}

func (s *collection) stamp() artifact.Stamp {
	c := &s.all.cfg
	return artifact.Stamp{ID: c.NewID(), Device: c.Device, At: c.Now().UnixMilli()}
}

// keep makes a revision and its content durable, and describes the artifact.
func (s *collection) keep(r artifact.Revision, content string) (artifact.Descriptor, error) {
	err := s.commit(s.all.has(&r), func() error {
		if err := s.all.keepBlobs([]blob{{r.Digest, content}}); err != nil {
			return err
		}
		return s.append([]artifact.Revision{r})
	})
	d, _ := s.journal.log.Describe(r.Artifact)
	return d, err
}

// commit runs f, which writes contents and the lines that name them. When it
// counts on a content that is there already, Sweep has to wait.
func (s *collection) commit(reuses bool, f func() error) error {
	if reuses {
		return s.all.alone(f)
	}
	return f()
}

// Put keeps a draft as the next revision.
func (s *collection) Put(ctx context.Context, d artifact.Draft) (artifact.Receipt, error) {
	var receipt artifact.Receipt
	err := s.write(ctx, func(l *artifact.Log) error {
		told, again := l.Again(&d)
		if again {
			receipt = told
			return nil
		}
		r, err := l.PlanPut(d, s.stamp(), s.all.cfg.Limits)
		if err != nil {
			return err
		}
		told = l.Receipt(&r)
		if told.Descriptor, err = s.keep(r, d.Content); err == nil {
			receipt = told
		}
		return err
	})
	return receipt, s.doing("writing artifact", d.ID, err)
}

// Edit keeps a person's text as the next revision.
func (s *collection) Edit(ctx context.Context, e artifact.Edit) (artifact.Descriptor, error) {
	var d artifact.Descriptor
	err := s.write(ctx, func(l *artifact.Log) error {
		r, err := l.PlanEdit(e, s.stamp(), s.all.cfg.Limits)
		if err == nil {
			d, err = s.keep(r, e.Content)
		}
		return err
	})
	return d, s.doing("editing artifact", e.Artifact, err)
}

// List returns all artifacts.
func (s *collection) List(ctx context.Context) ([]artifact.Descriptor, error) {
	var list []artifact.Descriptor
	err := s.current(ctx, func(l *artifact.Log) error {
		list = l.List()
		return nil
	})
	return list, s.doing("listing artifacts", "", err)
}

// Get returns an artifact with all its versions.
func (s *collection) Get(ctx context.Context, id string) (artifact.Artifact, error) {
	var a artifact.Artifact
	err := s.current(ctx, func(l *artifact.Log) (err error) {
		a, err = l.Get(id)
		return err
	})
	return a, s.doing("reading artifact", id, err)
}

// Read returns a version and its content.
func (s *collection) Read(ctx context.Context, id string, version int64) (artifact.Revision, string, error) {
	var r artifact.Revision
	err := s.current(ctx, func(l *artifact.Log) (err error) {
		r, err = l.Find(id, version)
		return err
	})
	var content string
	if err == nil {
		content, err = s.all.readBlob(&r)
	}
	if err != nil {
		return artifact.Revision{}, "", s.doing("reading artifact", id, err)
	}
	return r, content, nil
}

// Delete forgets an artifact.
func (s *collection) Delete(ctx context.Context, id string) error {
	err := s.write(ctx, func(l *artifact.Log) error {
		r, err := l.PlanDelete(id, s.stamp())
		if err == nil {
			err = s.append([]artifact.Revision{r})
		}
		return err
	})
	return s.doing("deleting artifact", id, err)
}

// Export returns the revisions and deletions in the order of the log.
func (s *collection) Export(ctx context.Context) iter.Seq2[artifact.Copy, error] {
	return func(yield func(artifact.Copy, error) bool) {
		var list []artifact.Revision
		err := s.current(ctx, func(l *artifact.Log) error {
			list = l.Revisions()
			return nil
		})
		if err != nil {
			yield(artifact.Copy{}, s.doing("exporting artifacts", "", err))
			return
		}
		for _, r := range list {
			if err := ctx.Err(); err != nil {
				yield(artifact.Copy{}, err)
				return
			}
			content := func(context.Context) (string, error) {
				body, err := s.all.readBlob(&r)
				return body, s.doing("reading artifact", r.Artifact, err)
			}
			if !yield(artifact.Copy{Revision: r, Content: content}, nil) {
				return
			}
		}
	}
}
