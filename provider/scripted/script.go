package scripted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider"
)

// Codes of the errors that Load finds, beside those of package source.
const (
	CodeUnknownKey = "unknown_key"
	CodeMissing    = "missing"
	CodeInvalid    = "invalid"
	CodeConflict   = "conflict" // two members that exclude each other
)

// Script is a loaded script. It does not change.
type Script struct {
	name    string
	replies []reply
}

type document struct {
	Version int     `json:"version"`
	Replies []reply `json:"replies"`
}

type reply struct {
	Match   string `json:"match"`
	System  string `json:"system"`
	Model   string `json:"model"`
	Node    string `json:"node"`
	Command string `json:"command"`
	Turn    int    `json:"turn"`
	Attempt int    `json:"attempt"`
	Times   int    `json:"times"`

	Text      *string         `json:"text"`
	JSON      json.RawMessage `json:"json"`
	Reasoning string          `json:"reasoning"`
	ToolCalls []toolCall      `json:"tool_calls"`
	Files     []provider.File `json:"files"`
	Stop      string          `json:"stop"`
	Usage     json.RawMessage `json:"usage"`
	Delay     string          `json:"delay"`
	Hang      bool            `json:"hang"`
	Error     *failure        `json:"error"`
	Chunk     int             `json:"chunk"`
	PadWith   *padding        `json:"pad_with"`

	conditions []condition
	usage      *usage
	delay      time.Duration
}

// Writes reports whether a reply carries files.
func (s *Script) Writes() bool {
	return slices.ContainsFunc(s.replies, func(r reply) bool { return len(r.Files) > 0 })
}

type toolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"` // an object, or a string that is sent as it is
}

type usage struct {
	auto       bool
	In         *int64   `json:"in"`
	Cached     *int64   `json:"cached"`
	CacheWrite *int64   `json:"cache_write"`
	Out        *int64   `json:"out"`
	Reasoning  *int64   `json:"reasoning"`
	Cost       *float64 `json:"cost"`
}

type failure struct {
	Code       provider.Code `json:"code"`
	Status     int           `json:"status"`
	Message    string        `json:"message"`
	RetryAfter string        `json:"retry_after"`
	ResetAfter string        `json:"reset_after"`

	retryAfter, resetAfter time.Duration
}

type padding struct {
	Char  string `json:"char"`
	Count int    `json:"count"`
}

// maxPadding bounds pad_with.
const maxPadding = 64 << 20

// condition is a match on one text of a request.
type condition struct {
	what string
	want string
	re   *regexp.Regexp // nil: want is a part of the text, or for exact the text
	full bool
}

func (c condition) holds(s string) bool {
	switch {
	case c.re != nil:
		return c.re.MatchString(s)
	case c.full:
		return s == c.want
	}
	return strings.Contains(s, c.want)
}

// Load reads a script. Name is the file's, for errors and to tell JSON from
// YAML. A failure is of type [source.Errors] and holds every finding.
func Load(name string, data []byte) (*Script, error) {
	doc, err := source.Parse(name, data, source.Limits{})
	if err != nil {
		return nil, err
	}
	c := checker{doc: doc}
	var tree any
	if err := json.Unmarshal(doc.JSON(), &tree); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	c.keys("", tree, documentShape())
	if len(c.errs) > 0 {
		return nil, c.sorted()
	}
	var d document
	if err := doc.Decode(&d); err != nil {
		return nil, err
	}
	c.document(&d)
	if len(c.errs) > 0 {
		return nil, c.sorted()
	}
	return &Script{name: name, replies: d.Replies}, nil
}

// Default is the script that answers "ok" to everything.
func Default() *Script {
	return &Script{name: "the built-in script", replies: []reply{{usage: &usage{auto: true}}}}
}

// shape is what keys an object may have. An open one may have any.
type shape struct {
	members map[string]*shape
	names   []string
	open    bool
}

func object(members map[string]*shape, leaves string) *shape {
	s := &shape{members: map[string]*shape{}, names: strings.Fields(leaves)}
	for _, leaf := range s.names {
		s.members[leaf] = &shape{open: true}
	}
	for name, m := range members {
		s.members[name] = m
		s.names = append(s.names, name)
	}
	return s
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

var documentShape = sync.OnceValue(func() *shape {
	return object(map[string]*shape{
		"replies": object(map[string]*shape{
			"tool_calls": object(nil, "name args"),
			"files":      object(nil, "path content delete"),
			"usage":      object(nil, "in cached cache_write out reasoning cost"),
			"error":      object(nil, "code status message retry_after reset_after"),
			"pad_with":   object(nil, "char count"),
		}, "match system model node command turn attempt times text json reasoning stop delay hang chunk"),
	}, "version")
})

type checker struct {
	doc  *source.Document
	errs source.Errors
}

func (c *checker) add(pointer, code, hint, format string, args ...any) {
	c.errs = append(c.errs, c.doc.Locate(source.Error{
		Pointer: pointer, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint,
	}))
}

func (c *checker) sorted() source.Errors {
	slices.SortFunc(c.errs, func(a, b source.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return c.errs
}

// keys finds members that do not exist. A list is checked item by item.
func (c *checker) keys(pointer string, v any, s *shape) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			c.keys(fmt.Sprintf("%s/%d", pointer, i), item, s)
		}
	case map[string]any:
		if s.open {
			return
		}
		for key, member := range v {
			at := pointer + "/" + pointerEscaper.Replace(key)
			if m := s.members[key]; m != nil {
				c.keys(at, member, m)
				continue
			}
			hint := "the members are " + strings.Join(s.names, ", ")
			if near := text.Nearest(key, s.names); near != "" {
				hint = "did you mean " + near + "?"
			}
			c.errs = append(c.errs, c.doc.LocateKey(source.Error{
				Pointer: at, Code: CodeUnknownKey, Message: fmt.Sprintf("there is no %q here", key), Hint: hint,
			}))
		}
	}
}
