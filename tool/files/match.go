package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
)

// errEnough ends a walk that has found all it may.
var errEnough = fs.SkipAll

// Bounds of the lines that grep shows and matches, in bytes.
const (
	maxMatchLine = 500
	maxLineMatch = 1 << 20 // of a longer line only the begin is matched
)

// file searches one file. A file that cannot be read is counted, and does not
// hide the others.
func (r *search) file(ctx context.Context, e tool.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := r.call.Fence.Open(ctx, e.Place)
	if err != nil {
		return r.failed(err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxScan+1))
	if err != nil {
		return r.failed(err)
	}
	r.out.Looked++
	last := len(raw) <= maxScan
	if !last {
		raw = raw[:maxScan]
		r.out.Cut++
	}
	code := encodingOf(raw, last)
	if code == asBinary {
		return r.binary(f.Info(), raw)
	}
	s := code.decode(raw)
	if !r.needed.in(s) {
		return nil
	}
	r.lines(e, s)
	return nil
}

// failed counts a file that cannot be read; one that the call names is an error.
func (r *search) failed(err error) error {
	if r.single || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	r.out.Failed++
	return nil
}

// binary counts a file that is no text and has a match, which is not shown.
func (r *search) binary(info tool.Info, raw []byte) error {
	if r.single {
		return notText(r.call, raw[:min(len(raw), sniffed)], info)
	}
	wide := bytes.HasPrefix(raw, bomLE) || bytes.HasPrefix(raw, bomBE)
	if !wide && r.line.Match(raw) {
		r.out.Binary++
	}
	return nil
}

// lines matches the lines of one file and shows what the mode asks for.
func (r *search) lines(e tool.Entry, s string) {
	name := shown(r.call.Place, e.Rel)
	content := r.args.Mode == "" || r.args.Mode == "content"
	count, last := 0, 0
	all := indexLines(s)
	for i := range all.len() {
		if !r.line.MatchString(matchable(all.at(i))) {
			continue
		}
		if count++; count == 1 {
			r.out.Files++
		}
		r.out.Lines++
		if r.args.Mode == "files" {
			break
		}
		if content && !r.full && !r.show(name, all, i, &last, count == 1) {
			r.full = true
		}
	}
	if content || count == 0 || r.full {
		return
	}
	entry := name + "\n"
	if r.args.Mode == "count" {
		entry = fmt.Sprintf("%s: %d\n", name, count)
	}
	if r.out.Shown >= r.args.Limit || r.text.Len()+len(entry) > maxOutput {
		r.full = true
		return
	}
	r.out.Shown++
	r.text.WriteString(entry)
}

// lineIndex knows where the lines of a text are.
type lineIndex struct {
	text string
	ends []uint32 // of each line, without the line feed
}

// indexLines finds the lines of a text of at most 4 GiB.
func indexLines(s string) lineIndex {
	x := lineIndex{text: s}
	for at := 0; at < len(s); {
		n := strings.IndexByte(s[at:], '\n')
		if n < 0 {
			n = len(s) - at
		}
		x.ends = append(x.ends, uint32(at+n)) //nolint:gosec // bounded by maxScan, twice that when decoded
		at += n + 1
	}
	return x
}

func (x lineIndex) len() int { return len(x.ends) }

func (x lineIndex) at(i int) string {
	from := uint32(0)
	if i > 0 {
		from = x.ends[i-1] + 1
	}
	return x.text[from:x.ends[i]]
}

// matchable is the part of a line that is matched.
func matchable(line string) string {
	return strings.TrimSuffix(line[:min(len(line), maxLineMatch)], "\r")
}

// show writes line i and its context. last is the number of the last line that is
// shown of this file. It reports whether there was room.
func (r *search) show(name string, all lineIndex, i int, last *int, first bool) bool {
	if r.out.Shown >= r.args.Limit {
		return false
	}
	var b bytes.Buffer
	from := max(i-r.before, *last)
	if first {
		if r.text.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(name + "\n")
	} else if from > *last && r.before+r.after > 0 {
		b.WriteString("--\n")
	}
	to := min(i+r.after, all.len()-1)
	for n := from; n <= to; n++ {
		if n > i && r.line.MatchString(matchable(all.at(n))) {
			to = n - 1 // it is shown as a match itself
			break
		}
		mark := byte('-')
		if n == i {
			mark = ':'
		}
		fmt.Fprintf(&b, "%d%c%s\n", n+1, mark, r.clip(all.at(n)))
	}
	if r.text.Len()+b.Len() > maxOutput {
		return false
	}
	r.out.Shown++
	*last = to + 1
	r.text.Write(b.Bytes())
	return true
}

// clip cuts a long line around its first match.
func (r *search) clip(line string) string {
	line = strings.TrimSuffix(line, "\r")
	if len(line) <= maxMatchLine {
		return text.Repair(line)
	}
	at := 0
	if m := r.line.FindStringIndex(matchable(line)); m != nil {
		at = max(min(m[0]-maxMatchLine/4, len(line)-maxMatchLine), 0)
	}
	for at > 0 && line[at]&0xc0 == 0x80 {
		at--
	}
	part := text.HeadBytes(text.Repair(line[at:min(at+maxMatchLine+4, len(line))]), maxMatchLine, "")
	if at > 0 {
		part = "…" + part
	}
	return part + fmt.Sprintf("… [cut: the line has %d bytes]", len(line))
}
