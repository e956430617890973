package files

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

type listArgs struct {
	Limit int `json:"limit"`
}

// listing is the structured result of ls.
type listing struct {
	Path    string    `json:"path"`
	Entries int       `json:"entries"` // in the directory, without those left out
	Shown   int       `json:"shown"`
	Left    tool.Left `json:"left"`
}

func list(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[listArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	if args.Limit == 0 {
		args.Limit = 500
	}
	if err := directory(ctx, c); err != nil {
		return tool.Result{}, err
	}
	first := best{limit: args.Limit, order: byName}
	out := listing{Path: shown(c.Place, "")}
	if out.Left, err = c.Fence.Walk(ctx, c.Place, tool.WalkOptions{Depth: 1}, func(e tool.Entry) error {
		out.Entries++
		first.add(e)
		return nil
	}); err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	for _, e := range first.sorted() {
		line := entryLine(ctx, c, e)
		if b.Len()+len(line) > maxOutput {
			break
		}
		out.Shown++
		b.WriteString(line)
	}
	switch {
	case out.Entries == 0:
		b.WriteString("[the directory is empty]\n")
	case out.Shown < out.Entries:
		fmt.Fprintf(&b, "[the first %d of %d entries by name; use glob to find some of them]\n", out.Shown, out.Entries)
	}
	b.WriteString(leftOut(out.Left))
	return tool.Result{Text: strings.TrimSuffix(b.String(), "\n"), Data: data(out)}, nil
}

// directory makes sure that the place of a call is a directory.
func directory(ctx context.Context, c tool.Call) error {
	info, ok, err := stat(ctx, c)
	switch {
	case err != nil:
		return err
	case !ok:
		return absent(c)
	case info.Kind == tool.KindFile:
		return &tool.Failed{What: shown(c.Place, "") + " is a file and no directory", Next: "use read"}
	case info.Kind != tool.KindDir:
		return kindError(c, info.Kind)
	}
	return nil
}

func entryLine(ctx context.Context, c tool.Call, e tool.Entry) string {
	name := tool.Quote(e.Rel)
	if e.Info.Kind == tool.KindDir {
		return name + "/\n"
	}
	info, err := c.Fence.Stat(ctx, e.Place)
	switch {
	case err != nil:
		return name + "  (gone)\n"
	case info.Kind == tool.KindLink:
		return name + " -> " + tool.Quote(info.Target) + "\n"
	case info.Kind == tool.KindFile:
		return name + "  " + size(info.Size) + "\n"
	}
	return fmt.Sprintf("%s  (%s)\n", name, info.Kind)
}

// leftOut says what a walk did not show.
func leftOut(l tool.Left) string {
	var parts []string
	if l.Denied > 0 {
		parts = append(parts, plural(l.Denied, "entry")+" left out: not allowed")
	}
	if l.Asked > 0 {
		parts = append(parts, plural(l.Asked, "entry")+" left out: a person has to allow them; name one to ask for it")
	}
	if l.Unreadable > 0 {
		parts = append(parts, plural(l.Unreadable, "directory")+" could not be read")
	}
	if l.Deep > 0 {
		parts = append(parts, plural(l.Deep, "directory")+" too deep to be looked at")
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, "; ") + "]\n"
}
