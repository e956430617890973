package notes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("there is no such note")
	ErrExists   = errors.New("there is a note of that name already")
	ErrFull     = errors.New("there is no room for another note")
	ErrDamaged  = errors.New("the note is damaged")
)

// Config sets up a Store.
type Config struct {
	// Project is an absolute directory of the project in the state area; it holds
	// its notes and the reviews. It is needed, and made when something is written.
	Project string
	// User is an absolute directory for the notes of the person; "" has none.
	User string
	// Redactor hides secrets in what is kept; nil knows only how secrets look.
	Redactor *text.Redactor
	// MaxReviews bounds the reviews that are kept, the newest ones; 0 is 2000.
	MaxReviews int
}

// Store keeps notes in files. It is safe for concurrent use.
type Store struct{ cfg Config }

// Open returns the Store. It touches nothing.
func Open(c Config) (*Store, error) {
	if !filepath.IsAbs(c.Project) || c.User != "" && !filepath.IsAbs(c.User) {
		return nil, fmt.Errorf("opening the notes: the directories %q and %q have to be absolute", c.Project, c.User)
	}
	if c.MaxReviews <= 0 {
		c.MaxReviews = 2000
	}
	return &Store{cfg: c}, nil
}

const suffix = ".md"

// dir returns the directory of the notes of a scope.
func (s *Store) dir(scope Scope) (string, error) {
	at := s.cfg.Project
	if scope == User {
		at = s.cfg.User
	}
	if at == "" {
		return "", fmt.Errorf("notes of the scope %s: no directory is configured for them", scope)
	}
	return filepath.Join(at, "notes"), nil
}

// file returns the place of a note. The prefix keeps names such as "con" and
// "aux" usable everywhere.
func (s *Store) file(scope Scope, slug string) (string, error) {
	if err := checkName(scope, slug); err != nil {
		return "", err
	}
	dir, err := s.dir(scope)
	return filepath.Join(dir, "note-"+slug+suffix), err
}

// Add keeps a new note. The error is ErrExists when there is one of that name,
// ErrFull when the scope has MaxNotes.
func (s *Store) Add(ctx context.Context, n Note) error {
	return told("adding a note", s.put(ctx, n, func(at string, raw []byte) error {
		there, err := files(filepath.Dir(at), "note-")
		if err != nil {
			return err
		}
		if len(there) >= MaxNotes {
			return fmt.Errorf("%w: %d notes are the limit, remove or replace one", ErrFull, MaxNotes)
		}
		if err = write(at, raw, link); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s: %w: replace it", n.Slug, ErrExists)
		}
		return err
	}))
}

// Replace keeps a note in place of the one of its name; the error is ErrNotFound
// when there is none.
func (s *Store) Replace(ctx context.Context, n Note) error {
	return told("replacing a note", s.put(ctx, n, func(at string, raw []byte) error {
		if _, err := os.Lstat(at); err != nil {
			return missing(n.Slug, err)
		}
		return write(at, raw, os.Rename)
	}))
}

func (s *Store) put(ctx context.Context, n Note, how func(at string, raw []byte) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n.Text = s.clean(n.Text)
	if err := n.check(); err != nil {
		return err
	}
	at, err := s.file(n.Scope, n.Slug)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(at), 0o700)
	}
	if err != nil {
		return err
	}
	return how(at, marshal([]field{{"scope", string(n.Scope)}, {"kind", string(n.Kind)}, {"slug", n.Slug}}, n.Text))
}

// clean returns a text as it is kept, without secrets.
func (s *Store) clean(words string) string { return clean(s.cfg.Redactor.Redact(words)) }

// Remove forgets a note; the error is ErrNotFound when there is none.
func (s *Store) Remove(ctx context.Context, scope Scope, slug string) error {
	at, err := s.file(scope, slug)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = missing(slug, os.Remove(at))
	}
	return told("removing a note", err)
}

// Get returns a note. The error is ErrNotFound or ErrDamaged.
func (s *Store) Get(ctx context.Context, scope Scope, slug string) (Note, error) {
	at, err := s.file(scope, slug)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Note{}, told("reading a note", err)
	}
	n, err := get(at, scope)
	return n, told("reading a note", missing(slug, err))
}

func get(at string, scope Scope) (Note, error) {
	head, body, err := read(at)
	if err != nil {
		return Note{}, err
	}
	slug := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(at), "note-"), suffix)
	n := Note{Scope: scope, Kind: Kind(head["kind"]), Slug: slug, Text: body}
	if err := n.check(); err != nil {
		return Note{}, fmt.Errorf("%w: %s: %w: mend or remove it", ErrDamaged, at, err)
	}
	return n, nil
}

// List returns the notes of a scope by name, at most MaxNotes, and an error for
// each one that cannot be read, which is not in the list.
func (s *Store) List(ctx context.Context, scope Scope) ([]Note, error) {
	dir, err := s.dir(scope)
	if err != nil {
		return nil, told("listing notes", err)
	}
	there, err := files(dir, "note-")
	if err != nil {
		return nil, told("listing notes", err)
	}
	var list []Note
	var errs []error
	for _, f := range there[:min(len(there), MaxNotes)] {
		if err := ctx.Err(); err != nil {
			return list, told("listing notes", err)
		}
		n, err := get(filepath.Join(dir, f), scope)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			errs = append(errs, err)
		default:
			list = append(list, n)
		}
	}
	return list, told("listing notes", errors.Join(errs...))
}

func told(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func missing(slug string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", slug, ErrNotFound)
	}
	return err
}

// files returns the files of a kind in a directory, sorted by name.
func files(dir, prefix string) ([]string, error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, f := range all {
		if f.Type().IsRegular() && strings.HasPrefix(f.Name(), prefix) && strings.HasSuffix(f.Name(), suffix) {
			names = append(names, f.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// read returns a file of the store.
func read(at string) (head map[string]string, body string, err error) {
	if info, err := os.Lstat(at); err != nil {
		return nil, "", err
	} else if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, "", fmt.Errorf("%w: %s is no file of at most %d bytes: remove it", ErrDamaged, at, maxFile)
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, "", err
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, "", err
	}
	if head, body, err = unmarshal(raw); err != nil {
		return nil, "", fmt.Errorf("%w: %s: %w: mend or remove it", ErrDamaged, at, err)
	}
	return head, body, nil
}

// write puts a whole file in its place, durably. place is os.Rename, or link
// to keep what is there.
func write(at string, raw []byte, place func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(at), ".new-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is gone after a rename
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return place(f.Name(), at)
}

// link puts a file where nothing is; the error is fs.ErrExist when something is.
func link(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, there := os.Lstat(to); there == nil { // a file system without links
		return fs.ErrExist
	}
	return os.Rename(from, to)
}
