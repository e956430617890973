// Package source reads documents that people write, JSON or YAML, and keeps where
// everything stands.
//
// Holds: the strict parsers, the JSON text of a document, positions by JSON
// pointer, and errors with file, line, column and an excerpt.
//
// Guarantees: an accepted document has one meaning, which is its JSON text: no
// duplicate keys, no invalid UTF-8, lone surrogates or NUL, no number outside a
// double's range, and in YAML no tags, merge keys, non-string keys or unbounded aliases. Numbers keep
// the digits they were written with. Parsing does not panic.
//
// Does not: know what a document is for; schemas and meaning are the reader's.
package source

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
)

// Limits bound what is accepted. The zero value stands for the defaults.
type Limits struct {
	MaxBytes   int // size of the text; default 2 MiB
	MaxDepth   int // nested objects and arrays; default 64
	MaxAliases int // uses of YAML aliases; default 64
	MaxNodes   int // values that aliases may add in all; default 10,000
	FirstLine  int // number of the first line, for text inside a larger file; default 1
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		field *int
		value int
	}{{&l.MaxBytes, 2 << 20}, {&l.MaxDepth, 64}, {&l.MaxAliases, 64}, {&l.MaxNodes, 10_000}, {&l.FirstLine, 1}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return l
}

// Parse reads data, which came from the file called name: JSON when the name ends
// in .json, YAML when it ends in .yaml or .yml, otherwise JSON when the text begins
// with a brace or bracket. An empty YAML document is null. On failure the error is
// of type Errors and holds every duplicate key and the first syntax error; when
// there are only duplicates the document comes too, as if the first stood alone.
func Parse(name string, data []byte, limits Limits) (*Document, error) {
	limits = limits.withDefaults()
	text := &text{name: name, data: bytes.TrimPrefix(data, []byte("\ufeff")), firstLine: limits.FirstLine}
	if errs := text.check(limits); errs != nil {
		return nil, errs
	}
	var root *node
	var errs Errors
	if isJSON(name, text.data) {
		root, errs = parseJSON(text, limits)
	} else {
		root, errs = parseYAML(text, limits)
	}
	if len(errs) > 0 {
		errs.sort()
		if slices.ContainsFunc(errs, func(e Error) bool { return e.Code != CodeDuplicate }) {
			return nil, errs
		}
		root.single()
		return newDocument(text, root), errs
	}
	return newDocument(text, root), nil
}

// single drops every further member of a key.
func (n *node) single() {
	seen := map[string]bool{}
	n.members = slices.DeleteFunc(n.members, func(m member) bool {
		twice := seen[m.key]
		seen[m.key] = true
		return twice
	})
	for _, m := range n.members {
		m.value.single()
	}
	for _, item := range n.items {
		item.single()
	}
}

func isJSON(name string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return true
	case ".yaml", ".yml":
		return false
	}
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}
