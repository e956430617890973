package deliverable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxDepth bounds the nesting of delivered JSON.
const maxDepth = 500

// strictJSON says why raw is not one JSON value with one meaning.
func strictJSON(raw []byte) error {
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return errors.New("the text is empty")
	case !utf8.Valid(raw):
		return errors.New("the text is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var open []map[string]bool // the keys of each open object, nil for an array
	key := false               // the next string is a key
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(open) == 0 {
			return errors.New("the text ends too early")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", place(raw, offset(err, d)), plain(err))
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
		case string:
			if key {
				keys := open[len(open)-1]
				if keys[t] {
					return fmt.Errorf("%s: the key %q is there twice", place(raw, d.InputOffset()), t)
				}
				keys[t], key = true, false
				continue
			}
		}
		if len(open) == 0 {
			break
		}
		if len(open) > maxDepth {
			return fmt.Errorf("it is nested deeper than %d", maxDepth)
		}
		key = open[len(open)-1] != nil
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: there is more after the value", place(raw, d.InputOffset()))
	}
	return nil
}

func offset(err error, d *json.Decoder) int64 {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return syntax.Offset
	}
	return d.InputOffset()
}

func plain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the text ends too early")
	}
	return err
}

// place gives an offset as people count.
func place(raw []byte, at int64) string {
	before := raw[:max(0, min(int64(len(raw)), at))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d", line, max(1, column))
}
