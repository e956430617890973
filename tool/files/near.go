package files

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
)

// Bounds of the search for a near miss: lines of a file, and bytes of a line.
const (
	nearLines = 50_000
	nearBytes = 400
)

var numbered = text.MustPattern(`^\s*\d+\t`)

// missing says why a text is not in s, with the place that is most like it.
func missing(s, old, with string) *tool.Failed {
	e := &tool.Failed{What: "old_string is not in the file"}
	lines := strings.SplitAfterN(s, "\n", nearLines+1)
	wanted := strings.Split(strings.Trim(strings.ReplaceAll(old, "\r\n", "\n"), "\n"), "\n")
	if allMatch(wanted, numbered()) {
		e.What += "; it begins with line numbers, which are not part of the file"
		e.Next = "quote the lines without number and tab"
		return e
	}
	if at := loose(lines, wanted); at >= 0 {
		e.What += fmt.Sprintf(", but with other white space at line %d: %s", at+1, few(lines[at:min(at+len(wanted), len(lines))]))
		e.Next = "quote it exactly as it is there"
		return e
	}
	if strings.TrimSpace(with) != "" && strings.Contains(s, with) {
		e.What += fmt.Sprintf(", but new_string is, at line %s", linesOf(s, with))
		e.Next = "look with read whether the change was made already"
		return e
	}
	if at, score := closest(lines, wanted); score >= 0.4 {
		e.What += fmt.Sprintf("; the closest is line %d: %s", at+1, few(lines[at:min(at+len(wanted), at+3, len(lines))]))
	}
	e.Next = "read the file again and quote it exactly"
	return e
}

func allMatch(lines []string, p *regexp.Regexp) bool {
	for _, l := range lines {
		if l != "" && !p.MatchString(l) {
			return false
		}
	}
	return strings.TrimSpace(strings.Join(lines, "")) != ""
}

// few quotes lines so that white space can be told apart.
func few(lines []string) string {
	return fmt.Sprintf("%q", text.HeadBytes(text.Repair(strings.TrimRight(strings.Join(lines, ""), "\r\n")), 600, " …"))
}

// loose finds lines that are the wanted ones but for white space, or -1.
func loose(lines, wanted []string) int {
	squeeze := func(l string) string { return strings.Join(strings.Fields(l), " ") }
	want := make([]string, len(wanted))
	for i, w := range wanted {
		want[i] = squeeze(w)
	}
	if strings.Join(want, "") == "" {
		return -1
	}
	have := make([]string, len(lines))
	for i, l := range lines {
		if len(l) <= nearBytes*4 {
			have[i] = squeeze(l)
		}
	}
next:
	for at := 0; at+len(want) <= len(have); at++ {
		for i, w := range want {
			if have[at+i] != w {
				continue next
			}
		}
		return at
	}
	return -1
}

// closest finds the line that is most like the first wanted line with content.
func closest(lines, wanted []string) (at int, score float64) {
	first, skipped := "", 0
	for i, w := range wanted {
		if first = strings.TrimSpace(w); first != "" {
			skipped = i
			break
		}
	}
	want := pairs(first)
	for i, l := range lines {
		if s := likeness(want, pairs(strings.TrimSpace(l))); s > score {
			at, score = i, s
		}
	}
	return max(at-skipped, 0), score
}

// pairs counts the pairs of neighbouring bytes of a line.
func pairs(s string) map[[2]byte]int {
	s = s[:min(len(s), nearBytes)]
	m := make(map[[2]byte]int, len(s))
	for i := 0; i+1 < len(s); i++ {
		m[[2]byte{s[i], s[i+1]}]++
	}
	return m
}

// likeness is 1 for the same pairs and 0 for none in common.
func likeness(a, b map[[2]byte]int) float64 {
	all, both := 0, 0
	for p, n := range a {
		all += n
		both += min(n, b[p])
	}
	for _, n := range b {
		all += n
	}
	if all == 0 {
		return 0
	}
	return 2 * float64(both) / float64(all)
}
