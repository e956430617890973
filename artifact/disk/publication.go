package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/tenonrun/tenon/artifact"
)

const publicationsFile = "publications.json"

// Publish notes what was sent where.
func (s *collection) Publish(ctx context.Context, id string, p *artifact.Publication) (artifact.Descriptor, error) {
	var d artifact.Descriptor
	err := s.write(ctx, func(l *artifact.Log) error {
		before := l.Publications()
		now, err := l.Publish(id, p)
		if err != nil {
			return err
		}
		if err := s.keepPublications(l); err != nil {
			l.SetPublications(before)
			return err
		}
		d = now
		return nil
	})
	return d, s.doing("publishing artifact", id, err)
}

func (s *collection) keepPublications(l *artifact.Log) error {
	raw, err := json.MarshalIndent(l.Publications(), "", "  ")
	if err != nil {
		return err
	}
	name := path.Join(s.dir, publicationsFile)
	if err := s.all.replace(name, append(raw, '\n')); err != nil {
		return err
	}
	s.published, err = s.all.root.Stat(name)
	return err
}

// readPublications reads the record when it is another one than before.
func (s *collection) readPublications(root *os.Root) error {
	name := path.Join(s.dir, publicationsFile)
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s.published != nil {
			s.journal.log.SetPublications(nil)
			s.published = nil
		}
		return nil
	case err != nil:
		return err
	case s.published != nil && os.SameFile(s.published, info) && s.published.ModTime().Equal(info.ModTime()) && s.published.Size() == info.Size():
		return nil
	}
	raw, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	var all map[string]artifact.Publication
	if err := json.Unmarshal(raw, &all); err != nil {
		// The record is only advice: what it said is published again by hand.
		s.journal.bad = append(s.journal.bad, Bad{Collection: s.name, Err: fmt.Errorf("%s: %w", publicationsFile, err)})
	}
	s.journal.log.SetPublications(all)
	s.published = info
	return nil
}
