// Package command prepares the host commands of pieces.
//
// Holds: the place of a command in a repository and its change scope, the limits
// that the operating system sets on what a command is given, the reading of its
// output, and the warning about pipelines.
//
// Guarantees: a command that Prepare returns starts in an existing directory
// inside its repository, and inside its scope where there is one, with links
// resolved.
//
// Does not: run commands, or confine them once they run.
package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// Wish is a command as a definition or configuration words it.
type Wish struct {
	RepositoryID string // "" is the only repository
	Argv         []string
	Line         string
	Cwd          string // relative to the repository
	Env          map[string]string
	Stdin        string
	Timeout      time.Duration
	Idle         time.Duration
	OutputCap    int
}

// Prepare returns the command to run for a wish. Errors tell the person what to
// change.
func Prepare(repositories []workflow.RepositoryInfo, w Wish) (workspace.Command, error) {
	repo, err := Repository(repositories, w.RepositoryID)
	if err != nil {
		return workspace.Command{}, err
	}
	dir, err := Dir(repo, w.Cwd)
	if err != nil {
		return workspace.Command{}, err
	}
	if err := checkSizes(w); err != nil {
		return workspace.Command{}, err
	}
	c := workspace.Command{
		Argv: w.Argv, Line: w.Line, Dir: dir, Env: w.Env,
		Timeout: w.Timeout, Idle: w.Idle, OutputCap: w.OutputCap,
	}
	if w.Stdin != "" {
		c.Stdin = []byte(w.Stdin)
	}
	return c, nil
}

// Repository finds a repository by its id or, where no id fits, by the name of
// its folder.
func Repository(repositories []workflow.RepositoryInfo, id string) (workflow.RepositoryInfo, error) {
	if id == "" && len(repositories) == 1 {
		return repositories[0], nil
	}
	var ids []string
	for _, r := range repositories {
		if r.ID == id {
			return r, nil
		}
		ids = append(ids, r.ID)
	}
	for _, r := range repositories {
		if path, err := filepath.Abs(r.Path); err == nil && filepath.Base(path) == id {
			return r, nil
		}
	}
	if id == "" {
		return workflow.RepositoryInfo{}, fmt.Errorf("no repository is named; name one of %s", strings.Join(ids, ", "))
	}
	hint := "known are " + strings.Join(ids, ", ")
	if near := text.Nearest(id, ids); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return workflow.RepositoryInfo{}, fmt.Errorf("there is no repository %q; %s", id, hint)
}

// Dir resolves a working directory inside a repository: cwd is relative to it,
// and "" is the repository itself or its only scope.
func Dir(repo workflow.RepositoryInfo, cwd string) (string, error) {
	if filepath.IsAbs(cwd) {
		return "", fmt.Errorf("cwd %q is absolute; write it relative to repository %s", cwd, repo.ID)
	}
	root, err := resolve(repo.Path)
	if err != nil {
		return "", fmt.Errorf("finding repository %s: %w", repo.ID, err)
	}
	if cwd == "" && len(repo.Scope) == 1 {
		cwd = repo.Scope[0]
	}
	if cwd == "" && len(repo.Scope) > 1 {
		return "", fmt.Errorf("repository %s has several scopes (%s); set cwd to a directory in one of them",
			repo.ID, strings.Join(repo.Scope, ", "))
	}
	dir, err := resolve(filepath.Join(root, filepath.FromSlash(cwd)))
	if err != nil {
		return "", fmt.Errorf("finding cwd %q in repository %s: %w", cwd, repo.ID, err)
	}
	if !Within(root, dir) {
		return "", fmt.Errorf("cwd %q leads out of repository %s to %s", cwd, repo.ID, dir)
	}
	if len(repo.Scope) > 0 && !slices.ContainsFunc(repo.Scope, func(scope string) bool {
		allowed, err := resolve(filepath.Join(root, filepath.FromSlash(scope)))
		return err == nil && Within(root, allowed) && Within(allowed, dir)
	}) {
		return "", fmt.Errorf("cwd %q is outside the scope of repository %s (%s)", cwd, repo.ID, strings.Join(repo.Scope, ", "))
	}
	return dir, nil
}

// resolve returns the absolute directory behind path, links followed.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", real)
	}
	return real, nil
}

// Within reports whether path is root or lies below it. Both are absolute and
// clean; links are not followed.
func Within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
