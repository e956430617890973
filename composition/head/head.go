// Package head reads the head of Markdown files: the front matter of agents and
// skills.
//
// Holds: Split.
//
// Guarantees: pure; what is read has the place in the file that it is written at. A
// head that is not YAML is an error with its place; the one exception, a description
// that is not quoted, is a warning.
//
// Does not: know which keys there are.
package head

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/source"
)

// Finding is the code of findings about a head as such.
const Finding = "front_matter"

// Split splits a Markdown file, called name for people, and parses its head. What
// is not YAML, and would be if its description stood in quotes, is read so, with a
// warning. The error is source.Errors.
func Split(name string, data []byte) (doc *source.Document, body string, loose source.Errors, err error) {
	const fence = "---\n"
	fail := func(message, hint string) (*source.Document, string, source.Errors, error) {
		return nil, "", nil, source.Errors{{File: name, Line: 1, Column: 1, Code: Finding, Message: message, Hint: hint}}
	}
	s := string(data)
	if !strings.HasPrefix(s, fence) {
		return fail("the file has no front matter", "begin it with a line ---, then name: and description:, then a line ---")
	}
	s = s[len(fence):]
	head, body, closed := strings.Cut("\n"+s+"\n", "\n"+fence)
	if !closed {
		return fail("the front matter has no end", "close it with a line ---")
	}
	head = strings.TrimPrefix(head, "\n") + "\n"
	body = strings.Trim(body, "\n")
	limits := source.Limits{FirstLine: 2}
	if doc, err = source.Parse(name, []byte(head), limits); err == nil {
		return doc, body, nil, nil
	}
	if text, ok := quoted(head); ok {
		if doc, again := source.Parse(name, []byte(text), limits); again == nil {
			e := source.Error{Pointer: "/description", Code: Finding, Message: `the description holds ": " and is not YAML; it is read as it stands`, Hint: "put it in quotes"}
			return doc, body, source.Errors{doc.LocateKey(e)}, nil
		}
	}
	return nil, "", nil, yamlHint(err)
}

// looseText is a description that is not quoted, on one line.
var looseText = regexp.MustCompile("(?m)^description:[ \t]+([^\"'\\[\\]{}|>&*!%@#`, \t\n].*)$")

// quoted puts a description into quotes that holds ": ". Other programs write and
// read such heads.
func quoted(head string) (text string, loose bool) {
	text = looseText.ReplaceAllStringFunc(head, func(line string) string {
		said := strings.TrimSpace(strings.TrimPrefix(line, "description:"))
		if !strings.Contains(said, ": ") && !strings.HasSuffix(said, ":") {
			return line
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(said) != nil {
			return line // not reached: a text always encodes
		}
		loose = true
		return "description: " + strings.TrimSuffix(b.String(), "\n")
	})
	return text, loose
}

// yamlHint tells what is behind most front matter that is not YAML.
func yamlHint(err error) error {
	es, ok := err.(source.Errors) //nolint:errorlint // it is what Parse returns
	if !ok {
		return err
	}
	es = slices.Clone(es)
	for i := range es {
		if es[i].Code == source.CodeSyntax && es[i].Hint == "" {
			es[i].Hint = "the front matter is not YAML; a text that holds \": \" or begins with a special character goes in quotes"
		}
	}
	return es
}
