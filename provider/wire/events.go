package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// MaxEventBytes bounds one event. A larger one breaks the stream.
const MaxEventBytes = 64 << 20

const excerptBytes = 160

// Event is one server-sent event. Data is valid JSON and valid UTF-8 and is
// only good until the next event.
type Event struct {
	Name string
	Data []byte
}

// Events reads the answer. It ends without an error at the end of the stream
// or at the marker [DONE]; whether the answer was complete is the caller's to
// know. An error is the last thing it yields.
func (x *Exchange) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if x.body == nil {
			yield(Event{}, &BrokenError{What: "there is no answer to read"})
			return
		}
		r := reader{br: bufio.NewReaderSize(x.body, 32<<10)}
		err := r.sniff()
		for err == nil {
			var ev Event
			if ev, err = r.next(); err != nil {
				break
			}
			if !yield(ev, nil) {
				return
			}
		}
		if errors.Is(err, errMark) {
			x.marked = true
			return
		}
		if err == io.EOF { //nolint:errorlint // a wrapped one is a failure
			return
		}
		if ctxErr := x.ctx.Err(); ctxErr != nil {
			err = ctxErr
		}
		yield(Event{}, err)
	}
}

var errMark = errors.New("end marker")

type reader struct {
	br   *bufio.Reader
	line []byte
	data []byte
}

// sniff looks at the first byte to tell a stream from something else.
func (r *reader) sniff() error {
	if b, err := r.br.Peek(3); err == nil && bytes.Equal(b, []byte("\xef\xbb\xbf")) {
		_, _ = r.br.Discard(3) // they are there
	}
	for {
		b, err := r.br.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return &BrokenError{What: "the answer is empty"}
		case err != nil:
			return cut(err)
		}
		switch b[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = r.br.Discard(1)
		case '<':
			return &BrokenError{What: "the answer is a web page, not a stream of events: " + r.rest(excerptBytes)}
		case '{', '[':
			body, err := io.ReadAll(io.LimitReader(r.br, maxErrorBody))
			if err != nil {
				return cut(err)
			}
			if told, _ := tellsError("", body); told {
				return &EventError{Data: body}
			}
			return &BrokenError{What: "the answer is one JSON document, not a stream of events: " + excerpt(body)}
		default:
			return nil
		}
	}
}

func (r *reader) rest(n int) string {
	b, _ := io.ReadAll(io.LimitReader(r.br, int64(n)+1))
	return excerpt(b)
}

// next returns the next event that carries data, or io.EOF.
func (r *reader) next() (Event, error) {
	name, size := "", 0
	r.data = r.data[:0]
	for {
		line, err := r.readLine(MaxEventBytes - size)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return Event{}, err
		}
		size += len(line)
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if len(bytes.TrimSpace(r.data)) > 0 {
				return r.event(name)
			}
			name, size, r.data = "", 0, r.data[:0]
		case string(field) == "event":
			name = string(value)
		case string(field) == "data":
			if len(r.data) > 0 {
				r.data = append(r.data, '\n')
			}
			r.data = append(r.data, value...)
		}
		if ended && len(bytes.TrimSpace(r.data)) > 0 {
			return r.event(name)
		}
		if ended {
			return Event{}, io.EOF
		}
	}
}

func (r *reader) event(name string) (Event, error) {
	data := bytes.TrimSpace(r.data)
	if string(data) == "[DONE]" {
		return Event{}, errMark
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	told, valid := tellsError(name, data)
	if told {
		return Event{}, &EventError{Data: bytes.Clone(data)}
	}
	if !valid {
		return Event{}, &BrokenError{What: "the stream holds an event that is not valid JSON: " + excerpt(data)}
	}
	return Event{Name: name, Data: data}, nil
}

// readLine returns a line without its ending, good until the next call. It
// returns io.EOF with the last, unended line.
func (r *reader) readLine(limit int) ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.br.ReadSlice('\n')
		r.line = append(r.line, part...)
		if len(r.line) > limit {
			return nil, &BrokenError{What: fmt.Sprintf("the stream holds an event of more than %d MiB", MaxEventBytes>>20)}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return bytes.TrimRight(r.line, "\r\n"), io.EOF
		case err != nil:
			return nil, cut(err)
		}
		return bytes.TrimRight(r.line, "\r\n"), nil
	}
}

func cut(err error) error {
	return &BrokenError{What: "the stream was cut", Err: bare(err)}
}

// tellsError reports whether an event is an error message: by its name, its
// type, or a member "error" that says something. Valid is whether data is JSON.
func tellsError(name string, data []byte) (told, valid bool) {
	if name == "error" {
		return true, true
	}
	var head struct {
		Type  json.RawMessage `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if valid = json.Unmarshal(data, &list) == nil; valid && len(list) == 1 {
			told, _ = tellsError(name, list[0])
		}
		return told, valid
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, &head); err != nil { // of another type, or no JSON
		return false, !errors.As(err, &syntax)
	}
	said := len(head.Error) > 0
	for _, nothing := range []string{"null", `""`, "{}", "false"} {
		said = said && string(head.Error) != nothing
	}
	return said || string(head.Type) == `"error"`, true
}

func excerpt(b []byte) string {
	more := ""
	if len(b) > excerptBytes {
		b, more = b[:excerptBytes], "..."
	}
	return fmt.Sprintf("%q%s", bytes.ToValidUTF8(b, nil), more)
}
