package export

import (
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/artifact"
)

// safe returns a file name for an id: one that every file system keeps as it is.
func safe(id string) string {
	trimmed := strings.TrimRight(id, ".")
	if trimmed != id || artifact.Reserved(id) {
		return trimmed + "_"
	}
	return id
}

// shelf gives out names that differ in more than case.
type shelf map[string]bool

// name returns a name that was not given out: the one of stem and ext, or one with
// a number.
func (s shelf) name(stem, ext string) string {
	name := stem + ext
	for n := 2; s[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s~%d%s", stem, n, ext)
	}
	s[strings.ToLower(name)] = true
	return name
}
