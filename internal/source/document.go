package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Document is an accepted document. It does not change after Parse.
type Document struct {
	text  *text
	root  *node
	json  []byte
	order []*node // every value in order of its place in json
}

type kind byte

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// node is one value.
type node struct {
	kind    kind
	value   string // characters of a string, digits of a number, true or false
	members []member
	items   []*node
	at      place
	start   int // offset in the document's JSON text
}

// member is one key of an object with its value.
type member struct {
	key   string
	at    place
	value *node
}

// place is a byte offset in the text (JSON) or, with a line, line and column (YAML).
type place struct{ offset, line, column int }

func newDocument(t *text, root *node) *Document {
	d := &Document{text: t, root: root, json: make([]byte, 0, len(t.data))}
	d.render(root)
	return d
}

// Name is the file name given to Parse.
func (d *Document) Name() string { return d.text.name }

// JSON returns the document as compact JSON text, members in the order written.
// It must not be modified.
func (d *Document) JSON() []byte { return d.json }

// At returns the place of the value at a JSON pointer. If there is none it returns
// the place of the nearest enclosing value that exists, and false.
func (d *Document) At(pointer string) (Position, bool) {
	found, _, ok := d.find(pointer)
	return d.position(found.at), ok
}

// KeyAt returns the place of the key that a JSON pointer ends in; for an array item
// or the root, the place of the value. Otherwise it is as At.
func (d *Document) KeyAt(pointer string) (Position, bool) {
	found, key, ok := d.find(pointer)
	if ok && key != nil {
		return d.position(key.at), true
	}
	return d.position(found.at), ok
}

// Locate fills in file, line, column and excerpt of e from its pointer.
func (d *Document) Locate(e Error) Error {
	p, _ := d.At(e.Pointer)
	return d.place(e, p)
}

// LocateKey is Locate for an error about a key.
func (d *Document) LocateKey(e Error) Error {
	p, _ := d.KeyAt(e.Pointer)
	return d.place(e, p)
}

func (d *Document) place(e Error, p Position) Error {
	e.File, e.Line, e.Column, e.Excerpt = p.File, p.Line, p.Column, d.text.excerpt(p)
	return e
}

// Decode stores the document in v as json.Unmarshal does; a value of the wrong type
// is reported as Errors with its place.
func (d *Document) Decode(v any) error {
	err := json.Unmarshal(d.json, v)
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		if err != nil {
			return fmt.Errorf("decoding %s: %w", d.text.name, err)
		}
		return nil
	}
	i := sort.Search(len(d.order), func(i int) bool { return d.order[i].start >= int(wrong.Offset) })
	found := d.order[max(0, i-1)]
	pointer := d.pointerOf(found)
	message := fmt.Sprintf("%s where %s should be", article(wrong.Value), article(goTypes[wrong.Type.Kind().String()]))
	return Errors{d.Locate(Error{Pointer: pointer, Code: CodeType, Message: message})}
}

// goTypes names kinds of Go types in words of JSON.
var goTypes = map[string]string{
	"string": "string", "bool": "boolean", "slice": "array", "array": "array", "map": "object", "struct": "object",
	"int": "integer", "int8": "integer", "int16": "integer", "int32": "integer", "int64": "integer",
	"uint": "integer", "uint8": "integer", "uint16": "integer", "uint32": "integer", "uint64": "integer", "float32": "number", "float64": "number",
}

func article(noun string) string {
	switch {
	case noun == "":
		return "another value"
	case noun == "bool":
		return "a boolean"
	case strings.ContainsRune("aeio", rune(noun[0])):
		return "an " + noun
	}
	return "a " + noun
}

func (d *Document) position(at place) Position {
	if at.line > 0 {
		return Position{d.text.name, at.line, at.column}
	}
	return d.text.position(at.offset)
}

// find follows a pointer as far as it goes; key is the member it ends in.
func (d *Document) find(pointer string) (found *node, key *member, ok bool) {
	found = d.root
	if pointer == "" {
		return found, nil, true
	}
	if pointer[0] != '/' {
		return found, nil, false
	}
	for segment := range strings.SplitSeq(pointer[1:], "/") {
		next, m := found.child(unescape(segment))
		if next == nil {
			return found, nil, false
		}
		found, key = next, m
	}
	return found, key, true
}

func (n *node) child(segment string) (*node, *member) {
	if n.kind == kindArray {
		i, err := strconv.Atoi(segment)
		if err != nil || i < 0 || i >= len(n.items) || strconv.Itoa(i) != segment {
			return nil, nil
		}
		return n.items[i], nil
	}
	for i := range n.members {
		if n.members[i].key == segment {
			return n.members[i].value, &n.members[i]
		}
	}
	return nil, nil
}

// pointerOf finds the pointer of a value of this document.
func (d *Document) pointerOf(target *node) string {
	pointer := ""
	for n := d.root; n != target; {
		var next *node
		segment := ""
		for i, item := range n.items {
			if item.start <= target.start {
				next, segment = item, strconv.Itoa(i)
			}
		}
		for _, m := range n.members {
			if m.value.start <= target.start {
				next, segment = m.value, m.key
			}
		}
		if next == nil {
			break
		}
		n, pointer = next, pointer+"/"+escape(segment)
	}
	return pointer
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escape(segment string) string   { return pointerEscaper.Replace(segment) }
func unescape(segment string) string { return pointerUnescaper.Replace(segment) }

func pointerTo(path []string) string {
	var b strings.Builder
	for _, segment := range path {
		b.WriteByte('/')
		b.WriteString(escape(segment))
	}
	return b.String()
}
