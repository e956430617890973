package scope

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// mend keeps what the turn wrote, tells what is about to be done, and does it:
// first what is new goes, the deepest paths first, then what was there comes
// back.
func (m *mender) mend(ctx context.Context, wishes []wish) error {
	var wanted []wish
	for i := range wishes {
		w := &wishes[i]
		w.change.Done = PutBack
		if w.before.Kind == nothing {
			w.change.Done = TakenAway
		}
		if w.before.Lost != "" {
			m.fail(*w, errors.New(w.before.Lost))
			continue
		}
		if err := m.keep(w); err != nil {
			m.fail(*w, err)
			continue
		}
		m.capture.found.note(w.change)
		wanted = append(wanted, *w)
	}
	if err := writeJSON(m.capture.path(foundFile), m.capture.found); err != nil {
		return err
	}
	for _, w := range slices.Backward(wanted) {
		if w.before.Kind == nothing {
			if err := m.place.root.Remove(filepath.FromSlash(string(w.now.Path))); err != nil && !gone(err) {
				m.fail(w, err)
				continue
			}
			m.prune(path.Dir(string(w.now.Path)))
		}
	}
	for _, dir := range slices.Backward(m.fresh) {
		m.prune(dir)
	}
	wanted = slices.DeleteFunc(wanted, func(w wish) bool { return w.before.Kind == nothing })
	return m.contents(ctx, wanted, func(w wish, content []byte) error {
		if err := m.restore(w, content); err != nil {
			m.fail(w, err)
		}
		return ctx.Err()
	})
}

// fail notes that a path stays as it is.
func (m *mender) fail(w wish, err error) {
	w.change.Done, w.change.Reason = "", err.Error()
	m.given[string(w.now.Path)] = true
	m.capture.found.note(w.change)
}

// keep copies what lies at a path now to the side.
func (m *mender) keep(w *wish) error {
	if w.permissions || w.now.Kind != file && w.now.Kind != link {
		return nil
	}
	f, err := m.aside(string(w.now.Path))
	if err != nil {
		return err
	}
	if w.now.Kind == link {
		_, err = f.WriteString(string(w.now.Text))
	} else {
		err = m.copy(f, w.now)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		if errors.Is(err, errFull) {
			err = fmt.Errorf("what the turn wrote is larger than %d bytes, and is not kept aside", m.capture.guard.cfg.MaxAside)
		}
		return errors.Join(err, os.Remove(f.Name()))
	}
	w.change.Kept = f.Name()
	return nil
}

func (m *mender) copy(to *os.File, now entry) error {
	err := m.place.copy(&capped{to: to, room: m.room()}, string(now.Path))
	if errors.Is(err, fs.ErrPermission) { // it is to be replaced or removed anyway
		if err = m.place.root.Chmod(filepath.FromSlash(string(now.Path)), now.Perm|0o400); err == nil {
			err = m.place.copy(&capped{to: to, room: m.room()}, string(now.Path))
		}
	}
	return err
}

// aside makes the next file for what a turn wrote.
func (m *mender) aside(at string) (*os.File, error) {
	dir := m.capture.path(asideDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, fmt.Sprintf("%04d-%s", len(there)+1, plain(at))), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// room is how many bytes may still be kept aside.
func (m *mender) room() int64 {
	room := m.capture.guard.cfg.MaxAside
	there, err := os.ReadDir(m.capture.path(asideDir))
	if err != nil {
		return 0
	}
	for _, f := range there {
		if info, err := f.Info(); err == nil {
			room -= info.Size()
		}
	}
	return room
}

// prune removes directories that the turn made, from the inside out.
func (m *mender) prune(dir string) {
	for ; dir != "." && !m.stays(dir) && m.place.root.Remove(filepath.FromSlash(dir)) == nil; dir = path.Dir(dir) {
	}
}

// stays reports whether a directory was there before the turn. In a git work tree
// the folders hold nothing tracked, and what is in them is not told apart.
func (m *mender) stays(dir string) bool {
	if m.folders[dir] || len(m.held.Trees) == 0 {
		return m.folders[dir]
	}
	return slices.ContainsFunc(m.held.Folders, func(f name) bool { return inside(dir, string(f)) })
}

// maxBatch bounds the bytes that are asked of git at once.
const maxBatch = 32 << 20

// contents hands each wish its bytes, nil for links and when only permissions
// differ.
func (m *mender) contents(ctx context.Context, wishes []wish, take func(wish, []byte) error) error {
	for len(wishes) > 0 {
		n, size := 0, int64(0)
		for n < len(wishes) && wishes[n].before.Tree == wishes[0].before.Tree && (n == 0 || size+wishes[n].before.Size <= maxBatch) {
			size += wishes[n].before.Size
			n++
		}
		if err := m.batch(ctx, wishes[:n], take); err != nil {
			return err
		}
		wishes = wishes[n:]
	}
	return nil
}

func (m *mender) batch(ctx context.Context, wishes []wish, take func(wish, []byte) error) error {
	var ids []string
	var fromGit []wish
	for _, w := range wishes {
		switch {
		case w.before.Kind != file || w.permissions:
			if err := take(w, nil); err != nil {
				return err
			}
		case w.before.Blob != "":
			ids, fromGit = append(ids, w.before.Blob), append(fromGit, w)
		default:
			content, err := m.packed(w.before)
			if err != nil {
				m.fail(w, err)
			} else if err := take(w, content); err != nil {
				return err
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	t, err := m.place.tree(ctx, string(fromGit[0].before.Tree))
	if err != nil {
		return err
	}
	return t.bytes(ctx, ids, func(i int, content []byte) error {
		if int64(len(content)) != fromGit[i].before.Size {
			m.fail(fromGit[i], fmt.Errorf("git does not have object %s any more", ids[i]))
			return nil
		}
		return take(fromGit[i], content)
	})
}

// packed reads bytes that were copied before the turn.
func (m *mender) packed(e entry) ([]byte, error) {
	f, err := os.Open(m.capture.path(packFile))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	content := make([]byte, e.Size)
	if _, err := f.ReadAt(content, e.At); err != nil && e.Size > 0 {
		return nil, fmt.Errorf("reading the copy: %w", err)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != e.Sum {
		return nil, errors.New("the copy is damaged")
	}
	return content, nil
}

// restore makes a path what it was.
func (m *mender) restore(w wish, content []byte) error {
	at := filepath.FromSlash(string(w.before.Path))
	if err := m.parents(string(w.before.Path)); err != nil {
		return err
	}
	root := m.place.root
	if w.permissions {
		return root.Chmod(at, w.before.Perm)
	}
	if info, err := root.Lstat(at); err == nil && info.IsDir() {
		if err := root.Remove(at); err != nil {
			return fmt.Errorf("a directory is in its place: %w", err)
		}
	}
	tmp := filepath.Join(filepath.Dir(at), ".tenon-put-back.tmp")
	if err := root.Remove(tmp); err != nil && !gone(err) {
		return err
	}
	if err := m.make(tmp, w.before, content); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return root.Rename(tmp, at)
}

func (m *mender) make(tmp string, e entry, content []byte) error {
	if e.Kind == link {
		return m.place.root.Symlink(string(e.Text), tmp)
	}
	f, err := m.place.root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Chmod(e.Perm), f.Close())
}

// parents makes the directories of a path. A link or file in their place, which
// git ignores or it would be gone by now, is kept aside and removed.
func (m *mender) parents(at string) error {
	for i, c := range at {
		if c != '/' {
			continue
		}
		dir := at[:i]
		info, err := m.place.root.Lstat(filepath.FromSlash(dir))
		if err == nil && !info.IsDir() {
			if err := m.clear(dir); err != nil {
				return err
			}
			err = fs.ErrNotExist
		}
		switch {
		case gone(err):
			err = m.place.root.Mkdir(filepath.FromSlash(dir), 0o755)
		case err == nil && info.Mode().Perm()&0o300 != 0o300:
			err = m.place.root.Chmod(filepath.FromSlash(dir), info.Mode().Perm()|0o700)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clear takes away what lies in the place of a directory.
func (m *mender) clear(dir string) error {
	m.place.dirs = map[string]bool{}
	now, err := m.place.look(dir)
	if err != nil {
		return err
	}
	w := wish{now: now, change: Change{Repository: m.held.ID, Path: shown(dir), What: Added, Done: TakenAway}}
	if err := m.keep(&w); err != nil {
		return err
	}
	m.capture.found.note(w.change)
	return m.place.root.Remove(filepath.FromSlash(dir))
}
