package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
)

type readArgs struct {
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

// page is what read shows of a file.
type page struct {
	Path     string   `json:"path"`
	First    int      `json:"first,omitempty"` // number of the first line shown; 0 for none
	Last     int      `json:"last,omitempty"`
	Lines    int      `json:"lines,omitempty"` // of the file; 0 when that is not known
	Bytes    int64    `json:"bytes"`           // of the file
	Encoding encoding `json:"encoding"`
	Ending   ending   `json:"ending,omitempty"`
	Cut      int      `json:"cut,omitempty"` // lines that were cut

	body  strings.Builder
	notes []string
	more  bool
}

func (p *page) note(format string, a ...any) {
	p.notes = append(p.notes, fmt.Sprintf("["+format+"]", a...))
}

func read(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[readArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	args.Offset = max(args.Offset, 1)
	if args.Limit == 0 {
		args.Limit = 2000
	}
	info, ok, err := stat(ctx, c)
	switch {
	case err != nil:
		return tool.Result{}, err
	case !ok:
		return tool.Result{}, absent(c)
	case info.Kind != tool.KindFile:
		return tool.Result{}, kindError(c, info.Kind)
	}
	f, err := c.Fence.Open(ctx, c.Place)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	return readFile(ctx, c, f, args)
}

func readFile(ctx context.Context, c tool.Call, f tool.File, args readArgs) (tool.Result, error) {
	info := f.Info()
	p := &page{Path: shown(c.Place, ""), Bytes: info.Size}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return tool.Result{}, &tool.Failed{What: "reading " + p.Path, Err: err}
	}
	if head = head[:n]; encodingOf(head, n < sniffed) == asBinary {
		return tool.Result{}, notText(c, head, info)
	}
	from := io.MultiReader(bytes.NewReader(head), f)
	if info.Size > maxWhole {
		return readStream(ctx, p, from, encodingOf(head, false), args)
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxWhole+1))
	switch {
	case err != nil:
		return tool.Result{}, &tool.Failed{What: "reading " + p.Path, Err: err}
	case len(raw) > maxWhole: // it grows
		return readStream(ctx, p, io.MultiReader(bytes.NewReader(raw), f), encodingOf(head, false), args)
	}
	p.Bytes = int64(len(raw))
	if p.Encoding = encodingOf(raw, true); p.Encoding == asBinary {
		return tool.Result{}, notText(c, head, info)
	}
	r := p.show(p.Encoding.decode(raw), args)
	r.Seen = []tool.Seen{{Path: c.Place.Canonical, Digest: canon.Sum(raw)}}
	return r, nil
}

// notText is the error for content that is no text.
func notText(c tool.Call, head []byte, info tool.Info) error {
	e := &tool.Failed{What: fmt.Sprintf("%s is %s of %s, which is not shown", shown(c.Place, ""), describe(head), size(info.Size)),
		Next: "use a command that understands it, if you need it"}
	if info.Disk < info.Size/2 {
		e.What += fmt.Sprintf(" (with holes: %s are on disk)", size(info.Disk))
	}
	return e
}

// show pages through a text that is in memory.
func (p *page) show(s string, args readArgs) tool.Result {
	p.Ending = endingOf(s)
	p.Lines = strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		p.Lines++
	}
	number := 0
	for len(s) > 0 {
		line, rest, _ := strings.Cut(s, "\n")
		s = rest
		if number++; number >= args.Offset && !p.add(number, strings.TrimSuffix(line, "\r"), len(line), args.Limit) {
			break
		}
	}
	return p.result(args)
}

// add shows one line, of which head is in hand. It reports whether there is room
// for more.
func (p *page) add(number int, head string, length, limit int) bool {
	if p.First != 0 && (p.Last-p.First+1 >= limit || p.body.Len()+min(len(head), maxLine)+40 > maxOutput) {
		p.more = true
		return false
	}
	if p.First == 0 {
		p.First = number
	}
	p.Last = number
	head = text.Repair(head)
	if length > maxLine {
		p.Cut++
		head = text.HeadBytes(head, maxLine, "") + fmt.Sprintf(" [cut: the line has %d bytes]", length)
	}
	fmt.Fprintf(&p.body, "%6d\t%s\n", number, head)
	return true
}

// result gives the page with its notes.
func (p *page) result(args readArgs) tool.Result {
	switch {
	case p.Bytes == 0 && p.Lines == 0 && p.First == 0:
		p.note("the file is empty")
	case p.First == 0 && p.Lines == 0:
		p.note("line %d was not reached", args.Offset)
	case p.First == 0:
		p.note("there is no line %d: the file has %s", args.Offset, plural(p.Lines, "line"))
	case p.more && p.Lines > 0:
		p.note("lines %d to %d of %d, the file has %s; go on with offset %d", p.First, p.Last, p.Lines, size(p.Bytes), p.Last+1)
	case p.more:
		p.note("lines %d to %d of a file of %s; go on with offset %d", p.First, p.Last, size(p.Bytes), p.Last+1)
	}
	if p.Ending == endCRLF || p.Ending == endMixed {
		p.note("line endings: %s", p.Ending)
	}
	switch p.Encoding {
	case asUTF8:
	case asLatin1:
		p.note("the file is not UTF-8: shown as Latin-1, which may be wrong for its special characters")
	case asDamaged:
		p.note("some characters are damaged and shown as U+FFFD")
	default:
		p.note("encoding: %s", p.Encoding)
	}
	return tool.Result{Text: p.body.String() + strings.Join(p.notes, "\n"), Data: data(p)}
}

// readStream pages through a file that is too big to hold.
func readStream(ctx context.Context, p *page, from io.Reader, e encoding, args readArgs) (tool.Result, error) {
	if e == asUTF16LE || e == asUTF16BE {
		return tool.Result{}, &tool.Failed{What: fmt.Sprintf("%s is %s and has %s, more than the %s that are decoded", p.Path, e, size(p.Bytes), size(maxWhole)),
			Next: "convert a part of it with a command"}
	}
	p.Encoding = e
	reach := &io.LimitedReader{R: from, N: maxScan}
	in := bufio.NewReaderSize(reach, 64<<10)
	if e == asUTF8BOM {
		in.Discard(len(bomUTF8)) //nolint:errcheck // it was seen
	}
	for number := 1; ; number++ {
		head, length, err := streamLine(in)
		switch {
		case ctx.Err() != nil:
			return tool.Result{}, ctx.Err()
		case err != nil && !errors.Is(err, io.EOF):
			return tool.Result{}, &tool.Failed{What: "reading " + p.Path, Err: err}
		case bytes.IndexByte(head, 0) >= 0:
			p.note("binary content begins at line %d: nothing of it is shown", number)
			return p.result(args), nil
		}
		if number >= args.Offset && (length > 0 || err == nil) && !p.add(number, e.line(head), length, args.Limit) {
			return p.result(args), nil
		}
		if err == nil {
			continue
		}
		if p.Lines = number; length == 0 {
			p.Lines--
		}
		if reach.N == 0 {
			p.Lines = 0
			p.note("only the first %s of %s can be reached: use a command for the rest", size(maxScan), size(p.Bytes))
		}
		return p.result(args), nil
	}
}

// line decodes the bytes of one line.
func (e encoding) line(raw []byte) string {
	s := strings.TrimSuffix(string(raw), "\r")
	if e == asLatin1 {
		s = e.decode([]byte(s))
	}
	return s
}

// streamLine reads one line and keeps its first bytes. length is without the
// line feed; err is io.EOF for the last line.
func streamLine(in *bufio.Reader) (head []byte, length int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		length += len(part)
		if err == nil {
			part, length = part[:len(part)-1], length-1
		}
		if room := maxLine + 4 - len(head); room > 0 {
			head = append(head, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return head, length, err
		}
	}
}
