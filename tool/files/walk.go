package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// hunt is a walk over the files of a tree that are of interest.
type hunt struct {
	call    tool.Call
	info    bool // entries carry everything that is known about them
	ignored bool // ignored files are of interest too
	under   string
	visits  int
	skipped int // ignored entries
	capped  bool
	top     string       // of the ignore files above, as a prefix of paths; ends in "/" or is empty
	stack   []ignoreFile // ignore files in force, outermost first
	found   func(tool.Entry) error
}

// run walks the place of the call.
func (h *hunt) run(ctx context.Context) (tool.Left, error) {
	if !h.ignored {
		h.above(ctx)
		h.push(ctx, h.call.Place, "")
	}
	return h.call.Fence.Walk(ctx, h.call.Place, tool.WalkOptions{Info: h.info}, func(e tool.Entry) error {
		if h.visits++; h.visits > maxVisits {
			h.capped = true
			return fs.SkipAll
		}
		return h.visit(ctx, e)
	})
}

func (h *hunt) visit(ctx context.Context, e tool.Entry) error {
	dir := e.Info.Kind == tool.KindDir
	if dir && path.Base(e.Rel) == ".git" {
		return fs.SkipDir
	}
	if !h.ignored {
		h.pop(e.Rel)
		if ignores(h.stack, h.top+e.Rel, dir) {
			h.skipped++
			return skip(dir)
		}
	}
	if !dir {
		return h.found(e)
	}
	if h.under != "" && !within(e.Rel, h.under) && !within(h.under, e.Rel) {
		return fs.SkipDir
	}
	if !h.ignored {
		h.push(ctx, e.Place, e.Rel)
	}
	return nil
}

func skip(dir bool) error {
	if dir {
		return fs.SkipDir
	}
	return nil
}

// within reports whether a path is a directory or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+"/")
}

// pop forgets the ignore files of directories that the walk has left.
func (h *hunt) pop(rel string) {
	for len(h.stack) > 0 {
		dir := h.stack[len(h.stack)-1].dir
		if dir == "" || within(h.top+rel, dir) {
			return
		}
		h.stack = h.stack[:len(h.stack)-1]
	}
}

// push reads the ignore file of a directory, if it has one that may be read.
func (h *hunt) push(ctx context.Context, dir tool.Place, rel string) {
	if s, ok := ignoreText(ctx, h.call.Fence, dir, ".gitignore"); ok {
		h.stack = append(h.stack, parseIgnore(strings.Trim(h.top+rel, "/"), s))
	}
}

func ignoreText(ctx context.Context, fence tool.Fence, dir tool.Place, name string) (string, bool) {
	p, err := fence.Within(ctx, dir, name, tool.OpRead)
	if err != nil || !p.Exists {
		return "", false
	}
	f, err := fence.Open(ctx, p)
	if err != nil {
		return "", false
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	return string(raw), err == nil
}

// above reads the ignore files between the root of the work tree and the
// directory of the walk.
func (h *hunt) above(ctx context.Context) {
	root, err := h.call.Fence.Judge(ctx, tool.Request{Tool: h.call.Tool, Effect: workflow.EffectRead, Args: &tool.Args{Values: map[string]any{}},
		Target: tool.Target{Slot: "path", Base: tool.BaseRoot, Absent: tool.AbsentBase, Op: tool.OpSearch}})
	if err != nil {
		return
	}
	rel, ok := strings.CutPrefix(h.call.Place.Canonical, strings.TrimSuffix(root.Canonical, "/")+"/")
	if !ok {
		return
	}
	parts := strings.Split(rel, "/")
	for i := range parts {
		dir := strings.Join(parts[:i], "/")
		if s, ok := ignoreText(ctx, h.call.Fence, root, path.Join(dir, ".gitignore")); ok {
			h.stack = append(h.stack, parseIgnore(dir, s))
		}
	}
	h.top = rel + "/"
}

// stopped turns an error of a deadline into one for the model.
func stopped(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &tool.Failed{What: "the search took too long and was stopped", Next: "name a smaller directory or a narrower pattern", Err: nil}
	}
	return err
}
