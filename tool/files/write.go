package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// maxReplaced is the size of a file that write replaces, in bytes: its old digest
// is evidence.
const maxReplaced = 64 << 20

type writeArgs struct {
	Content   string `json:"content"`
	Overwrite bool   `json:"overwrite"`
}

// written is the structured result of write and edit.
type written struct {
	Path    string `json:"path"`
	Created bool   `json:"created,omitempty"`
	Bytes   int64  `json:"bytes"`
	Lines   int    `json:"lines"`
	Edits   int    `json:"edits,omitempty"`    // of an edit: places that were replaced
	At      []int  `json:"at,omitempty"`       // their lines, as they are now, the first ones
	Stale   bool   `json:"stale,omitempty"`    // the file had changed since it was read
	OldEnd  ending `json:"oldEnd,omitempty"`   // line endings before, when they are others now
	OldCode string `json:"oldCode,omitempty"`  // encoding before, when it is another one now
	Same    bool   `json:"same,omitempty"`     // the content was this already
	Was     int64  `json:"wasBytes,omitempty"` // size before, in bytes
}

func write(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[writeArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	if strings.HasSuffix(c.Place.Spelled, "/") {
		return tool.Result{}, &tool.Failed{What: tool.Quote(c.Place.Spelled) + " names a directory", Next: "name a file in it"}
	}
	info, exists, err := stat(ctx, c)
	if err != nil {
		return tool.Result{}, err
	}
	out := written{Path: shown(c.Place, ""), Created: !exists, Bytes: int64(len(args.Content)), Lines: strings.Count(args.Content, "\n")}
	draft := tool.Draft{Content: []byte(args.Content), Expect: tool.NoFile, MakeParents: true, Announce: c.Host.Announce}
	if exists {
		if draft.Expect, err = expected(c, info, args.Overwrite); err != nil {
			return tool.Result{}, err
		}
		if err := compare(ctx, c, info, args.Content, &out); err != nil {
			return tool.Result{}, err
		}
	}
	change, err := c.Fence.Write(ctx, c.Place, draft)
	if err != nil {
		return tool.Result{}, conflict(err, c, args.Overwrite)
	}
	return tool.Result{Text: out.tell(), Data: data(out), Changes: []tool.Change{change}}, nil
}

// expected is the digest that a file must have to be replaced.
func expected(c tool.Call, info tool.Info, overwrite bool) (string, error) {
	switch {
	case info.Kind != tool.KindFile:
		return "", kindError(c, info.Kind)
	case info.Size > maxReplaced:
		return "", &tool.Failed{What: fmt.Sprintf("%s has %s, more than the %s that are replaced", shown(c.Place, ""), size(info.Size), size(maxReplaced)),
			Next: "move it away with a command first"}
	case overwrite:
		return "", nil
	}
	digest, ok := c.Session.Seen(c.Place.Canonical)
	if !ok {
		return "", &tool.Failed{What: shown(c.Place, "") + " exists, and you did not read it",
			Next: "read it first, or send overwrite: true if its content does not matter"}
	}
	return digest, nil
}

// compare notes what about the old file is different from the new content.
func compare(ctx context.Context, c tool.Call, info tool.Info, content string, out *written) error {
	out.Was = info.Size
	if info.Size > maxWhole {
		return nil
	}
	raw, _, err := whole(ctx, c)
	if err != nil {
		return err
	}
	old := encodingOf(raw, true)
	out.Same = string(raw) == content
	if now := encodingOf([]byte(content), true); old != now {
		out.OldCode = string(old)
	}
	if was, now := endingOf(old.decode(raw)), endingOf(content); old != asBinary && was != now && was != endNone && now != endNone {
		out.OldEnd = was
	}
	return nil
}

// conflict says what to do about a file that is not what was expected.
func conflict(err error, c tool.Call, overwrite bool) error {
	var changed *tool.Changed
	if !errors.As(err, &changed) {
		return err
	}
	e := &tool.Failed{What: shown(c.Place, "") + " changed since you read it, nothing was written", Next: "read it again, or send overwrite: true if its content does not matter", Err: nil}
	switch {
	case changed.Expected == tool.NoFile:
		e.What = shown(c.Place, "") + " was made by somebody else meanwhile, nothing was written"
	case changed.Found == tool.NoFile:
		e.What = shown(c.Place, "") + " was removed meanwhile, nothing was written"
	case overwrite:
		e.Next = "try again"
	}
	return e
}

func (w written) tell() string {
	lines := plural(w.Lines, "line")
	if w.Created {
		return fmt.Sprintf("wrote the new file %s: %s, %s", w.Path, lines, size(w.Bytes))
	}
	s := fmt.Sprintf("replaced %s: %s, %s (before: %s)", w.Path, lines, size(w.Bytes), size(w.Was))
	if w.Same {
		s = fmt.Sprintf("%s had exactly this content: %s, %s", w.Path, lines, size(w.Bytes))
	}
	if w.OldEnd != endNone {
		s += fmt.Sprintf("\n[the line endings were %s before]", w.OldEnd)
	}
	if w.OldCode != "" {
		s += fmt.Sprintf("\n[the encoding was %s before]", w.OldCode)
	}
	return s
}
