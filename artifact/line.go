package artifact

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/tenonrun/tenon/workflow"
)

// Line is a revision as it travels: whole, with its content, readable without any
// other line.
type Line struct {
	Revision
	Content string
}

// wire is the form of a Line: one JSON object with the members in this order. A
// deletion has no labels and no content.
type wire struct {
	Format   int     `json:"format,omitempty"` // absent: 1
	ID       string  `json:"id,omitempty"`
	Seq      int64   `json:"seq,omitempty"`
	Device   string  `json:"device,omitempty"`
	Artifact string  `json:"artifact"`
	Title    *string `json:"title,omitempty"`
	Mime     *string `json:"mime,omitempty"`
	Language string  `json:"language,omitempty"`
	Version  int64   `json:"version"`
	Digest   string  `json:"sha256,omitempty"`
	Bytes    *int64  `json:"bytes,omitempty"` // where the content is elsewhere
	Content  *string `json:"content,omitempty"`
	At       int64   `json:"at"`
	Author   Author  `json:"author,omitempty"`
	Deleted  bool    `json:"deleted,omitempty"`
	After    int64   `json:"after,omitempty"`
}

// Append adds the line to dst, with its line end.
func (l *Line) Append(dst []byte) ([]byte, error) {
	w := l.wire()
	if !l.Deleted {
		w.Content = &l.Content
	}
	return w.append(dst)
}

// AppendReference adds a line to dst, with its line end, that names the content of
// the revision instead of holding it.
func (r *Revision) AppendReference(dst []byte) ([]byte, error) {
	w := r.wire()
	if !r.Deleted {
		w.Bytes = &r.Bytes
	}
	return w.append(dst)
}

func (r *Revision) wire() *wire {
	w := &wire{
		ID: r.ID, Seq: r.Seq, Device: r.Device, Artifact: r.Artifact, Language: r.Language,
		Version: r.Version, At: r.At, Author: r.Author, Deleted: r.Deleted, After: r.After,
	}
	if !r.Deleted {
		w.Title, w.Mime, w.Digest = &r.Title, &r.Mime, r.Digest
	}
	return w
}

func (w *wire) append(dst []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(w); err != nil {
		return dst, fmt.Errorf("writing a revision of %s: %w", w.Artifact, err)
	}
	return out.Bytes(), nil
}

// Verify tells whether a content is the one of the revision and may be kept.
func (r *Revision) Verify(content string, limits Limits) error {
	if err := limits.Check(r.Artifact, content); err != nil {
		return err
	}
	if int64(len(content)) != r.Bytes || Digest(content) != r.Digest {
		return workflow.Errorf(workflow.CodeInvalidArtifact, "version %d of artifact %s is refused: its content is not the one of its digest", r.Version, r.Artifact)
	}
	return nil
}

// Why says what a line is that cannot be read.
type Why string

// The reasons.
const (
	Torn    Why = "torn"    // not a JSON object: cut off, or never one
	Newer   Why = "newer"   // of a format that this program does not know yet
	Foreign Why = "foreign" // an object that is no revision
	Long    Why = "long"    // longer than a line may be
)

// BadLine says why a line was left out. The others count.
type BadLine struct {
	Line int // from 1; 0 outside of a log
	Why  Why
	Err  error // the cause; may be nil
}

// Error names the line and the cause.
func (b *BadLine) Error() string {
	where := "a line of an artifact log"
	if b.Line > 0 {
		where = fmt.Sprintf("line %d of the artifact log", b.Line)
	}
	hint := ""
	if b.Why == Newer {
		hint = "; a newer version of the program reads it"
	}
	if b.Err == nil {
		return fmt.Sprintf("%s is left out: it is %s%s", where, b.Why, hint)
	}
	return fmt.Sprintf("%s is left out: it is %s: %v%s", where, b.Why, b.Err, hint)
}

// Unwrap returns the cause.
func (b *BadLine) Unwrap() error { return b.Err }

// Code returns the code of the error.
func (b *BadLine) Code() workflow.Code { return workflow.CodeInvalidArtifact }

// DecodeLine reads one line. A line is taken whole or not at all: a member that
// is missing or of another type makes it foreign, one that is not known is
// dropped. The error is a *BadLine.
func DecodeLine(raw []byte) (Line, error) {
	var content string
	r, err := decodeRevision(raw, func(d *decoder, r *Revision) {
		content = d.text("content", true)
		said := d.text("sha256", false)
		r.Digest, r.Bytes = Digest(content), int64(len(content))
		if d.err == nil && said != "" && said != r.Digest {
			d.err = errors.New("its content is not the one of its digest")
		}
	})
	return Line{Revision: r, Content: content}, err
}

// DecodeReference reads a line that AppendReference wrote. The error is a *BadLine.
func DecodeReference(raw []byte) (Revision, error) {
	return decodeRevision(raw, func(d *decoder, r *Revision) {
		r.Digest, r.Bytes = d.text("sha256", true), d.integer("bytes", true, 0)
	})
}

// decodeRevision reads a revision; content reads what is said of its content.
func decodeRevision(raw []byte, content func(*decoder, *Revision)) (Revision, error) {
	var members map[string]json.RawMessage
	if !utf8.Valid(raw) {
		return Revision{}, &BadLine{Why: Torn, Err: errors.New("it is not UTF-8 text")}
	}
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return Revision{}, &BadLine{Why: Torn, Err: err}
	}
	d := &decoder{members: members}
	if f := d.integer("format", false, 1); d.err == nil && f != 1 {
		return Revision{}, &BadLine{Why: Newer, Err: fmt.Errorf("its format is %d", f)}
	}
	r := d.revision()
	if r.Deleted {
		r.Title, r.Mime, r.Language = "", "", ""
	} else {
		content(d, &r)
	}
	if d.err == nil {
		d.err = r.Check()
	}
	if d.err != nil {
		return Revision{}, &BadLine{Why: Foreign, Err: d.err}
	}
	return r, nil
}

// decoder reads the members of a line; err is the first thing that is wrong.
type decoder struct {
	members map[string]json.RawMessage
	err     error
}

func (d *decoder) revision() (r Revision) {
	r.Deleted = d.flag("deleted")
	whole := !r.Deleted
	r.ID, r.Seq, r.Device = d.text("id", false), d.integer("seq", false, 0), d.text("device", false)
	r.Artifact, r.Title, r.Mime = d.text("artifact", true), d.text("title", whole), d.text("mime", whole)
	r.Language, r.Version = d.text("language", false), d.integer("version", whole, 0)
	r.At, r.Author, r.After = d.moment("at"), Author(d.text("author", false)), d.integer("after", false, 0)
	return r
}

// member reads a member into a place; false when it is not there.
func (d *decoder) member(name string, needed bool, into any) bool {
	raw, ok := d.members[name]
	switch {
	case d.err != nil:
		return false
	case !ok && needed:
		d.err = fmt.Errorf("it has no %s", name)
	case ok && string(raw) == "null":
		d.err = fmt.Errorf("its %s is null", name)
	case ok && json.Unmarshal(raw, into) != nil:
		d.err = fmt.Errorf("its %s is of another type", name)
	}
	return ok && d.err == nil
}

func (d *decoder) text(name string, needed bool) (s string) {
	d.member(name, needed, &s)
	return s
}

func (d *decoder) flag(name string) (b bool) {
	d.member(name, false, &b)
	return b
}

func (d *decoder) integer(name string, needed bool, otherwise int64) int64 {
	n := otherwise
	d.member(name, needed, &n)
	return n
}

// moment reads a time; a fraction of a millisecond is dropped.
func (d *decoder) moment(name string) int64 {
	var n json.Number
	if raw := d.members[name]; len(raw) > 0 && raw[0] == '"' {
		d.err = errors.Join(d.err, fmt.Errorf("its %s is of another type", name))
	}
	if !d.member(name, true, &n) {
		return 0
	}
	if at, err := n.Int64(); err == nil {
		return at
	}
	f, err := n.Float64()
	if err != nil || f < -MaxSeq || f > MaxSeq {
		d.err = fmt.Errorf("its %s is no time", name)
	}
	return int64(f)
}

// Lines reads a log, one line after the other. A line that is left out comes as
// a *BadLine, and the log goes on; any other error is the last one. maxLine
// bounds a line in bytes; 0 is 256 MiB.
func Lines(r io.Reader, maxLine int) iter.Seq2[Line, error] {
	if maxLine <= 0 {
		maxLine = 256 << 20
	}
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			raw, long, err := readLine(in, maxLine)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{}, fmt.Errorf("reading line %d of an artifact log: %w", n, err))
				return
			}
			if len(bytes.TrimSpace(raw)) > 0 || long {
				l, bad := decode(raw, n, long)
				if !yield(l, bad) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

func decode(raw []byte, n int, long bool) (Line, error) {
	if long {
		return Line{}, &BadLine{Line: n, Why: Long}
	}
	l, err := DecodeLine(raw)
	var bad *BadLine
	if errors.As(err, &bad) {
		bad.Line = n
	}
	return l, err
}

// readLine returns a line without its end. What is beyond the bound is read and
// dropped, and long is set.
func readLine(in *bufio.Reader, most int) (raw []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !long && len(raw)+len(part) <= most+1 {
			raw = append(raw, part...)
		} else {
			raw, long = nil, true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(raw, []byte("\n")), long, err
	}
}

// Copies makes what Merge takes of what Lines reads; the lines that are left out
// go to bad.
func Copies(lines iter.Seq2[Line, error], bad func(*BadLine)) iter.Seq2[Copy, error] {
	return func(yield func(Copy, error) bool) {
		for l, err := range lines {
			var left *BadLine
			if errors.As(err, &left) {
				bad(left)
				continue
			}
			content := l.Content
			if !yield(Copy{Revision: l.Revision, Content: func(context.Context) (string, error) { return content, nil }}, err) {
				return
			}
		}
	}
}
