package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Interpolate fills in the tokens of all string values, never keys, at any depth of
// a JSON text. At Level1 every result is a string; at Level2 a string that is one
// token becomes the value itself. Text without tokens comes back as it is. An *Error
// carries the pointer of its string.
func Interpolate(raw json.RawMessage, level int, scope Scope) (json.RawMessage, error) {
	if !mayHaveTokens(raw) {
		return raw, nil
	}
	w := newWalker(raw)
	w.visit = func(s string) (json.RawMessage, error) {
		t, err := ParseTemplate(s, level)
		if err != nil {
			return nil, err
		}
		var v any
		if level >= Level2 {
			v, err = t.Value(scope)
		} else {
			v, err = t.Text(scope)
		}
		if err != nil {
			return nil, err
		}
		return encode(v)
	}
	if err := w.all(); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

// Tokens lists the tokens of all string values of a JSON text with their pointers,
// and every string whose tokens are wrong.
func Tokens(raw json.RawMessage, level int) ([]Token, []*Error) {
	if !mayHaveTokens(raw) {
		return nil, nil
	}
	var tokens []Token
	var wrong []*Error
	w := newWalker(raw)
	w.visit = func(s string) (json.RawMessage, error) {
		t, err := ParseTemplate(s, level)
		var e *Error
		if errors.As(err, &e) {
			e.Pointer = w.pointer()
			wrong = append(wrong, e)
			return nil, nil
		}
		for _, token := range t.Tokens() {
			token.Pointer = w.pointer()
			tokens = append(tokens, token)
		}
		return nil, nil
	}
	if err := w.all(); err != nil {
		wrong = append(wrong, &Error{Code: CodeInterpolation, Message: err.Error()})
	}
	return tokens, wrong
}

// mayHaveTokens looks for two braces, which an escape may hide.
func mayHaveTokens(raw []byte) bool {
	return bytes.Contains(raw, []byte(open)) || bytes.Contains(raw, []byte(`\u007b`)) || bytes.Contains(raw, []byte(`\u007B`))
}

// maxDepth bounds the nesting of interpolated values.
const maxDepth = 256

// walker copies JSON and gives its string values to visit.
type walker struct {
	in    *json.Decoder
	out   bytes.Buffer
	path  []string
	visit func(string) (json.RawMessage, error)
}

func newWalker(raw json.RawMessage) *walker {
	w := &walker{in: json.NewDecoder(bytes.NewReader(raw))}
	w.in.UseNumber()
	return w
}

func (w *walker) all() error {
	err := w.value()
	if err == nil {
		if _, err = w.in.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err == nil {
			err = errors.New("there is more after the value")
		}
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("interpolating: %w", err)
}

func (w *walker) value() error {
	token, err := w.in.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		if len(w.path) >= maxDepth {
			return fmt.Errorf("more than %d nested objects and arrays", maxDepth)
		}
		w.out.WriteByte(byte(token))
		if err := w.inside(token == '{'); err != nil {
			return err
		}
		w.out.WriteByte(byte(token) + 2) // in ASCII ']' follows '[' by two, as '}' does '{'
		return nil
	case string:
		return w.text(token)
	}
	return w.write(token)
}

func (w *walker) text(s string) error {
	raw, err := w.visit(s)
	var e *Error
	if errors.As(err, &e) && e.Pointer == "" {
		e.Pointer = w.pointer()
	}
	if err != nil {
		return err
	}
	w.out.Write(raw)
	return nil
}

// inside copies the members of an object or the items of an array, and the end.
func (w *walker) inside(object bool) error {
	for i := 0; w.in.More(); i++ {
		if i > 0 {
			w.out.WriteByte(',')
		}
		key := strconv.Itoa(i)
		if object {
			token, err := w.in.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string) // the decoder gives no other keys
			if err := w.write(key); err != nil {
				return err
			}
			w.out.WriteByte(':')
		}
		w.path = append(w.path, key)
		if err := w.value(); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.in.Token()
	return err
}

func (w *walker) write(v any) error {
	raw, err := encode(v)
	w.out.Write(raw)
	return err
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func (w *walker) pointer() string {
	var b strings.Builder
	for _, segment := range w.path {
		b.WriteString("/" + pointerEscaper.Replace(segment))
	}
	return b.String()
}
