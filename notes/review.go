package notes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
)

// About is what a review is about. Only the same About finds it again.
type About struct {
	Role         string   `json:"role"`
	Tier         string   `json:"tier"`      // the model that speaks: provider, model and effort
	Candidate    string   `json:"candidate"` // content of the work trees
	Scope        string   `json:"scope"`     // of the state in the run
	Node         string   `json:"node"`
	Repositories []string `json:"repositories"`
}

// Review is what a role left behind about a state of the files.
type Review struct {
	Text    string // at most MaxText code points are kept; "" keeps only the rest
	Session string // id of the conversation
	Run     string // id of the run
}

func (s *Store) reviews() string { return filepath.Join(s.cfg.Project, "reviews") }

// review returns the place of a review: a digest, so that neither a role nor a
// node chooses a name.
func (s *Store) review(a About) (string, error) {
	digest, err := canon.Digest(a)
	return filepath.Join(s.reviews(), "review-"+digest+suffix), err
}

// Prior returns the review about the same; ok is false when there is none.
func (s *Store) Prior(ctx context.Context, a About) (r Review, ok bool, err error) {
	at, err := s.review(a)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return r, false, told("reading a review", err)
	}
	head, body, err := read(at)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, told("reading a review", err)
	}
	return Review{Text: text.Head(body, MaxText, "…"), Session: head["session"], Run: head["run"]}, true, nil
}

// Frozen returns what read returned when it was first called with this file, which
// it makes durable before it returns. Whoever repeats work after a crash gets the
// same words again, whatever the store says by then.
func Frozen(file string, read func() string) (string, error) {
	raw, err := os.ReadFile(file)
	if err == nil {
		return string(raw), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", told("reading what was remembered", err)
	}
	words := read()
	if err := write(file, []byte(words), os.Rename); err != nil {
		return "", told("keeping what was remembered", err)
	}
	return words, nil
}

// Record keeps a review in place of an earlier one about the same. When there are
// too many, the oldest go.
func (s *Store) Record(ctx context.Context, a About, r Review) error {
	at, err := s.review(a)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = os.MkdirAll(s.reviews(), 0o700)
	}
	if err == nil {
		head := []field{{"role", clean(a.Role)}, {"node", clean(a.Node)}, {"candidate", clean(a.Candidate)}, {"session", clean(r.Session)}, {"run", clean(r.Run)}}
		err = write(at, marshal(head, text.Head(s.clean(r.Text), MaxText, "…")), os.Rename)
	}
	if err == nil {
		err = s.trim()
	}
	return told("keeping a review", err)
}

// trim removes the oldest reviews, a tenth more than there are too many.
func (s *Store) trim() error {
	there, err := files(s.reviews(), "review-")
	if err != nil || len(there) <= s.cfg.MaxReviews {
		return err
	}
	type aged struct {
		name string
		at   int64
	}
	var list []aged
	for _, f := range there {
		if info, err := os.Lstat(filepath.Join(s.reviews(), f)); err == nil {
			list = append(list, aged{f, info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(list, func(a, b aged) int {
		if a.at != b.at {
			return int(min(1, max(-1, a.at-b.at)))
		}
		return strings.Compare(a.name, b.name)
	})
	for _, f := range list[:max(0, len(list)-s.cfg.MaxReviews+s.cfg.MaxReviews/10)] {
		if err := os.Remove(filepath.Join(s.reviews(), f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
