package git

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workspace"
)

// Exclude leaves a path and everything below it out of the candidate.
type Exclude struct {
	Repository string // id; empty means every repository
	Path       string // slash-separated, relative to the repository, without patterns
	// Tracked leaves tracked files out too. It is for what the run itself writes;
	// otherwise tracked files always count.
	Tracked bool
}

func (x Exclude) meets(repository string) bool {
	return x.Repository == "" || x.Repository == repository
}

// normalise checks, sorts and deduplicates excludes.
func normalise(list []Exclude) ([]Exclude, error) {
	clean := make([]Exclude, 0, len(list))
	for _, x := range list {
		given := x.Path
		x.Path = path.Clean(strings.TrimSuffix(x.Path, "/"))
		if given == "" || x.Path == "." || path.IsAbs(x.Path) || x.Path == ".." || strings.HasPrefix(x.Path, "../") {
			return nil, fmt.Errorf("setting up the candidate: exclude %q must be a path below the repository", given)
		}
		clean = append(clean, x)
	}
	slices.SortFunc(clean, func(a, b Exclude) int {
		return strings.Compare(a.Repository+"\x00"+a.Path+"\x00"+fmt.Sprint(a.Tracked), b.Repository+"\x00"+b.Path+"\x00"+fmt.Sprint(b.Tracked))
	})
	return slices.Compact(clean), nil
}

// leave decides what a repository leaves out.
type leave struct {
	exclude    []Exclude
	change     Change
	repository string
	state      []string // slash-separated, relative to the repository
}

// out takes a path relative to the repository; a directory ends with "/".
func (l leave) out(name string, tracked bool) bool {
	for _, dir := range l.state {
		if below(name, dir) {
			return true
		}
	}
	for _, x := range l.exclude {
		if x.meets(l.repository) && (x.Tracked || !tracked) && below(name, x.Path) {
			return true
		}
	}
	return l.change.owns(l.repository, name) || !tracked && workspace.Generated(name)
}

// below reports whether name is dir or lies in it.
func below(name, dir string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// stateBelow returns the state directories that lie in a repository.
func stateBelow(state []string, repository string) (found []string) {
	root := canonical(repository)
	for _, dir := range state {
		rel, err := filepath.Rel(root, canonical(dir))
		if rel = filepath.ToSlash(rel); err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, "../") {
			found = append(found, rel)
		}
	}
	return found
}

// canonical resolves the part of a path that exists.
func canonical(name string) string {
	rest := ""
	for dir := filepath.Clean(name); ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil || !os.IsNotExist(err) {
			if err != nil {
				return filepath.Clean(name)
			}
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Clean(name)
		}
		dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest)
	}
}
