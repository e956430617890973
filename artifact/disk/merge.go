package disk

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/tenonrun/tenon/artifact"
)

// Bounds of what a Merge holds at a time.
const (
	batchLines = 1000
	batchBytes = 16 << 20
)

// pending is a revision that waits for its turn.
type pending struct {
	artifact.Copy
	content string
	read    bool // the content
}

// Merge takes revisions as they happened.
func (s *collection) Merge(ctx context.Context, copies iter.Seq2[artifact.Copy, error]) (artifact.Merged, error) {
	var m artifact.Merged
	var batch []pending
	size := int64(0)
	flush := func() error {
		err := s.write(ctx, func(l *artifact.Log) error { return s.takeIn(ctx, l, batch, &m) })
		batch, size = batch[:0], 0
		return err
	}
	for c, err := range copies {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return m, s.merging(err)
		}
		p := pending{Copy: c}
		if c.Check() == nil { // else it is refused in its turn
			if err := s.prepare(ctx, &p); err != nil {
				return m, s.merging(err)
			}
		}
		batch = append(batch, p)
		if size += int64(len(p.content)); len(batch) >= batchLines || size >= batchBytes {
			if err := flush(); err != nil {
				return m, s.merging(err)
			}
		}
	}
	if len(batch) == 0 {
		return m, nil
	}
	return m, s.merging(flush())
}

func (s *collection) merging(err error) error {
	if err == nil {
		return nil
	}
	return fault(fmt.Sprintf("merging into the collection %s", s.name), err)
}

// prepare reads a content that is not here, before it is this one's turn.
func (s *collection) prepare(ctx context.Context, p *pending) error {
	if p.Deleted || s.all.has(&p.Revision) {
		return nil
	}
	s.mu.Lock()
	seen := s.journal.log.Seen(&p.Revision)
	s.mu.Unlock()
	if seen {
		return nil
	}
	return p.fetch(ctx)
}

func (p *pending) fetch(ctx context.Context) (err error) {
	p.content, err = p.Content(ctx)
	p.read = err == nil
	return err
}

// takeIn keeps what is new in a batch.
func (s *collection) takeIn(ctx context.Context, l *artifact.Log, batch []pending, m *artifact.Merged) error {
	reuses := false
	for i := range batch {
		reuses = reuses || !batch[i].read && !batch[i].Deleted
	}
	return s.commit(reuses, func() error {
		told := artifact.Merged{Added: m.Added, Known: m.Known, Clashes: m.Clashes, Refused: m.Refused}
		var blobs []blob
		var fresh []artifact.Revision
		planned := artifact.Log{} // what of the batch is taken already
		for i := range batch {
			p := &batch[i]
			fate, err := s.judge(ctx, p, l, &planned)
			var unread *unreadable
			if errors.As(err, &unread) {
				return unread.err
			}
			told.Note(&p.Revision, fate, err)
			if err != nil || fate != artifact.Added {
				continue
			}
			fresh = append(fresh, p.Revision)
			if p.read {
				blobs = append(blobs, blob{p.Digest, p.content})
			}
		}
		err := s.all.keepBlobs(blobs)
		if err == nil && len(fresh) > 0 {
			err = s.append(fresh)
		}
		if err == nil {
			*m = told
		}
		return err
	})
}

// unreadable is the error of a content that the other side does not give.
type unreadable struct{ err error }

func (u *unreadable) Error() string { return u.err.Error() }

// judge says what becomes of a revision, and notes it in planned when it is taken.
func (s *collection) judge(ctx context.Context, p *pending, l, planned *artifact.Log) (artifact.Fate, error) {
	fate, err := l.Try(&p.Revision)
	if err == nil && fate == artifact.Added {
		fate, err = planned.Try(&p.Revision)
	}
	if err != nil || fate != artifact.Added {
		return fate, err
	}
	if !p.Deleted && !p.read && !s.all.has(&p.Revision) { // it was here a moment ago
		if err := p.fetch(ctx); err != nil {
			return fate, &unreadable{err}
		}
	}
	if p.read {
		if err := p.Verify(p.content, s.all.cfg.Limits); err != nil {
			return fate, err
		}
	}
	return planned.Add(p.Revision)
}
