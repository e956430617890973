package shelf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/version"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// Record is one published version.
type Record struct {
	Kind     composition.Kind `json:"kind"`
	Org      string           `json:"org,omitempty"`
	Slug     string           `json:"slug"`
	Version  string           `json:"version"`
	Revision int              `json:"revision"` // counts the versions of the name in its tier from 1
	Tier     composition.Tier `json:"tier"`
	Place    int              `json:"place,omitempty"` // as of the item
	Digest   string           `json:"digest"`          // of the content, 64 hex digits
	Source   string           `json:"source"`          // where it was read, for people
	// Implicit tells that a run published it when it first used it, and nobody else
	// did since.
	Implicit bool      `json:"implicit,omitempty"`
	At       time.Time `json:"at,omitzero"` // when it was published
	Archived bool      `json:"-"`
}

// Ref is the exact reference.
func (r *Record) Ref() composition.Ref {
	return composition.Ref{Org: r.Org, Slug: r.Slug, Version: r.Version}
}

// Shelf keeps published versions. It may be used by any number of goroutines and
// processes.
type Shelf struct{ dir string }

// New returns the shelf in a directory, which is made when something is put there.
func New(dir string) *Shelf { return &Shelf{dir: dir} }

// Reader reads a file of a skill, by its path in the skill's folder.
type Reader func(it *composition.Item, name string) ([]byte, error)

// Publication says what is published.
type Publication struct {
	Item *composition.Item
	// Files reads the files of a skill; nil for other items.
	Files    Reader
	Implicit bool      // by a run that uses it
	At       time.Time // the zero time is left out
}

// Publish keeps a version; what is there already stays. The same version with other
// content is a *workflow.Error with CodeVersionConflict; an item that cannot be used
// is refused with its findings.
func (s *Shelf) Publish(p Publication) (Record, error) {
	it := p.Item
	r := Record{
		Kind: it.Kind, Org: it.Org, Slug: it.Slug, Version: it.Version, Tier: it.Tier, Place: it.Place, Digest: it.Digest, Source: it.Source,
		Implicit: p.Implicit || it.Implicit, At: p.At,
	}
	fail := func(err error) (Record, error) {
		return Record{}, fmt.Errorf("publishing the %s %s: %w", it.Kind, r.Ref(), err)
	}
	if err := publishable(it, p.Implicit); err != nil {
		return Record{}, err
	}
	if err := s.keep(p); err != nil {
		return fail(err)
	}
	dir := s.named(&r)
	if err := makeDir(dir); err != nil {
		return fail(err)
	}
	for {
		there, next, err := versions(dir)
		if err != nil {
			return fail(err)
		}
		if i := slices.IndexFunc(there, func(o Record) bool { return o.Version == r.Version }); i >= 0 {
			return s.again(dir, there[i], r)
		}
		r.Revision = next
		raw, err := json.Marshal(r)
		if err != nil {
			return fail(err)
		}
		err = place(filepath.Join(dir, recordName(next)), append(raw, '\n'))
		if errors.Is(err, fs.ErrExist) {
			continue // another one was faster: look again
		}
		if err != nil {
			return fail(err)
		}
		return r, nil
	}
}

// Keep publishes what a run uses: files, not drafts and not what is kept already. A
// version that was published with other content is refused.
func (s *Shelf) Keep(items []*composition.Item, files Reader, at time.Time) error {
	for _, it := range items {
		if it.Stored || it.Lifecycle != composition.Published {
			continue
		}
		if _, err := s.Publish(Publication{Item: it, Files: files, Implicit: true, At: at}); err != nil {
			return err
		}
	}
	return nil
}

// publishable refuses what must not be published.
func publishable(it *composition.Item, implicit bool) error {
	switch {
	case it.Err != nil:
		return &workflow.Error{Code: workflow.CodeInvalidComposition, Msg: fmt.Sprintf("the %s %s cannot be published:\n%v", it.Kind, it.Name(), it.Err), Err: it.Err}
	case it.Lifecycle == composition.Draft && implicit:
		return workflow.Errorf(workflow.CodeNotPublished, "the %s %s is a draft", it.Kind, it.Ref()).WithHint("publish it with tenon %s publish", it.Kind)
	case it.Lifecycle == composition.Archived:
		return workflow.Errorf(workflow.CodeInvalidArguments, "the %s %s is archived", it.Kind, it.Ref()).WithHint("give it a new version and take lifecycle: archived out")
	}
	if err := composition.CheckSlug(it.Kind, it.Slug); err != nil {
		return workflow.Errorf(workflow.CodeInvalidArguments, "publishing: %w", err)
	}
	_, err := version.Parse(it.Version)
	return err
}

// again answers a version that is there.
func (s *Shelf) again(dir string, there, r Record) (Record, error) {
	there.Archived = archived(dir, there.Revision)
	switch {
	case there.Digest != r.Digest:
		return Record{}, workflow.Errorf(workflow.CodeVersionConflict, "the %s %s of the tier %s was published with other content (%s from %s; %s has %s)",
			r.Kind, r.Ref(), r.Tier, short(there.Digest), there.Source, r.Source, short(r.Digest)).
			WithHint("a published version never changes: give it a new version, or write lifecycle: draft while you work on it")
	case there.Implicit && !r.Implicit:
		if err := place(filepath.Join(dir, fileOf(there.Revision, "explicit")), nil); err != nil && !errors.Is(err, fs.ErrExist) {
			return Record{}, fmt.Errorf("publishing the %s %s: %w", r.Kind, r.Ref(), err)
		}
		there.Implicit = false
	}
	return there, nil
}

func short(digest string) string { return digest[:min(12, len(digest))] }

// Archive keeps a version from everyone but those who pinned it.
func (s *Shelf) Archive(kind composition.Kind, tier composition.Tier, ref composition.Ref) (Record, error) {
	q := Record{Kind: kind, Org: ref.Org, Slug: ref.Slug, Tier: tier}
	if err := composition.CheckSlug(kind, ref.Slug); err != nil {
		return Record{}, workflow.Errorf(workflow.CodeInvalidArguments, "archiving: %w", err)
	}
	dir := s.named(&q)
	there, _, err := versions(dir)
	if err != nil {
		return Record{}, fmt.Errorf("archiving the %s %s: %w", kind, ref, err)
	}
	var names []string
	for _, r := range there {
		if r.Version == ref.Version || strconv.Itoa(r.Revision) == ref.Version {
			err := place(filepath.Join(dir, fileOf(r.Revision, "archived")), nil)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return Record{}, fmt.Errorf("archiving the %s %s: %w", kind, ref, err)
			}
			r.Archived = true
			return r, nil
		}
		names = append(names, r.Version)
	}
	e := workflow.Errorf(workflow.CodeNotFound, "no version %q of the %s %s was published in the tier %s", ref.Version, kind, ref.Name(), tier)
	if len(names) == 0 {
		return Record{}, e.WithHint("tenon %s publish %s publishes one", kind, ref.Name())
	}
	return Record{}, e.WithHint("there are: %s", strings.Join(names, ", "))
}

// List returns the records of a kind, of all tiers, by tier, name and revision.
func (s *Shelf) List(kind composition.Kind) ([]Record, error) {
	var out []Record
	for _, tier := range composition.Tiers() {
		base := filepath.Join(s.dir, "versions", string(kind), string(tier))
		entries, err := os.ReadDir(base)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("listing published %ss: %w", kind, err)
		}
		for _, e := range entries {
			there, _, err := versions(filepath.Join(base, e.Name()))
			if err != nil {
				return nil, fmt.Errorf("listing published %ss: %w", kind, err)
			}
			out = append(out, there...)
		}
	}
	slices.SortStableFunc(out, func(a, b Record) int {
		ra, rb := slices.Index(composition.Tiers(), a.Tier), slices.Index(composition.Tiers(), b.Tier)
		return cmp.Or(cmp.Compare(ra, rb), strings.Compare(a.Ref().Name(), b.Ref().Name()), cmp.Compare(a.Revision, b.Revision))
	})
	return out, nil
}

// Fetch returns a content by its digest.
func (s *Shelf) Fetch(digest string) ([]byte, error) {
	if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "%q is not a digest", digest).WithHint("write 64 hex digits")
	}
	raw, err := os.ReadFile(s.blob(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, workflow.Errorf(workflow.CodeNotFound, "no published content has the digest %s", short(digest)).WithHint("it may have been published on another machine: publish it here")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the published content %s: %w", short(digest), err)
	}
	if canon.Sum(raw) != digest {
		return nil, workflow.Errorf(workflow.CodeStoreDamaged, "the published content %s is damaged: %s has other content", short(digest), s.blob(digest)).
			WithHint("remove the file and publish it again from its source")
	}
	return raw, nil
}

// ReadFile is a Reader for items of the shelf.
func (s *Shelf) ReadFile(it *composition.Item, name string) ([]byte, error) {
	if it.Skill != nil {
		for _, f := range it.Skill.Files {
			if f.Path == name {
				return s.Fetch(f.SHA256)
			}
		}
	}
	return nil, fmt.Errorf("reading %s of the %s %s: %w", name, it.Kind, it.Slug, fs.ErrNotExist)
}

// Items returns all versions as items of a catalog. One whose content is damaged
// has the reason, as any item that cannot be used.
func (s *Shelf) Items() ([]composition.Item, error) {
	var out []composition.Item
	for _, kind := range composition.Kinds() {
		records, err := s.List(kind)
		if err != nil {
			return nil, err
		}
		for i := range records {
			out = append(out, s.Item(&records[i]))
		}
	}
	return out, nil
}

// Item is the item of a record.
func (s *Shelf) Item(r *Record) composition.Item {
	content, err := s.Fetch(r.Digest)
	it := composition.Item{Kind: r.Kind, Slug: r.Slug, Content: content, Err: err}
	if err == nil {
		it = s.read(r, content)
	}
	it.Org, it.Slug, it.Version, it.Revision, it.Tier, it.Place, it.Digest = r.Org, r.Slug, r.Version, r.Revision, r.Tier, r.Place, r.Digest
	it.Source, it.Stored, it.Implicit = r.Source, true, r.Implicit
	it.Lifecycle = composition.Published
	if r.Archived {
		it.Lifecycle = composition.Archived
	}
	return it
}

func (s *Shelf) read(r *Record, content []byte) composition.Item {
	switch r.Kind {
	case composition.KindAgent:
		return composition.ReadAgent(r.Source, r.Slug, content)
	case composition.KindComposition:
		return composition.ReadComposition(r.Source, r.Slug, content)
	case composition.KindSkill:
	}
	files, err := composition.ParseFiles(content)
	if err != nil {
		return composition.Item{Kind: r.Kind, Content: content, Err: err}
	}
	for _, f := range files {
		if f.Path == composition.SkillFile {
			head, err := s.Fetch(f.SHA256)
			if err != nil {
				return composition.Item{Kind: r.Kind, Content: content, Err: err}
			}
			return composition.ReadSkill(r.Source, r.Slug, head, files)
		}
	}
	return composition.Item{Kind: r.Kind, Content: content, Err: errors.New("the skill has no " + composition.SkillFile)}
}
