package tool

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxQuoted is the size of a quoted name, in bytes of the name.
const maxQuoted = 512

// Quote shows a name or path in a message: as it is when it is plain, else in
// Go's quotes with escapes, and shortened in the middle when it is very long.
func Quote(name string) string {
	if long := len(name); long > maxQuoted {
		return fmt.Sprintf("%q…%q (%d bytes)", name[:maxQuoted/2], name[long-maxQuoted/4:], long)
	}
	if Plain(name) && name != "" {
		return name
	}
	return fmt.Sprintf("%q", name)
}

// Plain reports whether a name can stand on a line as it is: valid UTF-8 without
// control and format characters, line breaks, a quote in front or space at its
// ends.
func Plain(name string) bool {
	if !utf8.ValidString(name) || strings.HasPrefix(name, `"`) || strings.TrimSpace(name) != name {
		return false
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError {
			return false
		}
	}
	return true
}
