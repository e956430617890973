package draw

import (
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// Sizes of texts in an SVG, in pixels.
const (
	titleSize  = 13.0
	detailSize = 11.0
	labelSize  = 10.5
)

// bold is how much wider a bold text is.
const bold = 1.12

// textWidth estimates the width of a text in a usual sans-serif font, rather too
// wide than too narrow.
func textWidth(s string, size float64) float64 {
	sum := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("iljtf.,:;'|!()[]I ", r):
			sum += 0.34
		case strings.ContainsRune("mwMW@%", r):
			sum += 0.92
		case r >= 'A' && r <= 'Z':
			sum += 0.70
		case r >= 0x1100:
			sum += 1.05
		default:
			sum += 0.585
		}
	}
	return sum * size
}

// fit cuts a text to a width.
func fit(s string, size, width float64) string {
	s = plain(s)
	if textWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 0 && textWidth(string(runes), size)+size > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimSpace(string(runes)) + "…"
}

// plain makes a text one line of printable characters.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, text.Repair(s))
	return strings.Join(strings.Fields(s), " ")
}

func joined(outcomes []string) string { return strings.Join(outcomes, " · ") }
