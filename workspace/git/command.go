package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ErrNoRepository says that a path lies in no git work tree.
var ErrNoRepository = errors.New("not in a git work tree")

// ErrNoGit says that the git program is missing.
var ErrNoGit = errors.New("git is not installed: install it or fix PATH")

// overrides neutralise settings that would change an answer or start a program.
// The rest of the person's configuration stays, above all safe.directory.
var overrides = []string{
	"-c", "core.excludesFile=" + os.DevNull,
	"-c", "core.fsmonitor=false",
	"-c", "core.checkStat=default",
	"-c", "core.trustCtime=true",
	"-c", "core.fileMode=true",
}

// environment is that of this process without what redirects git.
func environment() []string {
	env := []string{"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") && !strings.HasPrefix(entry, "LC_ALL=") {
			env = append(env, entry)
		}
	}
	return env
}

// run runs git in dir and returns its standard output and what it said on
// standard error. With a ceiling, no repository is looked for in that directory
// or above it.
func run(ctx context.Context, dir, ceiling string, args ...string) (out []byte, said string, err error) {
	cmd := exec.CommandContext(ctx, "git", append(overrides[:len(overrides):len(overrides)], args...)...)
	cmd.Dir, cmd.Env = dir, append(environment(), "GIT_CEILING_DIRECTORIES="+ceiling)
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	said = strings.TrimSpace(stderr.String())
	switch {
	case err == nil:
		return out, said, nil
	case ctx.Err() != nil:
		return nil, said, fmt.Errorf("running git %s in %s: %w", args[0], dir, ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return nil, said, ErrNoGit
	case strings.Contains(said, "not a git repository"), strings.Contains(said, "must be run in a work tree"):
		return nil, said, fmt.Errorf("%s: %w", dir, ErrNoRepository)
	case said != "":
		err = fmt.Errorf("%w: %s", err, said)
	}
	return nil, said, fmt.Errorf("running git %s in %s: %w", args[0], dir, err)
}

// complaint returns what git could not read although it ended well.
func complaint(said string) error {
	for line := range strings.Lines(said) {
		text, warned := strings.CutPrefix(strings.TrimSpace(line), "warning: ")
		unread := strings.HasPrefix(text, "could not open directory") && !strings.HasSuffix(text, "No such file or directory")
		if warned && (unread || strings.HasSuffix(text, "Permission denied")) {
			return errors.New(text)
		}
	}
	return nil
}

// line runs git and returns its output without the final newline.
func line(ctx context.Context, dir string, args ...string) (string, error) {
	out, _, err := run(ctx, dir, "", args...)
	return strings.TrimRight(string(out), "\r\n"), err
}
