package shelf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/ident"
)

// Layout: blobs/ab/cdef… holds contents; versions/KIND/TIER/NAME/000001.json a
// record, beside it 000001.archived and 000001.explicit where they hold.

func (s *Shelf) blob(digest string) string {
	return filepath.Join(s.dir, "blobs", digest[:2], digest[2:])
}

// named is the directory of the versions of a name. A slash in it is written as a
// comma, which no name holds.
func (s *Shelf) named(r *Record) string {
	return filepath.Join(s.dir, "versions", string(r.Kind), string(r.Tier), strings.ReplaceAll(r.Ref().Name(), "/", ","))
}

func fileOf(revision int, ext string) string { return fmt.Sprintf("%06d.%s", revision, ext) }

func recordName(revision int) string { return fileOf(revision, "json") }

func archived(dir string, revision int) bool {
	return exists(filepath.Join(dir, fileOf(revision, "archived")))
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// versions reads the records of a name, by revision, and gives the next revision.
func versions(dir string) (out []Record, next int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	next = 1
	for _, e := range entries {
		number, ok := strings.CutSuffix(e.Name(), ".json")
		revision, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		next = max(next, revision+1)
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, 0, err
		}
		var r Record
		if err := json.Unmarshal(raw, &r); err != nil || r.Revision != revision || len(r.Digest) != 64 {
			return nil, 0, fmt.Errorf("the record %s is damaged: remove it and publish the version again", filepath.Join(dir, e.Name()))
		}
		r.Archived = archived(dir, revision)
		r.Implicit = r.Implicit && !exists(filepath.Join(dir, fileOf(revision, "explicit")))
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Record) int { return a.Revision - b.Revision })
	return out, next, nil
}

// keep makes the contents of a publication durable.
func (s *Shelf) keep(p Publication) error {
	if p.Item.Skill != nil {
		for _, f := range p.Item.Skill.Files {
			if s.holds(f.SHA256, f.Size) {
				continue
			}
			if p.Files == nil {
				return fmt.Errorf("nobody gives the file %s", f.Path)
			}
			raw, err := p.Files(p.Item, f.Path)
			if err != nil {
				return err
			}
			if err := s.put(f.SHA256, raw); err != nil {
				return err
			}
		}
	}
	if s.holds(p.Item.Digest, int64(len(p.Item.Content))) {
		return nil
	}
	return s.put(p.Item.Digest, p.Item.Content)
}

// holds reports whether a content is there, whole.
func (s *Shelf) holds(digest string, size int64) bool {
	info, err := os.Stat(s.blob(digest))
	if err != nil || info.Size() != size {
		return false
	}
	raw, err := os.ReadFile(s.blob(digest))
	return err == nil && canon.Sum(raw) == digest
}

// put writes a content; a damaged one is replaced.
func (s *Shelf) put(digest string, raw []byte) error {
	if canon.Sum(raw) != digest {
		return fmt.Errorf("the content has not the digest %s: it has changed since it was read", short(digest))
	}
	name := s.blob(digest)
	if err := makeDir(filepath.Dir(name)); err != nil {
		return err
	}
	temp, err := write(filepath.Dir(name), raw)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(name))
}

// place gives a new file its name; a name that is taken is fs.ErrExist.
func place(name string, raw []byte) error {
	temp, err := write(filepath.Dir(name), raw)
	if err != nil {
		return err
	}
	err = os.Link(temp, name)
	if rm := os.Remove(temp); rm != nil {
		err = errors.Join(err, rm)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// write makes a durable file without a name that anyone looks for.
func write(dir string, raw []byte) (string, error) {
	name := filepath.Join(dir, ident.New(".new-"))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

// makeDir makes a directory and those above it, durably.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := makeDir(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// syncDir makes the names in a directory durable, where the system can.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
