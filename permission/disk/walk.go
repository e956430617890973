package disk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/tool"
)

// maxDepth is how deep a walk goes; what is deeper is counted. Each level holds a
// handle.
const maxDepth = 400

// Walk implements tool.Fence.
func (f *Fence) Walk(ctx context.Context, at tool.Place, o tool.WalkOptions, visit func(tool.Entry) error) (tool.Left, error) {
	w := &walk{fence: f, options: o, visit: visit, tool: toolFor(at.Tool, at.Op), op: at.Op}
	if err := usable(at, false); err != nil {
		return w.left, err
	}
	d, err := openDir(at.Canonical)
	if err != nil {
		return w.left, failed("listing", at, err)
	}
	defer d.close()
	if err = w.dir(ctx, d, at, "", 1); errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return w.left, err
}

type walk struct {
	fence   *Fence
	options tool.WalkOptions
	visit   func(tool.Entry) error
	tool    string
	op      tool.Op
	left    tool.Left
}

// dir visits the entries of one directory. A directory of more than SortUpTo
// entries comes in pieces, as the disk has it.
func (w *walk) dir(ctx context.Context, d *dir, at tool.Place, rel string, depth int) error {
	h, err := d.list(at.Canonical)
	if err != nil {
		w.left.Unreadable++
		return nil
	}
	defer done(h)
	for whole := true; ; whole = false {
		batch, err := h.ReadDir(tool.SortUpTo + 1)
		if whole && len(batch) <= tool.SortUpTo {
			slices.SortFunc(batch, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		}
		for _, e := range batch {
			if err := w.entry(ctx, d, at, e, rel, depth); err != nil {
				return err
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			w.left.Unreadable++
		}
		if err != nil || len(batch) == 0 {
			return nil
		}
	}
}

func (w *walk) entry(ctx context.Context, d *dir, at tool.Place, e os.DirEntry, rel string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := e.Name()
	out := tool.Entry{Rel: below(rel, name, "/"), Info: tool.Info{Kind: kindOf(e.Type())}}
	if out.Info.Kind == tool.KindOther || w.options.Info || out.Info.Kind == tool.KindLink {
		info, err := d.stat(name)
		if err != nil {
			return nil //nolint:nilerr // it is gone meanwhile
		}
		out.Info = info
	}
	v := w.judge(ctx, at, name, out.Info.Kind)
	switch {
	case v.Effect == permission.Deny:
		w.left.Denied++
		return nil
	case v.Effect != permission.Allow && !w.fence.granted(&v):
		w.left.Asked++
		return nil
	}
	out.Place = tool.Place{
		Tool: at.Tool, Op: w.op, Spelled: below(at.Spelled, name, separator), Lexical: v.Reading.Lexical, Canonical: v.Reading.Canonical,
		Exists: v.Reading.Exists, Identity: tool.Identity{Dev: v.Reading.Dev, Ino: v.Reading.Ino},
	}
	if out.Info.Kind != tool.KindLink {
		out.Place.Identity = out.Info.Identity
	}
	err := w.visit(out)
	switch {
	case errors.Is(err, fs.SkipDir) && out.Info.Kind == tool.KindDir:
		return nil
	case err != nil || out.Info.Kind != tool.KindDir || w.options.Depth != 0 && depth >= w.options.Depth:
		return err
	}
	return w.enter(ctx, d, out.Place, name, out.Rel, depth)
}

func (w *walk) enter(ctx context.Context, d *dir, at tool.Place, name, rel string, depth int) error {
	if depth >= maxDepth {
		w.left.Deep++
		return nil
	}
	sub, err := d.sub(name)
	if err != nil {
		w.left.Unreadable++
		return nil
	}
	defer sub.close()
	return w.dir(ctx, sub, at, rel, depth+1)
}

// judge decides about one entry. Only a link needs the disk: everything else is
// where its directory is.
func (w *walk) judge(ctx context.Context, at tool.Place, name string, kind tool.Kind) permission.Verdict {
	lexical := below(at.Lexical, name, separator)
	r := permission.Reading{Lexical: lexical}
	r.Kind, r.Family = pathid.AtPath, pathid.Of(lexical)
	r.Spelled = lexical
	if kind == tool.KindLink {
		r.Spelled, r.Base = below(at.Canonical, name, separator), ""
	} else {
		r.Asked, r.Exists, r.Canonical = true, true, below(at.Canonical, name, separator)
	}
	v := w.fence.judge.JudgeReading(ctx, w.tool, permission.Op(w.op), r)
	if v.Effect == permission.Allow && v.Reading.Canonical == "" {
		v.Effect = permission.Ask
	}
	return v
}

func below(dir, name, sep string) string {
	if dir == "" || strings.HasSuffix(dir, sep) {
		return dir + name
	}
	return dir + sep + name
}

func kindOf(m fs.FileMode) tool.Kind {
	switch {
	case m.IsRegular():
		return tool.KindFile
	case m.IsDir():
		return tool.KindDir
	case m&fs.ModeSymlink != 0:
		return tool.KindLink
	}
	return tool.KindOther
}
