package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/verification"
)

// maxIndex bounds the list of an index, in bytes.
const maxIndex = 256 << 20

// explicit says to git what a repository could have configured otherwise, also to
// the git that it starts in submodules.
var explicit = []string{"-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.quotePath=false", "-c", "status.showUntrackedFiles=all", "-c", "diff.ignoreSubmodules=none"}

func gitCheck(c verification.Check, args ...string) verification.Check {
	return verification.Check{
		RepositoryID: c.Clean.RepositoryID, Command: "git", Args: append(explicit[:len(explicit):len(explicit)], args...), TimeoutMs: c.TimeoutMs,
	}
}

// tidy checks that the work tree has no change that is not committed, and no file
// whose changes git was told to overlook.
func (w *work) tidy(ctx context.Context, c verification.Check, p verification.Policy, e *verification.Evidence) {
	w.command(ctx, gitCheck(c, "status", "--porcelain=v2", "--untracked-files=all", "--ignore-submodules=none"), p, e)
	if e.State != verification.StatePassed {
		return
	}
	if strings.TrimSpace(e.Output) != "" {
		e.State, e.Reason = verification.StateFailed, "the work tree has changes that are not committed"
		return
	}
	file, option, err := w.overlooked(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		e.State, e.Reason = verification.StateNotRun, "it was ended: "+notRun(ctx)
	case err != nil:
		e.State, e.Reason = verification.StateBroken, w.clean(err.Error())
	case file != "":
		e.State = verification.StateFailed
		e.Reason = w.clean(fmt.Sprintf("git is told to overlook changes of %s; run git update-index %s for it", file, option))
	}
}

// overlooked returns the first file that the index marks as one whose changes do
// not count, also in submodules, and what takes the mark away.
func (w *work) overlooked(ctx context.Context, c verification.Check) (file, option string, err error) {
	cmd, _, err := w.prepare(gitCheck(c, "ls-files", "-v", "--recurse-submodules", "--", ":/"))
	if err != nil {
		return "", "", err
	}
	cmd.OutputCap, cmd.OnOutput = maxIndex, nil
	exit, err := w.cfg.Runner.Run(ctx, cmd)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("reading the marks of the index: %w", err)
	case !exit.OK():
		return "", "", fmt.Errorf("reading the marks of the index: git ended with exit code %d: %s", exit.Code, bytes.TrimSpace(exit.Stderr))
	case exit.Truncated:
		return "", "", errors.New("reading the marks of the index: it has too many files")
	}
	for line := range bytes.Lines(exit.Stdout) {
		mark, name, _ := strings.Cut(strings.TrimRight(string(line), "\n"), " ")
		switch {
		case mark == "":
		case mark == strings.ToLower(mark) && mark != strings.ToUpper(mark):
			return name, "--no-assume-unchanged", nil
		case mark == "S":
			return name, "--no-skip-worktree", nil
		}
	}
	return "", "", nil
}
