package openspec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/workflow"
)

// folder is where OpenSpec keeps its documents, below the repository.
const folder = "openspec"

// place finds the repository of the change: the one that is named, else the
// first that holds the change, else the first that uses OpenSpec, else the first.
func (v *visit) place() error {
	repos := v.f.Repositories
	if len(repos) == 0 {
		return v.errorf(workflow.CodeArtifactScope, "the run has no repository")
	}
	if v.p.RepositoryID != "" {
		repo, err := command.Repository(repos, v.p.RepositoryID)
		if err != nil {
			return v.errorf(workflow.CodeArtifactScope, "%w", err)
		}
		return v.enter(repo)
	}
	for _, below := range []string{"changes/" + v.change, ""} {
		for _, r := range repos {
			if isDir(filepath.Join(r.Path, folder, filepath.FromSlash(below))) {
				return v.enter(r)
			}
		}
	}
	return v.enter(repos[0])
}

// enter makes a repository that of the visit. Its OpenSpec folder must be a real
// one: through a link, other files than those of the repository would be judged.
func (v *visit) enter(repo workflow.RepositoryInfo) error {
	root, err := filepath.Abs(repo.Path)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return v.errorf(workflow.CodeArtifactScope, "finding repository %s: %w", repo.ID, err)
	}
	v.repo, v.root = repo, root
	for _, dir := range []string{folder, folder + "/changes"} {
		info, err := os.Lstat(v.path(dir))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return v.errorf(workflow.CodeArtifactScope, "repository %s has no folder %s/", repo.ID, dir).
				WithHint("run `openspec init --tools none` in %s, or set repositoryId", root)
		case err != nil:
			return v.errorf(workflow.CodeArtifactScope, "looking at %s/ of repository %s: %w", dir, repo.ID, err)
		case !info.IsDir():
			return v.errorf(workflow.CodeArtifactScope, "%s in repository %s is not a directory but a %s", dir, repo.ID, kindOf(info.Mode())).
				WithHint("OpenSpec documents must lie in the repository itself")
		}
	}
	return nil
}

// path is the place of a slash-separated path of the repository.
func (v *visit) path(below string) string { return filepath.Join(v.root, filepath.FromSlash(below)) }

// active reports whether the change is there and not archived.
func (v *visit) active() (bool, error) {
	info, err := os.Lstat(v.path(folder + "/changes/" + v.change))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, v.errorf(workflow.CodeArtifactScope, "looking at change %s: %w", v.change, err)
	case !info.IsDir():
		return false, v.errorf(workflow.CodeArtifactScope, "change %s is not a directory but a %s", v.change, kindOf(info.Mode()))
	}
	return true, nil
}

// archived returns the newest archive of the change, "" when there is none.
func (v *visit) archived() (string, error) {
	entries, err := os.ReadDir(v.path(folder + "/changes/archive"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", v.errorf(workflow.CodeArtifactScope, "looking for archives of change %s: %w", v.change, err)
	}
	newest := ""
	for _, e := range entries { // sorted by name, so by date
		if e.IsDir() && isArchiveOf(e.Name(), v.change) {
			newest = e.Name()
		}
	}
	return newest, nil
}

// isArchiveOf tells a name such as 2026-11-30-add-x. A change whose own name
// begins with a date keeps it.
func isArchiveOf(name, change string) bool {
	date, ok := strings.CutSuffix(name, change)
	if !ok || date == "" {
		return ok && isDate(change)
	}
	return len(date) == 11 && isDate(date)
}

// isDate reports whether s begins with a date and a dash.
func isDate(s string) bool {
	const form = "0000-00-00-"
	if len(s) < len(form) {
		return false
	}
	for i, c := range []byte(form) {
		if c == '-' && s[i] != '-' || c == '0' && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

// missing is the error about a change that is not there.
func (v *visit) missing(archived string) error {
	err := v.errorf(workflow.CodeChangeNotFound, "there is no change %s in %s", v.change, v.path(folder+"/changes"))
	switch {
	case archived != "" && v.guest:
		return err.WithHint("it is archived already, as %s, and not by this visit: move it back to %s/changes/%s to archive it again", archived, folder, v.change)
	case archived != "":
		return err.WithHint("it is archived as %s; set allowArchived if that is good enough", archived)
	}
	return err.WithHint("write it first, or name another one with --change NAME")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "link"
	case m.IsDir():
		return "directory"
	case m.IsRegular():
		return "file"
	}
	return "special file"
}
