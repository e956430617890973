package cli

import (
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"github.com/tenonrun/tenon/cli/live"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
)

// drawable reports whether standard error can show a tree that changes: a
// terminal that can move its cursor, with a person before it.
func (a *app) drawable() bool {
	ci := a.std.Getenv("CI")
	kind := a.std.Getenv("TERM")
	return a.std.Terminal && (ci == "" || ci == "0" || ci == "false") && kind != "" && kind != "dumb"
}

// tree is progress on a terminal. While it is there, standard error goes above
// it.
type tree struct {
	*live.View
	a   *app
	err io.Writer
}

func (a *app) draw() *tree {
	t := &tree{a: a, err: a.std.Err}
	t.View = live.Open(live.Config{
		Out: a.std.Err, Size: terminalSize(a.std.Err), Color: a.std.Getenv("NO_COLOR") == "", ASCII: !speaksUTF8(a.std.Getenv),
		Reflow: reflows(a.std.Getenv), Reply: a.reply,
		Recover: func(run workflow.RunID, visit workflow.VisitID) []string { return []string{a.recovery(run, visit)} },
	})
	a.std.Err = t.View
	return t
}

func (t *tree) know(name string, def *workflow.Definition) { t.Know(name, def) }
func (t *tree) event(run workflow.RunID, e workflow.Event) { t.Event(run, e) }
func (t *tree) progress(n engine.Notice)                   { t.Progress(n.Run, n.Visit, *n.Progress) }

func (t *tree) stop() {
	t.a.std.Err = t.err
	_ = t.Close() // a terminal that is gone changes nothing about the run
}

// terminalSize returns what asks the terminal for its columns and rows.
func terminalSize(w io.Writer) func() (int, int) {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	return func() (int, int) {
		cols, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return cols, rows
	}
}

// speaksUTF8 reports whether the locale is one of UTF-8.
func speaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return runtime.GOOS == "darwin"
}

// reflows reports whether the terminal wraps old lines again when it gets
// narrower: all that are not known for cutting them off.
func reflows(getenv func(string) string) bool {
	kind := getenv("TERM")
	switch {
	case getenv("XTERM_VERSION") != "" || kind == "linux" || strings.HasPrefix(kind, "st-"):
		return false
	}
	return getenv("TMUX") != "" || !strings.HasPrefix(kind, "screen")
}
