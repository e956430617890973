package tenon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// isolate gives an agent a git work tree of its own, below the directory of its
// visit. finish removes one in which nothing was changed, and keeps and tells of
// every other one: unsaved work is never deleted.
func (t *Tenon) isolate(ctx context.Context, f piece.Frame, dir string) (tree string, finish func(context.Context) (string, error), err error) {
	if len(f.Repositories) == 0 {
		return "", nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "%s: there is no repository to make a work tree of", f.Node)
	}
	repo := f.Repositories[0].Path
	tree = filepath.Join(dir, "tree")
	if _, err := os.Stat(filepath.Join(tree, ".git")); errors.Is(err, fs.ErrNotExist) {
		if _, err := gitIn(ctx, repo, "worktree", "add", "--quiet", "--detach", "--force", tree, "HEAD"); err != nil {
			return "", nil, workflow.Errorf(workflow.CodeInvalidWorkspace, "%s: making a work tree of its own: %w", f.Node, err).
				WithHint("isolation needs a git repository with a commit")
		}
	}
	base, err := gitIn(ctx, repo, "rev-parse", "HEAD")
	if err != nil {
		return "", nil, err
	}
	return tree, func(ctx context.Context) (string, error) { return settleTree(ctx, repo, tree, base) }, nil
}

// settleTree removes a work tree that is unchanged, and tells of another one.
func settleTree(ctx context.Context, repo, tree, base string) (string, error) {
	changes, err := gitIn(ctx, tree, "status", "--porcelain")
	if err != nil {
		return "", err
	}
	head, err := gitIn(ctx, tree, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	if changes != "" || head != base {
		return fmt.Sprintf("an agent left its changes in the work tree %s (%s): take them over, then remove it with: git worktree remove %s",
			tree, summaryOf(changes), tree), nil
	}
	_, err = gitIn(ctx, repo, "worktree", "remove", tree)
	return "", err
}

func summaryOf(changes string) string {
	if changes == "" {
		return "new commits"
	}
	return fmt.Sprintf("%d changed", strings.Count(changes, "\n")+1)
}

// gitIn runs git in a directory and returns what it says.
func gitIn(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(complaint.String()))
	}
	return strings.TrimSpace(out.String()), nil
}
