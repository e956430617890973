package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of one call of artifact_read.
const (
	maxLines = 2000
	maxBytes = 48 << 10
	maxList  = 200
)

type readArgs struct {
	ID         string `json:"id"`
	Collection string `json:"collection"`
	Version    int64  `json:"version"`
	Offset     int    `json:"offset"`
	Byte       int    `json:"byte"`
	Limit      int    `json:"limit"`
}

func (cfg Config) read(ctx context.Context, c tool.Call) (tool.Result, error) {
	var args readArgs
	if err := json.Unmarshal(c.Args.Raw, &args); err != nil {
		return tool.Result{}, &tool.BadArguments{Tool: c.Tool, Problems: []string{err.Error()}}
	}
	_, collection, err := cfg.open(ctx, c, args.Collection)
	if err != nil {
		return tool.Result{}, err
	}
	if args.ID == "" {
		return list(ctx, collection)
	}
	a, err := collection.Get(ctx, args.ID)
	if err != nil {
		return tool.Result{}, missing(ctx, collection, args.ID, err)
	}
	version := args.Version
	if version == 0 {
		version = artifact.Latest
	}
	r, content, err := collection.Read(ctx, args.ID, version)
	if err != nil {
		return tool.Result{}, told("reading the artifact "+tool.Quote(args.ID), err)
	}
	body, note := excerpt(content, args)
	head := fmt.Sprintf("[%s version %d of %d: %q, %s, %d bytes%s]\n", r.Artifact, r.Version, a.Current().Version, r.Title, tool.Quote(r.Mime), r.Bytes, by(r.Author))
	if body != "" && !strings.HasSuffix(body, "\n") && note != "" {
		body += "\n"
	}
	return tool.Result{Text: head + body + note, Data: data(map[string]any{"id": r.Artifact, "version": r.Version, "sha256": r.Digest})}, nil
}

func by(a artifact.Author) string {
	if a == artifact.Person {
		return ", written by a person"
	}
	return ""
}

// excerpt returns lines of a content, bounded, and what to say about the rest. The
// first line begins at a byte of it.
func excerpt(content string, args readArgs) (body, note string) {
	if content == "" {
		return "", "[it is empty]"
	}
	limit, offset, from := args.Limit, max(args.Offset, 1), max(args.Byte, 1)-1
	if limit <= 0 || limit > maxLines {
		limit = maxLines
	}
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if offset > len(lines) {
		return "", fmt.Sprintf("[it has %d lines]", len(lines))
	}
	whole := len(lines[offset-1])
	if from >= whole {
		return "", fmt.Sprintf("[line %d of %d has %d bytes]", offset, len(lines), whole)
	}
	for from > 0 && !utf8.RuneStart(lines[offset-1][from]) {
		from-- // to where the character begins
	}
	lines[offset-1] = lines[offset-1][from:]
	var b strings.Builder
	next := offset
	for _, line := range lines[offset-1 : min(len(lines), offset-1+limit)] {
		if b.Len()+len(line) > maxBytes {
			break
		}
		b.WriteString(line)
		next++
	}
	first := fmt.Sprintf("lines %d to", offset)
	if from > 0 {
		first = fmt.Sprintf("byte %d of line %d to line", from+1, offset)
	}
	switch {
	case next == offset: // one line that is too long for one call
		cut := text.HeadBytes(lines[offset-1], maxBytes, "")
		return cut, fmt.Sprintf("[bytes %d to %d of %d of line %d of %d; go on with offset %d and byte %d]",
			from+1, from+len(cut), whole, offset, len(lines), offset, from+len(cut)+1)
	case next <= len(lines):
		return b.String(), fmt.Sprintf("[%s %d of %d; go on with offset %d]", first, next-1, len(lines), next)
	case offset > 1 || from > 0:
		return b.String(), fmt.Sprintf("[%s %d of %d]", first, len(lines), len(lines))
	}
	return b.String(), ""
}

// list tells which artifacts there are.
func list(ctx context.Context, c artifact.Store) (tool.Result, error) {
	all, err := c.List(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	if len(all) == 0 {
		return tool.Result{Text: "[there are no artifacts yet]"}, nil
	}
	var b strings.Builder
	for i := range all {
		d := &all[i]
		if i == maxList {
			fmt.Fprintf(&b, "[and %d more]\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "%s version %d: %q, %s, %d bytes%s\n", d.ID, d.Version, d.Title, tool.Quote(d.Mime), d.Bytes, by(d.Author))
	}
	return tool.Result{Text: strings.TrimSuffix(b.String(), "\n")}, nil
}

// missing tells of an artifact that is not there, with the nearest one that is.
func missing(ctx context.Context, c artifact.Store, id string, err error) error {
	if workflow.CodeOf(err) != workflow.CodeNotFound {
		return told("reading the artifact "+tool.Quote(id), err)
	}
	all, listErr := c.List(ctx)
	if listErr != nil {
		return listErr
	}
	ids := make([]string, 0, len(all))
	for i := range all {
		ids = append(ids, all[i].ID)
	}
	next := "there are no artifacts yet"
	if len(ids) > 0 {
		next = "there are: " + text.Head(strings.Join(ids, ", "), 2000, "…")
	}
	if near := text.Nearest(id, ids); near != "" {
		next = "did you mean " + near + "? " + next
	}
	return &tool.Failed{What: "there is no artifact " + tool.Quote(id), Next: next}
}
