package builtin

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed *.js
var files embed.FS

const extension = ".js"

// retired are names that a script had before, with the name that it has now.
var retired = map[string]string{"discuss": "discussion", "debate": "discussion"}

// Names lists the scripts, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // what is embedded can be listed
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), extension))
	}
	slices.Sort(names)
	return names
}

// Source returns the text of a script; ok is false when there is none of that
// name.
func Source(name string) (source []byte, ok bool) {
	if name != path.Base(name) {
		return nil, false
	}
	source, err := files.ReadFile(name + extension)
	return source, err == nil
}

// Current returns the name that holds now in place of a retired one; ok is false
// for every other name.
func Current(name string) (current string, ok bool) {
	current, ok = retired[name]
	return current, ok
}
