package scope

import (
	"path"
	"slices"
	"strings"
)

// family is a package manager: files that say what is needed, and those that it
// writes beside them or beside a manifest further up.
type family struct {
	manifests []string
	locks     []string
	artefacts []string // directories and files below the directory of a lock
}

var families = []family{
	{
		manifests: []string{"package.json"},
		locks: []string{
			"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb",
			".pnp.cjs", ".pnp.js", ".pnp.data.json", ".pnp.loader.mjs",
		},
		artefacts: []string{".yarn/cache", ".yarn/unplugged", ".yarn/install-state.gz", ".yarn/build-state.yml"},
	},
	{manifests: []string{"Cargo.toml"}, locks: []string{"Cargo.lock"}},
	{manifests: []string{"go.mod"}, locks: []string{"go.work.sum"}},
	{manifests: []string{"pyproject.toml"}, locks: []string{"uv.lock", "poetry.lock", "pdm.lock"}},
	{manifests: []string{"composer.json"}, locks: []string{"composer.lock"}},
	{manifests: []string{"Gemfile"}, locks: []string{"Gemfile.lock"}},
	{manifests: []string{"mix.exs"}, locks: []string{"mix.lock"}},
	{manifests: []string{"pubspec.yaml"}, locks: []string{"pubspec.lock"}},
}

func isManifest(at string) bool {
	return slices.ContainsFunc(families, func(f family) bool { return slices.Contains(f.manifests, path.Base(at)) })
}

// follows reports whether a file is what a package manager writes when one of
// the manifests changes: a lock of its family in a directory around it.
func follows(at string, manifests []string) bool {
	for _, m := range manifests {
		for _, f := range families {
			if slices.Contains(f.manifests, path.Base(m)) && f.writes(at, path.Dir(m)) {
				return true
			}
		}
	}
	return false
}

// writes reports whether a file is a lock or an artefact of the family in a
// directory around dir.
func (f family) writes(at, dir string) bool {
	for dir != "." {
		dir = path.Dir(dir)
		prefix := ""
		if dir != "." {
			prefix = dir + "/"
		}
		rest, ok := strings.CutPrefix(at, prefix)
		if ok && (slices.Contains(f.locks, rest) || slices.ContainsFunc(f.artefacts, func(a string) bool { return inside(rest, a) })) {
			return true
		}
	}
	return false
}
