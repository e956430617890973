package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// inOrder sorts problems by pointer, keyword and message; one that is there twice
// is left out.
func (ps Problems) inOrder() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Keyword, b.Keyword), strings.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool { return a.Pointer == b.Pointer && a.Message == b.Message })
}

// maxSpelled is how much of a value a message shows, in characters.
const maxSpelled = 60

// spell gives a value as a person would type it: strings bare, the rest as JSON.
func spell(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return quoted(v)
}

func quoted(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if runes := []rune(string(raw)); len(runes) > maxSpelled {
		return string(runes[:maxSpelled]) + "…"
	}
	return string(raw)
}

func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
