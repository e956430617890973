package text

import (
	"regexp"
	"sync"
)

// MustPattern returns a regular expression that is compiled when it is first
// used, and panics then if it is wrong. Most processes are short and use few.
func MustPattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
