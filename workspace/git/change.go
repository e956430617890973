package git

import (
	"fmt"
	"slices"
	"strings"
)

// Change is the OpenSpec change that a run writes itself. Its folder, its folder
// in the archive and the main specs it names are left out, tracked or not, and
// the digest shows that.
type Change struct {
	Name       string   // of the folder below openspec/changes; empty means no change
	Repository string   // id; empty means every repository
	Specs      []string // folders below openspec/specs that the change may write
}

// checked returns the change with its list in order.
func (c Change) checked() (Change, error) {
	if c.Name == "" {
		return Change{}, nil
	}
	c.Specs = slices.Compact(slices.Sorted(slices.Values(c.Specs)))
	for _, name := range append([]string{c.Name}, c.Specs...) {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			return Change{}, fmt.Errorf("setting up the candidate: change %q: %q must be the name of one folder", c.Name, name)
		}
	}
	if c.Name == archive {
		return Change{}, fmt.Errorf("setting up the candidate: a change must not be called %q", c.Name)
	}
	return c, nil
}

const archive = "archive"

// owns takes a path relative to a repository.
func (c Change) owns(repository, name string) bool {
	if c.Name == "" || c.Repository != "" && c.Repository != repository {
		return false
	}
	rest, ok := strings.CutPrefix(name, "openspec/")
	if !ok {
		return false
	}
	kind, rest, _ := strings.Cut(rest, "/")
	first, rest, below := strings.Cut(rest, "/")
	switch {
	case !below:
		return false
	case kind == "specs":
		return slices.Contains(c.Specs, first)
	case kind != "changes":
		return false
	case first == archive:
		dated, _, below := strings.Cut(rest, "/")
		return below && archived(dated, c.Name)
	}
	return first == c.Name
}

// archived reports whether a folder of the archive, "YYYY-MM-DD-NAME", is that of
// the change.
func archived(folder, change string) bool {
	date, ok := strings.CutSuffix(folder, "-"+change)
	if !ok || len(date) != len("YYYY-MM-DD") {
		return false
	}
	for i, c := range []byte(date) {
		if dash := i == 4 || i == 7; dash != (c == '-') || !dash && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// change adds a change; without one it adds nothing.
func (e *encoder) change(c Change) {
	if c.Name == "" {
		return
	}
	e.field("change")
	e.field(c.Name)
	e.field(c.Repository)
	e.count(len(c.Specs))
	for _, name := range c.Specs {
		e.field(name)
	}
}
