package files

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tenonrun/tenon/tool"
)

type grepArgs struct {
	Pattern    string `json:"pattern"`
	Glob       string `json:"glob"`
	Mode       string `json:"mode"`
	IgnoreCase bool   `json:"ignore_case"`
	Literal    bool   `json:"literal"`
	Context    int    `json:"context"`
	Before     *int   `json:"before"`
	After      *int   `json:"after"`
	Limit      int    `json:"limit"`
	Ignored    bool   `json:"include_ignored"`
}

// found is the structured result of grep.
type found struct {
	Path    string    `json:"path"`
	Files   int       `json:"files"` // with a match
	Lines   int       `json:"lines"` // that match; in mode files at least one a file
	Shown   int       `json:"shown"` // lines, or files
	Looked  int       `json:"looked"`
	Binary  int       `json:"binary,omitempty"`  // binary files with a match
	Failed  int       `json:"failed,omitempty"`  // files that could not be read
	Cut     int       `json:"cut,omitempty"`     // files of which only the first part was searched
	Ignored int       `json:"ignored,omitempty"` // entries that ignore files exclude
	Capped  bool      `json:"capped,omitempty"`  // the tree was too big to look at all of it
	Left    tool.Left `json:"left"`
}

// searcher is the grep tool.
type searcher struct {
	ripgrep string
	usable  func() bool
}

// search is one call of it.
type search struct {
	call   tool.Call
	args   grepArgs
	line   *regexp.Regexp
	needed needle
	before int
	after  int
	out    found
	text   strings.Builder
	full   bool // no more is shown
	single bool // the path of the call is one file
}

func (s searcher) grep(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[grepArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	run, err := newSearch(c, args)
	if err != nil {
		return tool.Result{}, err
	}
	info, ok, err := stat(ctx, c)
	switch {
	case err != nil:
		return tool.Result{}, err
	case !ok:
		return tool.Result{}, absent(c)
	case info.Kind == tool.KindFile:
		run.single = true
		err = run.file(ctx, tool.Entry{Place: c.Place})
	case info.Kind != tool.KindDir:
		return tool.Result{}, kindError(c, info.Kind)
	default:
		err = s.tree(ctx, run)
	}
	if err != nil {
		return tool.Result{}, stopped(err)
	}
	return run.result(), nil
}

func newSearch(c tool.Call, a grepArgs) (*search, error) {
	bad := func(problem, next string) error {
		return &tool.BadArguments{Tool: c.Tool, Problems: []string{problem}, Next: next}
	}
	if a.Limit == 0 {
		a.Limit = 200
	}
	run := &search{call: c, args: a, before: a.Context, after: a.Context, out: found{Path: shown(c.Place, "")}}
	if a.Before != nil {
		run.before = *a.Before
	}
	if a.After != nil {
		run.after = *a.After
	}
	if strings.Contains(a.Pattern, "\n") {
		return nil, bad("pattern has a line break, and lines are matched one by one", "search for one of the lines")
	}
	expr := a.Pattern
	if a.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if a.IgnoreCase {
		expr = "(?i:" + expr + ")"
	}
	var err error
	if run.line, err = regexp.Compile(expr); err != nil {
		return nil, bad("pattern is no regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "mend it, or send literal: true for plain text")
	}
	run.needed = needleOf(expr)
	if g := strings.TrimPrefix(a.Glob, "!"); a.Glob != "" && !doublestar.ValidatePattern(g) {
		return nil, bad("glob "+tool.Quote(a.Glob)+" is not well formed", "put a backslash before [ { } ] that are meant as they are")
	}
	return run, nil
}

// tree searches a directory.
func (s searcher) tree(ctx context.Context, run *search) error {
	var list []tool.Entry
	h := hunt{call: run.call, info: s.ripgrep != "", ignored: run.args.Ignored}
	h.found = func(e tool.Entry) error {
		if e.Info.Kind == tool.KindFile && run.wants(e.Rel) {
			if list = append(list, e); len(list) == maxFiles {
				h.capped = true
				return errEnough
			}
		}
		return nil
	}
	var err error
	if run.out.Left, err = h.run(ctx); err != nil {
		return err
	}
	run.out.Ignored, run.out.Capped = h.skipped, h.capped
	may := s.candidates(ctx, run.needed, list)
	for i, e := range list {
		if may != nil && !may[i] {
			run.out.Looked++
			continue
		}
		if err := run.file(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// wants applies the glob of the call.
func (r *search) wants(rel string) bool {
	glob, not := strings.CutPrefix(r.args.Glob, "!")
	if glob == "" {
		return true
	}
	glob = strings.TrimPrefix(glob, "./")
	name := rel
	if !strings.Contains(glob, "/") {
		name = path.Base(rel)
	}
	ok, _ := doublestar.Match(strings.TrimPrefix(glob, "/"), name)
	return ok != not
}

// result gives the text with its notes.
func (r *search) result() tool.Result {
	o := &r.out
	b := &r.text
	note := func(format string, a ...any) { fmt.Fprintf(b, "["+format+"]\n", a...) }
	total, noun := o.Files, "file"
	if r.args.Mode == "" || r.args.Mode == "content" {
		total, noun = o.Lines, "line"
	}
	switch {
	case o.Lines == 0:
		note("no line matches in %s", plural(o.Looked, "file"))
		if o.Ignored > 0 {
			note("ignored files were left out; send include_ignored: true to search them")
		}
	case o.Shown < total:
		note("shown are %d of %s in %s; narrow the search, or raise limit", o.Shown, plural(total, noun), plural(o.Files, "file"))
	}
	if o.Binary > 0 {
		note("%s matched, not shown", plural(o.Binary, "binary file"))
	}
	if o.Failed > 0 {
		note("%s could not be read", plural(o.Failed, "file"))
	}
	if o.Cut > 0 {
		note("only the first %s were searched of %s", size(maxScan), plural(o.Cut, "file"))
	}
	if o.Capped {
		note("the tree is too big: only %s were searched; name a smaller directory", plural(o.Looked, "file"))
	}
	b.WriteString(leftOut(o.Left))
	return tool.Result{Text: strings.TrimSuffix(b.String(), "\n"), Data: data(o)}
}
