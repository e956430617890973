package files

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Config says what the tools may use. The zero value is usable.
type Config struct {
	// Ripgrep is the absolute path of the program rg. Empty for none: searches give the
	// same result, big ones take longer.
	Ripgrep string
}

// Bounds of the tools, in bytes where nothing else is said.
const (
	maxWhole  = 16 << 20  // of a file that is read into memory as a whole
	maxScan   = 64 << 20  // of a bigger file, that is looked at from its begin
	maxOutput = 48 << 10  // of the text of a result
	maxLine   = 2000      // of a line of a file that is shown
	maxFiles  = 200_000   // files of one search
	maxVisits = 1_000_000 // entries of one search
)

//go:embed *.md *.schema.json
var texts embed.FS

// Tools returns the tools, in the order a model should see them.
func Tools(c Config) []tool.Tool {
	s := newSearcher(c.Ripgrep)
	return []tool.Tool{
		made("read", workflow.EffectRead, tool.OpRead, tool.AbsentNone, read),
		made("write", workflow.EffectWrite, tool.OpWrite, tool.AbsentNone, write),
		made("edit", workflow.EffectWrite, tool.OpWrite, tool.AbsentNone, edit),
		made("grep", workflow.EffectRead, tool.OpSearch, tool.AbsentBase, s.grep),
		made("glob", workflow.EffectRead, tool.OpSearch, tool.AbsentBase, glob),
		made("ls", workflow.EffectRead, tool.OpSearch, tool.AbsentBase, list),
	}
}

func made(name string, effect workflow.Effect, op tool.Op, absent tool.Absent, run func(context.Context, tool.Call) (tool.Result, error)) tool.Tool {
	t := tool.Tool{
		Name: name, Description: embedded(name + ".md"), Schema: json.RawMessage(embedded(name + ".schema.json")), Effect: effect,
		Target:  tool.Target{Slot: "path", Base: tool.BaseCwd, Absent: absent, Op: op},
		Reading: readings[name], Run: run,
	}
	if name == "glob" {
		t.Target.Pattern = "pattern"
	}
	return t
}

// embedded gives an embedded file. A set refuses a tool whose texts are missing.
func embedded(name string) string {
	raw, _ := texts.ReadFile(name)
	return strings.TrimSpace(string(raw))
}

// readings are the other names that models use for arguments.
var readings = map[string]tool.Reading{
	"read": {Wrap: "path", Aliases: map[string]string{"file_path": "path", "filePath": "path", "filename": "path", "file": "path",
		"start_line": "offset", "line": "offset", "lines": "limit"}, Idle: []string{"description"}},
	"write": {Aliases: map[string]string{"file_path": "path", "filePath": "path", "filename": "path", "file": "path",
		"contents": "content", "text": "content"}, Idle: []string{"description"}},
	"edit": {Aliases: map[string]string{"file_path": "path", "filePath": "path", "filename": "path", "file": "path",
		"old_str": "old_string", "oldString": "old_string", "new_str": "new_string", "newString": "new_string", "replaceAll": "replace_all"},
		Idle: []string{"description"}},
	"grep": {Wrap: "pattern", Aliases: map[string]string{"query": "pattern", "regex": "pattern", "output_mode": "mode", "include": "glob",
		"-i": "ignore_case", "case_insensitive": "ignore_case", "-A": "after", "-B": "before", "-C": "context", "head_limit": "limit",
		"max_results": "limit", "directory": "path"},
		Words: map[string]map[string]string{"mode": {"files_with_matches": "files", "matches": "content"}}, Idle: []string{"-n", "description"}},
	"glob": {Wrap: "pattern", Aliases: map[string]string{"glob": "pattern", "directory": "path", "dir": "path", "head_limit": "limit"}, Idle: []string{"description"}},
	"ls":   {Wrap: "path", Aliases: map[string]string{"directory": "path", "dir": "path"}, Idle: []string{"description"}},
}

// take reads the arguments of a call into a struct.
func take[T any](c tool.Call) (T, error) {
	var v T
	if err := json.Unmarshal(c.Args.Raw, &v); err != nil {
		return v, &tool.BadArguments{Tool: c.Tool, Problems: []string{err.Error()}}
	}
	return v, nil
}

// data gives the structured part of a result.
func data(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// shown spells a place for the model: the way it could name it itself.
func shown(p tool.Place, rel string) string {
	name := p.Spelled
	if name == "" || name == "." {
		name = rel
	} else if rel != "" {
		name = path.Join(name, rel)
	}
	if name == "" {
		name = "."
	}
	return tool.Quote(name)
}

// refuse says no to files that are windows into the kernel: what they hold is
// not the work, and may be the environment of this process.
func refuse(c tool.Call) error {
	for _, root := range []string{"/proc", "/sys", "/dev"} {
		if within(c.Place.Canonical, "/dev/shm") {
			continue // it is a plain file system
		}
		if within(c.Place.Canonical, root) {
			return &tool.Denied{Verdict: tool.Verdict{Tool: c.Tool, Op: c.Place.Op, Spelled: c.Place.Spelled, Canonical: c.Place.Canonical,
				View: "canonical", Reason: root + " is a window into the system and no directory of files"}}
		}
	}
	return nil
}

// stat tells what is at the place of a call. An absent place gives ok false.
func stat(ctx context.Context, c tool.Call) (info tool.Info, ok bool, err error) {
	if err := refuse(c); err != nil {
		return info, false, err
	}
	info, err = c.Fence.Stat(ctx, c.Place)
	if errors.Is(err, fs.ErrNotExist) {
		return info, false, nil
	}
	return info, err == nil, err
}

// absent is the error for a path that does not exist.
func absent(c tool.Call) error {
	return &tool.Failed{What: shown(c.Place, "") + " does not exist" + leads(c.Place), Next: "look with ls or glob", Err: nil}
}

// leads tells where a path leads, when that is another place.
func leads(p tool.Place) string {
	if p.Canonical == "" || p.Canonical == p.Lexical {
		return ""
	}
	return " (it leads to " + tool.Quote(p.Canonical) + ")"
}

// kindError is the error for something that is no regular file.
func kindError(c tool.Call, k tool.Kind) error {
	e := &tool.Failed{What: fmt.Sprintf("%s is no regular file but a %s", shown(c.Place, ""), k)}
	switch k {
	case tool.KindDir:
		e.What = shown(c.Place, "") + " is a directory"
		e.Next = "use ls"
	case tool.KindFIFO, tool.KindSocket, tool.KindDevice:
		e.Next = "it has no content to work on"
	}
	return e
}

// whole reads a regular file of at most maxWhole bytes.
func whole(ctx context.Context, c tool.Call) (raw []byte, digest string, err error) {
	f, err := c.Fence.Open(ctx, c.Place)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	raw, err = io.ReadAll(io.LimitReader(f, maxWhole+1))
	if err != nil {
		return nil, "", &tool.Failed{What: "reading " + shown(c.Place, ""), Err: err}
	}
	if len(raw) > maxWhole {
		return nil, "", &tool.Failed{What: fmt.Sprintf("%s has %s, more than the %s that this tool works on", shown(c.Place, ""), size(max(f.Info().Size, maxWhole+1)), size(maxWhole)),
			Next: "change it with a command"}
	}
	return raw, canon.Sum(raw), nil
}

// size gives a number of bytes for people, exact where it is small.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 10<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// plural gives a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	for _, end := range []string{"ch", "s"} {
		if strings.HasSuffix(noun, end) {
			return fmt.Sprintf("%d %ses", n, noun)
		}
	}
	if head, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, head)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
