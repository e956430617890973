package text

import "strings"

// Nearest returns the one of names that name was most likely meant to be, or ""
// when none is near: at most a third of its characters, and at least one, may
// differ. Case does not count. Of equally near names the first in order wins.
func Nearest(name string, names []string) string {
	want := []rune(strings.ToLower(name))
	best, distance := "", len(want)/3+1
	if len(want) < 3 {
		distance = len(want)
	}
	for _, candidate := range names {
		if d := edits(want, []rune(strings.ToLower(candidate)), distance); d < distance || d == distance && best != "" && candidate < best {
			best, distance = candidate, d
		}
	}
	return best
}

// edits counts the insertions, deletions, replacements and swaps of neighbours
// between a and b, and stops at limit+1.
func edits(a, b []rune, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
