// Package answer finds JSON in what a model wrote.
//
// Holds: the search for JSON values in an answer that may have words, fences and
// other things around them.
//
// Guarantees: what it returns is valid JSON that stands in the text as it is.
//
// Does not: repair JSON, or judge whether a value is the wanted one.
package answer

import (
	"encoding/json"
	"strings"
)

// maxTries bounds how many places of a text are tried.
const maxTries = 1000

// Values returns the JSON values that an answer may mean, the most likely first:
// the whole text, then what stands in fences, then the first objects or arrays
// in running text. It returns nil when there is none.
func Values(text string) []json.RawMessage {
	if v, ok := whole(text); ok {
		return []json.RawMessage{v}
	}
	var values []json.RawMessage
	for _, block := range fenced(text) {
		if v, ok := whole(block); ok {
			values = append(values, v)
		}
	}
	return append(values, balanced(text, len(values) > 0)...)
}

func whole(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if text == "" || !json.Valid([]byte(text)) {
		return nil, false
	}
	return json.RawMessage(text), true
}

// fenced returns the contents of Markdown code fences, in order.
func fenced(text string) []string {
	var blocks []string
	var block strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case fence == "" && (strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~")):
			fence = bare[:len(bare)-len(strings.TrimLeft(bare, bare[:1]))]
			block.Reset()
		case fence != "" && strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "":
			blocks = append(blocks, block.String())
			fence = ""
		case fence != "":
			block.WriteString(line)
		}
	}
	if fence != "" { // a fence that was never closed
		blocks = append(blocks, block.String())
	}
	return blocks
}

// balanced returns the outermost objects in running text, then the outermost
// arrays. An object inside an array counts as found in the array's place too.
func balanced(text string, objectsOnly bool) []json.RawMessage {
	values := scan(text, '{')
	if !objectsOnly {
		values = append(values, scan(text, '[')...)
	}
	return values
}

func scan(text string, open byte) []json.RawMessage {
	var values []json.RawMessage
	for at, tries := 0, 0; at < len(text) && tries < maxTries; tries++ {
		next := strings.IndexByte(text[at:], open)
		if next < 0 {
			break
		}
		at += next
		d := json.NewDecoder(strings.NewReader(text[at:]))
		var v json.RawMessage
		if d.Decode(&v) != nil {
			at++
			continue
		}
		values = append(values, v)
		at += int(d.InputOffset())
	}
	return values
}
