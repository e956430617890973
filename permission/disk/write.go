package disk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// newMode is the mode of a file that is made.
const newMode = fs.FileMode(0o644)

// Write implements tool.Fence. The new content is complete and on disk under
// another name in the same directory before it takes the name of the file.
func (f *Fence) Write(ctx context.Context, p tool.Place, d tool.Draft) (tool.Change, error) {
	if err := usable(p, true); err != nil {
		return tool.Change{}, err
	}
	w := &writing{place: p, draft: d}
	parent, name := splitLast(p.Canonical)
	w.name = name
	var err error
	if w.dir, err = openParent(parent, d.MakeParents); err != nil {
		return tool.Change{}, failed("writing", p, err)
	}
	defer w.dir.close()
	return w.run(ctx, parent)
}

// writing is one write in a directory that is held.
type writing struct {
	place  tool.Place
	draft  tool.Draft
	dir    *dir
	name   string
	change tool.Change
	info   tool.Info // of the file before
}

func (w *writing) run(ctx context.Context, parent string) (tool.Change, error) {
	sum := sha256.Sum256(w.draft.Content)
	w.change = tool.Change{Path: w.place.Canonical, After: hex.EncodeToString(sum[:]), Size: int64(len(w.draft.Content))}
	var err error
	if w.change.Before, err = w.look(); err != nil {
		return w.change, err
	}
	if w.draft.Expect != "" && w.draft.Expect != w.change.Before {
		return w.change, &tool.Changed{Path: w.place.Spelled, Expected: w.draft.Expect, Found: w.change.Before}
	}
	staged, err := w.stage()
	if staged != "" {
		defer func() { _ = w.dir.remove(staged) }() // it is gone when it was published
	}
	if err != nil {
		return w.change, failed("writing", w.place, err)
	}
	if w.draft.Announce != nil {
		if err := w.draft.Announce(ctx, w.change); err != nil {
			return w.change, err
		}
	}
	now, err := w.look()
	if err != nil {
		return w.change, err
	}
	if now != w.change.Before {
		return w.change, &tool.Changed{Path: w.place.Spelled, Expected: w.change.Before, Found: now}
	}
	if err := w.dir.verify(parent); err != nil {
		return w.change, failed("writing", w.place, err)
	}
	err = w.dir.publish(staged, w.name, w.change.Before == tool.NoFile)
	if errors.Is(err, fs.ErrExist) {
		return w.change, &tool.Changed{Path: w.place.Spelled, Expected: tool.NoFile, Found: "another file"}
	}
	if err != nil {
		return w.change, failed("writing", w.place, err)
	}
	if err := w.dir.sync(); err != nil {
		return w.change, failed("writing", w.place, err)
	}
	return w.change, nil
}

// look gives the digest of what is at the name. Only a regular file, the one that
// was judged where one was, may be replaced.
func (w *writing) look() (string, error) {
	h, info, err := w.dir.read(w.name)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.NoFile, nil
	}
	if err != nil {
		if info.Kind == tool.KindLink {
			return "", linked(w.place.Spelled, info.Target)
		}
		return "", failed("writing", w.place, err)
	}
	defer done(h)
	// A link count that grew meanwhile shows another name for the same file. The new
	// content goes to a file of its own, so the other name keeps the old one.
	w.info = info
	sum, err := digest(h)
	if err != nil {
		return "", failed("writing", w.place, err)
	}
	return sum, nil
}

// stage writes the content under another name and returns that. The name is the
// same for the same write: one that is made again after a crash replaces what the
// first left behind.
func (w *writing) stage() (string, error) {
	sum := sha256.Sum256([]byte(w.name + "\x00" + w.change.After))
	name := ".tenon-" + hex.EncodeToString(sum[:16]) + ".tmp"
	h, err := w.dir.create(name)
	if errors.Is(err, fs.ErrExist) && w.dir.remove(name) == nil {
		h, err = w.dir.create(name)
	}
	if err != nil {
		return "", err
	}
	mode := newMode
	if w.change.Before != tool.NoFile {
		mode = w.info.Mode.Perm()
		w.dir.keepOwner(w.name, h)
	}
	_, err = h.Write(w.draft.Content)
	return name, errors.Join(err, h.Chmod(mode), h.Sync(), h.Close())
}

// openParent holds the directory of a file, and makes it with those above when
// it is missing.
func openParent(canonical string, make bool) (*dir, error) {
	d, err := openDir(canonical)
	if err == nil || !make || !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	parent, name := splitLast(canonical)
	if name == "" {
		return nil, err
	}
	up, err := openParent(parent, true)
	if err != nil {
		return nil, err
	}
	defer up.close()
	if err := up.mkdir(name); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	d, err = up.sub(name)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.verify(canonical), up.sync()); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// splitLast divides a canonical path into its directory and its last name.
func splitLast(canonical string) (parent, name string) {
	i := strings.LastIndex(canonical, separator)
	if i < 0 {
		return canonical, ""
	}
	parent, name = canonical[:i], canonical[i+1:]
	if parent == "" || strings.HasSuffix(parent, ":") {
		parent += separator
	}
	return parent, name
}
