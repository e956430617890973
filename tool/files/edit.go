package files

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
)

// replacement is one edit.
type replacement struct {
	Old *string `json:"old_string"`
	New *string `json:"new_string"`
	All bool    `json:"replace_all"`
}

type editArgs struct {
	replacement
	Edits []replacement `json:"edits"`
}

// list gives the edits of a call.
func (a editArgs) list(name string) ([]replacement, error) {
	bad := &tool.BadArguments{Tool: name}
	switch {
	case len(a.Edits) > 0 && (a.Old != nil || a.New != nil):
		bad.Problems = []string{"edits and old_string or new_string are both there"}
		bad.Next = "send one of the two forms"
	case len(a.Edits) > 0:
		return a.Edits, nil
	case a.Old == nil || a.New == nil:
		bad.Problems = []string{"old_string and new_string are needed, or edits"}
		bad.Next = "send new_string as \"\" to delete"
	default:
		return []replacement{a.replacement}, nil
	}
	return nil, bad
}

func edit(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[editArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	edits, err := args.list(c.Tool)
	if err != nil {
		return tool.Result{}, err
	}
	info, ok, err := stat(ctx, c)
	switch {
	case err != nil:
		return tool.Result{}, err
	case !ok:
		return tool.Result{}, &tool.Failed{What: shown(c.Place, "") + " does not exist" + leads(c.Place), Next: "use write for a new file, or look with glob"}
	case info.Kind != tool.KindFile:
		return tool.Result{}, kindError(c, info.Kind)
	}
	raw, digest, err := whole(ctx, c)
	if err != nil {
		return tool.Result{}, err
	}
	next, out, err := revise(c, raw, edits)
	if err != nil {
		return tool.Result{}, err
	}
	seen, known := c.Session.Seen(c.Place.Canonical)
	out.Stale = known && seen != digest
	change, err := c.Fence.Write(ctx, c.Place, tool.Draft{Content: next, Expect: digest, Announce: c.Host.Announce})
	if err != nil {
		return tool.Result{}, conflict(err, c, true)
	}
	return tool.Result{Text: out.tellEdit(), Data: data(out.written), Changes: []tool.Change{change}}, nil
}

// edited is what an edit did.
type edited struct {
	written
	snippet string
}

// revise applies edits to the content of a file: all of them or none.
func revise(c tool.Call, raw []byte, edits []replacement) ([]byte, edited, error) {
	out := edited{written: written{Path: shown(c.Place, "")}}
	code := encodingOf(raw, true)
	if code == asBinary {
		return nil, out, &tool.Failed{What: fmt.Sprintf("%s is %s and no text", out.Path, describe(raw[:min(len(raw), sniffed)])), Next: "change it with a command that understands it"}
	}
	s := code.decode(raw)
	if back, err := code.encode(s); err != nil || !bytes.Equal(back, raw) {
		return nil, out, &tool.Failed{What: fmt.Sprintf("%s is damaged %s, which an edit could not keep as it is", out.Path, code), Next: "mend it with a command first"}
	}
	crlf := endingOf(s) == endCRLF && toCRLF(toLF(s)) == s
	if crlf {
		s = toLF(s)
	}
	for i, e := range edits {
		next, places, err := e.apply(s, crlf)
		if err != nil {
			err.What = fmt.Sprintf("%s: %s", out.Path, err.What)
			if len(edits) > 1 {
				err.What = fmt.Sprintf("%s (edit %d of %d; nothing was written)", err.What, i+1, len(edits))
			}
			return nil, out, err
		}
		out.Edits += len(places)
		for _, at := range places {
			if len(out.At) < 20 {
				out.At = append(out.At, strings.Count(next[:at], "\n")+1)
			}
		}
		if i == len(edits)-1 {
			out.snippet = snippet(next, places[0], len(*e.New))
		}
		s = next
	}
	out.Lines = strings.Count(s, "\n")
	if crlf {
		s = toCRLF(s)
	}
	next, err := code.encode(s)
	if err != nil {
		return nil, out, &tool.Failed{What: "writing " + out.Path, Next: "write the text without it", Err: err}
	}
	out.Bytes = int64(len(next))
	return next, out, nil
}

// apply replaces in s and gives the places in the result where new text begins.
// plain says that s has plain line breaks that stand for CRLF.
func (e replacement) apply(s string, plain bool) (string, []int, *tool.Failed) {
	old, with := *e.Old, *e.New
	switch {
	case old == "":
		return "", nil, &tool.Failed{What: "old_string is empty", Next: "quote the text to replace; to add text, quote the line beside it and repeat it in new_string"}
	case old == with:
		return "", nil, &tool.Failed{What: "old_string and new_string are the same", Next: "nothing is to be changed"}
	case plain:
		old, with = toLF(old), toLF(with)
	default:
		old, with = endings(s, old, with)
	}
	found := strings.Count(s, old)
	switch {
	case found == 0:
		return "", nil, missing(s, *e.Old, *e.New)
	case found > 1 && !e.All:
		return "", nil, &tool.Failed{What: fmt.Sprintf("old_string is there %d times, at the lines %s", found, linesOf(s, old)),
			Next: "add lines around it until it is unique, or send replace_all: true"}
	case !plain && old[0] == '\n' && strings.Contains(s, "\r"+old):
		return "", nil, &tool.Failed{What: "old_string begins within a line break: the file has " + string(endMixed), Next: "let it begin with the line after it"}
	}
	var b strings.Builder
	var places []int
	for {
		at := strings.Index(s, old)
		if at < 0 {
			break
		}
		b.WriteString(s[:at])
		places = append(places, b.Len())
		b.WriteString(with)
		s = s[at+len(old):]
	}
	b.WriteString(s)
	return b.String(), places, nil
}

// endings gives the texts of an edit the line endings of the place that they are
// for, in a text with mixed ones. A model writes plain line breaks.
func endings(s, old, with string) (string, string) {
	if endingOf(s) != endMixed {
		return old, with
	}
	if crlf := toCRLF(old); strings.Contains(s, crlf) {
		old = crlf
	}
	if at := strings.Index(s, old); at >= 0 && lineStyle(s, at, old) == endCRLF {
		with = toCRLF(with)
	}
	return old, with
}

// lineStyle is the line ending at a place of a text with mixed ones.
func lineStyle(s string, at int, old string) ending {
	if e := endingOf(old); e != endNone {
		return e
	}
	if end := strings.IndexByte(s[at:], '\n'); end >= 0 {
		return endingOf(s[max(at+end-1, 0) : at+end+1])
	}
	before := strings.LastIndexByte(s[:at], '\n')
	return endingOf(s[max(before-1, 0) : before+1])
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func toCRLF(s string) string { return strings.ReplaceAll(toLF(s), "\n", "\r\n") }

// linesOf lists the lines where a text is, the first ones.
func linesOf(s, old string) string {
	var b strings.Builder
	line := 1
	for n := 0; ; n++ {
		at := strings.Index(s, old)
		if at < 0 {
			return b.String()
		}
		if n == 10 {
			return b.String() + ", …"
		}
		line += strings.Count(s[:at], "\n")
		if n > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, line)
		line += strings.Count(s[at:at+len(old)], "\n")
		s = s[at+len(old):]
	}
}

// snippet shows a changed part with the lines around it.
func snippet(s string, at, length int) string {
	const around, most = 2, 24
	first := strings.Count(s[:at], "\n") + 1
	last := first + strings.Count(s[at:min(at+length, len(s))], "\n")
	var b strings.Builder
	number := 0
	for line := range strings.Lines(s) {
		number++
		switch {
		case number < first-around:
			continue
		case number > last+around:
			return b.String()
		case number >= first-around+most:
			return b.String() + "   …\n"
		}
		line = text.HeadBytes(text.Repair(strings.TrimRight(line, "\r\n")), 300, " …")
		fmt.Fprintf(&b, "%6d\t%s\n", number, line)
	}
	return b.String()
}

func (e edited) tellEdit() string {
	s := fmt.Sprintf("edited %s: %s replaced", e.Path, plural(e.Edits, "place"))
	if e.Edits > 1 {
		s += fmt.Sprintf(", the first at the lines %s", strings.Trim(fmt.Sprint(e.At), "[]"))
	}
	s += "\n" + e.snippet
	if e.Stale {
		s += "[the file had changed since you read it; the edit was made in its new content]\n"
	}
	return strings.TrimSuffix(s, "\n")
}
