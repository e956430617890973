package tenon

import (
	"os"
	"path/filepath"
	"strings"
)

// commands renders native commands for backends that have none of their own.
type commands struct{ root string }

// render finds the prompt of a command id, such as "opsx:ff", in the places
// where people keep them. $ARGUMENTS stands for the arguments; a text without it
// gets them at its end.
func (c commands) render(id, args string) (string, bool) {
	sub := filepath.Join(strings.Split(id, ":")...)
	dashed := strings.ReplaceAll(id, ":", "-")
	for _, path := range []string{
		filepath.Join(".claude", "commands", sub+".md"),
		filepath.Join(".claude", "commands", dashed+".md"),
		filepath.Join(".tenon", "skills", dashed, "SKILL.md"),
		filepath.Join(".claude", "skills", dashed, "SKILL.md"),
		filepath.Join(".claude", "skills", sub, "SKILL.md"),
	} {
		raw, err := os.ReadFile(filepath.Join(c.root, path))
		if err != nil {
			continue
		}
		body := withoutFrontMatter(string(raw))
		if strings.Contains(body, "$ARGUMENTS") {
			return strings.ReplaceAll(body, "$ARGUMENTS", args), true
		}
		if args != "" {
			body += "\n\nArguments: " + args
		}
		return body, true
	}
	return "", false
}

func withoutFrontMatter(s string) string {
	rest, ok := strings.CutPrefix(s, "---\n")
	if !ok {
		return s
	}
	if _, body, ok := strings.Cut(rest, "\n---\n"); ok {
		return strings.TrimLeft(body, "\n")
	}
	return s
}
