package scope

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/workspace"
)

// errNoGit says that git does not know a directory.
var errNoGit = errors.New("not in a git work tree")

// maxListing bounds what git may print; it is far above any real repository.
const maxListing = 1 << 30

// tree is a git work tree: that of a repository, or one inside it.
type tree struct {
	runner  workspace.Runner
	dir     string   // canonical
	filters []string // names of the configured filters, which are kept from running
}

// run runs git and returns what it printed. Settings that would change an answer,
// start a program or hide a change do not count.
func (t tree) run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	argv := []string{
		"git", "-c", "core.excludesFile=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.quotePath=false",
	}
	for _, f := range t.filters {
		for _, key := range []string{"clean", "smudge", "process"} {
			argv = append(argv, "-c", "filter."+f+"."+key+"=")
		}
		argv = append(argv, "-c", "filter."+f+".required=false")
	}
	env := map[string]string{"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_CEILING_DIRECTORIES": t.ceiling()}
	var unset []string
	for _, v := range os.Environ() {
		if key, _, _ := strings.Cut(v, "="); strings.HasPrefix(key, "GIT_") && env[key] == "" {
			unset = append(unset, key)
		}
	}
	var out bytes.Buffer
	var full error
	collect := capped{to: &out, room: maxListing}
	exit, err := t.runner.Run(ctx, workspace.Command{
		Argv: append(argv, args...), Dir: t.dir, Env: env, Unset: unset, Stdin: stdin,
		OnOutput: func(s workspace.Stream, p []byte) {
			if s == workspace.Stdout && full == nil {
				_, full = collect.Write(p)
			}
		},
	})
	return out.Bytes(), errors.Join(t.judge(exit, err, args[0]), full)
}

func (t tree) judge(exit workspace.Exit, err error, what string) error {
	var spawn *workspace.SpawnError
	switch {
	case errors.As(err, &spawn) && spawn.Program == "git":
		return fmt.Errorf("%w: %w", errNoGit, err)
	case err != nil:
		return err
	case exit.OK():
		return nil
	}
	said := strings.TrimSpace(string(exit.Stderr))
	if strings.Contains(said, "not a git repository") || strings.Contains(said, "must be run in a work tree") {
		return errNoGit
	}
	return &exitError{what: what, dir: t.dir, code: exit.Code, said: said}
}

// exitError is a git that failed.
type exitError struct {
	what, dir string
	code      int
	said      string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("git %s in %s: exit code %d: %s", e.what, e.dir, e.code, e.said)
}

// ceiling keeps a broken ".git" from being mistaken for a part of the repository
// above.
func (t tree) ceiling() string {
	if hasGit(t.dir) {
		return filepath.Dir(t.dir)
	}
	return ""
}

func hasGit(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// open asks git about its directory; the error is errNoGit when git does not
// know it, or ignores it as a whole.
func (t *tree) open(ctx context.Context) error {
	prefix, err := t.run(ctx, nil, "rev-parse", "--show-prefix")
	if err != nil {
		if errors.Is(err, errNoGit) && hasGit(t.dir) && !errors.As(err, new(*workspace.SpawnError)) {
			return fmt.Errorf("git does not accept the .git in %s: repair or remove it", t.dir)
		}
		return err
	}
	var failed *exitError
	if strings.TrimSpace(string(prefix)) != "" {
		_, err := t.run(ctx, nil, "check-ignore", "-q", ".")
		if err == nil {
			return errNoGit
		}
		if !errors.As(err, &failed) || failed.code != 1 {
			return err
		}
	}
	keys, err := t.run(ctx, nil, "config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if err != nil {
		if errors.As(err, &failed) && failed.code == 1 {
			return nil
		}
		return err
	}
	for _, key := range records(keys) {
		key = strings.TrimPrefix(key, "filter.")
		if end := strings.LastIndexByte(key, '.'); end > 0 && !strings.ContainsAny(key[:end], "=\n") {
			t.filters = append(t.filters, key[:end])
		}
	}
	return nil
}

// records splits what git printed with -z.
func records(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// excludes returns the rules of .git/info/exclude.
func (t tree) excludes(ctx context.Context) ([]byte, error) {
	out, err := t.run(ctx, nil, "rev-parse", "--git-path", "info/exclude")
	if err != nil {
		return nil, err
	}
	at := strings.TrimRight(string(out), "\r\n")
	if !filepath.IsAbs(at) {
		at = filepath.Join(t.dir, at)
	}
	raw, err := os.ReadFile(at)
	if gone(err) {
		return nil, nil
	}
	return raw, err
}

// head returns the commit that is checked out; "" when there is none yet.
func (t tree) head(ctx context.Context) (string, error) {
	out, err := t.run(ctx, nil, "rev-parse", "--verify", "-q", "HEAD^{commit}")
	var failed *exitError
	if errors.As(err, &failed) && failed.code == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// object is a file of the base.
type object struct {
	id   string
	size int64
}

// base returns the files of a commit that git takes for unchanged in the work
// tree.
func (t tree) base(ctx context.Context, commit string) (map[string]object, error) {
	if commit == "" {
		return nil, nil
	}
	out, err := t.run(ctx, nil, "ls-tree", "-r", "-l", "-z", commit)
	if err != nil {
		return nil, err
	}
	found := map[string]object{}
	for _, record := range records(out) {
		about, path, _ := strings.Cut(record, "\t")
		fields := strings.Fields(about) // mode, type, id, size
		if len(fields) != 4 || fields[1] != "blob" || fields[0] == "120000" {
			continue
		}
		if size, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
			found[path] = object{fields[2], size}
		}
	}
	differ, err := t.run(ctx, nil, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=all", "--relative", commit, "--")
	if err != nil {
		return nil, err
	}
	for _, path := range records(differ) {
		delete(found, path)
	}
	if len(t.filters) == 0 || len(found) == 0 {
		return found, nil
	}
	filtered, err := t.run(ctx, []byte(strings.Join(slices.Collect(maps.Keys(found)), "\x00")), "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	for about := range slices.Chunk(records(filtered), 3) { // path, attribute, value
		if len(about) == 3 && about[2] != "unspecified" && about[2] != "unset" {
			delete(found, about[0])
		}
	}
	return found, nil
}

// tracked calls visit for everything in the index. hidden says that git was told
// not to look at the file; module that it is a repository of its own.
func (t tree) tracked(ctx context.Context, visit func(path string, hidden, module bool)) error {
	out, err := t.run(ctx, nil, "ls-files", "-v", "-s", "-z", "--cached")
	if err != nil {
		return err
	}
	for _, record := range records(out) {
		about, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(about) // tag, mode, id, stage
		if !ok || len(fields) != 4 {
			return fmt.Errorf("reading git ls-files: unexpected record %q", record)
		}
		hidden := fields[0] == "S" || fields[0] == strings.ToLower(fields[0])
		visit(path, hidden, fields[1] == "160000")
	}
	return nil
}

// untracked returns what is neither tracked nor ignored; repositories of their
// own end with "/". With folders it returns the directories that hold nothing
// tracked, empty ones included, in place of what is in them.
func (t tree) untracked(ctx context.Context, excludes string, folders bool) ([]string, error) {
	args := []string{"ls-files", "-z", "--others", "--exclude-per-directory=.gitignore", "--exclude-from=" + excludes}
	if folders {
		args = append(args, "--directory")
	}
	out, err := t.run(ctx, nil, args...)
	return records(out), err
}

// bytes hands the contents of objects to take, in order. What is missing is
// handed as nil.
func (t tree) bytes(ctx context.Context, ids []string, take func(i int, content []byte) error) error {
	out, err := t.run(ctx, []byte(strings.Join(ids, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return err
	}
	for i := range ids {
		about, rest, ok := bytes.Cut(out, []byte("\n"))
		fields := strings.Fields(string(about)) // id, type, size
		if !ok {
			return errors.New("reading git cat-file: the output is cut short")
		}
		out = rest
		var content []byte
		if len(fields) == 3 && fields[1] == "blob" {
			size, err := strconv.Atoi(fields[2])
			if err != nil || size < 0 || size >= len(out) {
				return errors.New("reading git cat-file: the output is cut short")
			}
			content, out = out[:size:size], out[size+1:]
			if content == nil {
				content = []byte{}
			}
		}
		if err := take(i, content); err != nil {
			return err
		}
	}
	return nil
}
