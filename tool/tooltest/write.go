package tooltest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// Write implements tool.Fence.
func (f *Fence) Write(ctx context.Context, p tool.Place, d tool.Draft) (tool.Change, error) {
	if p.Op != tool.OpWrite {
		return tool.Change{}, &tool.Failed{What: tool.Quote(p.Spelled) + " was not judged for writing"}
	}
	sum := sha256.Sum256(d.Content)
	c := tool.Change{Path: p.Canonical, After: hex.EncodeToString(sum[:]), Size: int64(len(d.Content))}
	var err error
	if c.Before, err = f.Digest(ctx, p.Canonical); err != nil {
		return c, err
	}
	if d.Expect != "" && d.Expect != c.Before {
		return c, &tool.Changed{Path: p.Spelled, Expected: d.Expect, Found: c.Before}
	}
	if err := unmoved(p); err != nil {
		return c, err
	}
	staged, err := stage(p, d)
	if staged != "" {
		defer os.Remove(staged) //nolint:errcheck // gone when it was published
	}
	if err != nil {
		return c, failed("writing", p, err)
	}
	if d.Announce != nil {
		if err := d.Announce(ctx, c); err != nil {
			return c, err
		}
	}
	if now, err := f.Digest(ctx, p.Canonical); err != nil || now != c.Before {
		return c, &tool.Changed{Path: p.Spelled, Expected: c.Before, Found: now}
	}
	if err := unmoved(p); err != nil {
		return c, err
	}
	if err := os.Rename(staged, p.Canonical); err != nil {
		return c, failed("writing", p, err)
	}
	return c, nil
}

// unmoved makes sure that a place still leads to where it was judged.
func unmoved(p tool.Place) error {
	if now, err := canonical(p.Canonical, 0); err != nil || now != p.Canonical {
		return &tool.Failed{What: tool.Quote(p.Spelled) + " leads elsewhere since it was judged", Next: "try again"}
	}
	return nil
}

// stage puts the new content beside the file.
func stage(p tool.Place, d tool.Draft) (string, error) {
	dir := filepath.Dir(p.Canonical)
	if d.MakeParents {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Lstat(p.Canonical); err == nil {
		mode = info.Mode().Perm()
	}
	h, err := os.CreateTemp(dir, ".tooltest-*")
	if err != nil {
		return "", err
	}
	_, err = h.Write(d.Content)
	return h.Name(), errors.Join(err, h.Chmod(mode), h.Sync(), h.Close())
}

// Walk implements tool.Fence.
func (f *Fence) Walk(ctx context.Context, dir tool.Place, o tool.WalkOptions, visit func(tool.Entry) error) (tool.Left, error) {
	w := walk{fence: f, options: o, visit: visit, op: dir.Op}
	info, err := os.Lstat(dir.Canonical)
	if err != nil {
		return w.left, failed("listing", dir, err)
	}
	if !info.IsDir() {
		return w.left, &tool.Failed{What: tool.Quote(dir.Spelled) + " is no directory"}
	}
	err = w.dir(ctx, dir, "", 1)
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return w.left, err
}

type walk struct {
	fence   *Fence
	options tool.WalkOptions
	visit   func(tool.Entry) error
	op      tool.Op
	left    tool.Left
}

func (w *walk) dir(ctx context.Context, dir tool.Place, rel string, depth int) error {
	h, err := os.Open(dir.Canonical)
	if err != nil {
		w.left.Unreadable++
		return nil
	}
	defer h.Close() //nolint:errcheck // only read
	batch, err := h.ReadDir(tool.SortUpTo + 1)
	if len(batch) <= tool.SortUpTo {
		slices.SortFunc(batch, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	for {
		for _, e := range batch {
			if err := w.entry(ctx, dir, e, rel, depth); err != nil {
				return err
			}
		}
		if err != nil || len(batch) <= tool.SortUpTo {
			break
		}
		if batch, err = h.ReadDir(tool.SortUpTo + 1); len(batch) == 0 {
			break
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.left.Unreadable++
	}
	return nil
}

func (w *walk) entry(ctx context.Context, dir tool.Place, e fs.DirEntry, rel string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := tool.Place{Op: w.op, Spelled: filepath.Join(dir.Spelled, e.Name()), Lexical: filepath.Join(dir.Lexical, e.Name()),
		Canonical: filepath.Join(dir.Canonical, e.Name()), Exists: true}
	for _, path := range []string{p.Lexical, p.Canonical} {
		var denied *tool.Denied
		switch err := w.fence.rule(path, w.op, tool.Verdict{}); {
		case errors.As(err, &denied):
			w.left.Denied++
			return nil
		case err != nil:
			w.left.Asked++
			return nil //nolint:nilerr // it is counted
		}
	}
	info, err := e.Info()
	if err != nil {
		return nil //nolint:nilerr // it is gone meanwhile
	}
	out := tool.Entry{Rel: filepath.Join(rel, e.Name()), Info: tell(p.Canonical, info), Place: p}
	out.Place.Identity = out.Info.Identity
	if !w.options.Info {
		out.Info = tool.Info{Kind: out.Info.Kind}
	}
	err = w.visit(out)
	if errors.Is(err, fs.SkipDir) && out.Info.Kind == tool.KindDir {
		return nil
	}
	if err != nil || out.Info.Kind != tool.KindDir || w.options.Depth != 0 && depth >= w.options.Depth {
		return err
	}
	return w.dir(ctx, out.Place, out.Rel, depth+1)
}

// tell gives what a file is.
func tell(path string, info fs.FileInfo) tool.Info {
	out := tool.Info{Kind: tool.KindOther, Size: info.Size(), Disk: info.Size(), Mode: info.Mode(), ModTime: info.ModTime(), Links: 1}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		out.Kind = tool.KindFile
	case mode.IsDir():
		out.Kind = tool.KindDir
	case mode&fs.ModeSymlink != 0:
		out.Kind = tool.KindLink
		out.Target, _ = os.Readlink(path)
	case mode&fs.ModeNamedPipe != 0:
		out.Kind = tool.KindFIFO
	case mode&fs.ModeSocket != 0:
		out.Kind = tool.KindSocket
	case mode&fs.ModeDevice != 0:
		out.Kind = tool.KindDevice
	}
	system(&out, info)
	return out
}
