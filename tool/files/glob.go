package files

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonrun/tenon/tool"
)

type globArgs struct {
	Pattern string  `json:"pattern"`
	Path    *string `json:"path"`
	Limit   int     `json:"limit"`
	Ignored bool    `json:"include_ignored"`
}

// globbed is the structured result of glob.
type globbed struct {
	Path    string    `json:"path"`
	Matches int       `json:"matches"` // all, not only those shown
	Shown   int       `json:"shown"`
	Ignored int       `json:"ignored,omitempty"` // entries that ignore files exclude
	Capped  bool      `json:"capped,omitempty"`  // the tree was too big to look at all of it
	Left    tool.Left `json:"left"`
}

func glob(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[globArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	if args.Limit == 0 {
		args.Limit = 200
	}
	pattern, err := args.relative(c)
	if err != nil {
		return tool.Result{}, err
	}
	if err := directory(ctx, c); err != nil {
		return tool.Result{}, err
	}
	base, _ := doublestar.SplitPattern(pattern)
	h := hunt{call: c, info: true, ignored: args.Ignored}
	if base != "." && !strings.ContainsRune(base, '\\') {
		h.under = base
	}
	last := best{limit: args.Limit, order: newest}
	out := globbed{Path: shown(c.Place, "")}
	h.found = func(e tool.Entry) error {
		if ok, _ := doublestar.Match(pattern, e.Rel); ok {
			out.Matches++
			last.add(e)
		}
		return nil
	}
	if out.Left, err = h.run(ctx); err != nil {
		return tool.Result{}, stopped(err)
	}
	out.Ignored, out.Capped = h.skipped, h.capped
	return out.result(c, last.sorted(), pattern), nil
}

// relative gives the pattern below the directory of the call.
func (a globArgs) relative(c tool.Call) (string, error) {
	bad := func(problem, next string) error {
		return &tool.BadArguments{Tool: c.Tool, Problems: []string{problem}, Next: next}
	}
	pattern := a.Pattern
	if path.IsAbs(pattern) {
		if a.Path != nil {
			return "", bad("pattern is absolute and path is there too", "send an absolute pattern alone, or one that is relative to path")
		}
		pattern = c.Place.Pattern
	}
	for strings.HasPrefix(pattern, "./") {
		pattern = strings.TrimLeft(pattern[1:], "/")
	}
	switch {
	case strings.HasSuffix(pattern, "/"):
		return "", bad("pattern ends in \"/\", and only files are found", "write "+pattern+"**, or use ls")
	case slices.Contains(strings.Split(pattern, "/"), ".."):
		return "", bad("pattern has \"..\"", "name the directory as path")
	case pattern == "" || !doublestar.ValidatePattern(pattern):
		return "", bad("pattern "+tool.Quote(a.Pattern)+" is not well formed", "put a backslash before [ { } ] that are meant as they are")
	}
	return pattern, nil
}

func (g *globbed) result(c tool.Call, found []tool.Entry, pattern string) tool.Result {
	var b strings.Builder
	for _, e := range found {
		line := shown(c.Place, e.Rel) + "\n"
		if b.Len()+len(line) > maxOutput {
			break
		}
		g.Shown++
		b.WriteString(line)
	}
	switch {
	case g.Matches == 0:
		b.WriteString("[no file matches]\n")
		if !strings.Contains(pattern, "/") && !strings.Contains(pattern, "**") {
			fmt.Fprintf(&b, "[only %s itself was looked at; write **/%s for all directories below it]\n", g.Path, pattern)
		}
	case g.Shown < g.Matches:
		fmt.Fprintf(&b, "[the last changed %d of %d files; narrow the pattern to see others]\n", g.Shown, g.Matches)
	}
	if g.Capped {
		fmt.Fprintf(&b, "[the tree is bigger than %d entries: the rest was not looked at; name a smaller directory]\n", maxVisits)
	}
	if g.Matches == 0 && g.Ignored > 0 {
		b.WriteString("[ignored files were left out; send include_ignored: true to find them]\n")
	}
	b.WriteString(leftOut(g.Left))
	return tool.Result{Text: strings.TrimSuffix(b.String(), "\n"), Data: data(g)}
}

// newest orders entries: the last changed first, then by name.
func newest(a, b tool.Entry) int {
	return cmp.Or(b.Info.ModTime.Compare(a.Info.ModTime), strings.Compare(a.Rel, b.Rel))
}
