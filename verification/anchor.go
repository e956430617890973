package verification

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/text"
)

// Bounds of what is shown of a failure, in code points.
const (
	maxAnchors = 6_000
	maxLine    = 500
)

// anchorKinds are the lines that tell most about a failure, the most telling
// first.
var anchorKinds = []func(line string) bool{
	lineTest(`^\s*(?:--- FAIL:|FAIL(?:ED)?\b|ERROR\b|not ok\b|panic:|fatal error:|[✕✗×●✘] |test \S.* \.\.\. FAILED|thread '.*' panicked|\[  FAILED  \]|E   |Traceback \(most recent|\d+\) )|\b(?:FAILED|FAILURE)\s*$`),
	lineTest(`^\s*\S*?[\w.-]+\.\w{1,5}(?::\d+(?::\d+)?|\(\d+,\d+\)):? .*|\b[Ee]rror(?:\[\w+\]|\s*TS\d+)?:|\b\w+(?:Error|Exception)\b|cannot find|undefined:|^\s+--> \S+:\d+`),
	lineTest(`(?i)^\W*(?:expected|actual|received|got|want|wanted|left|right|assert\w*)\b|\b(?:want|expected)\b.*\b(?:got|actual|received|but)\b|\bgot\b.*\bwant\b`),
	isLocation,
}

func lineTest(expression string) func(string) bool {
	p := text.MustPattern(expression)
	return func(line string) bool { return p().MatchString(line) }
}

var (
	location = text.MustPattern(`^\s*(?:at .*[( ]\S+:\d+(?::\d+)?\)?\s*$|File "[^"]+", line \d+|\S+\.\w{1,5}:\d+(?:[: +]|$))`)
	foreign  = text.MustPattern(`node_modules/|node:internal|site-packages/|dist-packages/|/lib/python|/usr/local/go/|/go/pkg/mod/|\.cargo/registry|/rustc/`)
)

// isLocation tells a place in the code under test from one in its libraries.
func isLocation(line string) bool {
	return location().MatchString(line) && !foreign().MatchString(line)
}

// Anchors returns the lines of an output that tell where and why it failed, in
// their order, at most 6,000 code points: failing tests and crashes first, then
// errors with their place, expected values, and places in the code under test.
func Anchors(output string) string {
	lines := strings.Split(Plain(output), "\n")
	ranks := make([]int, len(lines))
	for i, line := range lines {
		lines[i] = text.Head(strings.TrimRight(line, " \t\r"), maxLine, "…")
		ranks[i] = slices.IndexFunc(anchorKinds, func(is func(string) bool) bool { return is(lines[i]) })
	}
	var chosen []int
	room, seen := maxAnchors, map[string]bool{}
	for rank := range anchorKinds {
		for i, line := range lines {
			size := utf8.RuneCountInString(line) + 1
			if ranks[i] != rank || seen[line] || size > room {
				continue
			}
			seen[line] = true
			room -= size
			chosen = append(chosen, i)
		}
	}
	slices.Sort(chosen)
	var out strings.Builder
	for _, i := range chosen {
		out.WriteString(lines[i] + "\n")
	}
	return out.String()
}

// counters are what a summary counts as failed: "3 tests failed", "Errors: 2".
var counters = text.MustPattern(`(?i)\b(\d+(?:,\d{3})*) (?:(?:test|spec|check|suite|scenario|file)s? )?(?:failed|failures?|failing|errors?|problems?)\b|\b(?:(?:failed|failing) \w+|\w+ failed|failed|failures?|errors?)\s*[:=]\s*(\d+(?:,\d{3})*)\b`)

// Failures tells how much an output says that failed, as far as two outputs of
// one command can be compared: the sum of what its summary counts, else the number
// of lines that name a failure or an error. 0 is not known.
func Failures(output string) int {
	sum, lines := 0, 0
	for line := range strings.Lines(Plain(output)) {
		for _, m := range counters().FindAllStringSubmatch(line, -1) {
			if n, err := strconv.Atoi(strings.ReplaceAll(m[1]+m[2], ",", "")); err == nil {
				sum += n
			}
		}
		line = text.Head(strings.TrimRight(line, " \t\r\n"), maxLine, "…")
		if anchorKinds[0](line) || anchorKinds[1](line) {
			lines++
		}
	}
	if sum > 0 {
		return sum
	}
	return lines
}
