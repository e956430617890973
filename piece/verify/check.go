package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// maxJSON bounds a file that a check reads.
const maxJSON = 32 << 20

// States of a check.
const (
	statePassed = "passed"
	stateFailed = "failed"  // it ran and said no
	stateHung   = "hung"    // a limit or a signal ended it
	stateBroken = "broken"  // it could not be run
	stateNotRun = "not-run" // an earlier check did not pass
)

// verdict is what became of a check.
type verdict struct {
	check    check
	state    string
	code     int // exit code; -1 without one
	reason   string
	output   string
	cut      bool
	duration time.Duration
	absent   bool // the program is not there
}

// runner runs the checks of one visit.
type runner struct {
	cfg Config
	c   piece.Context
	f   piece.Frame
}

// all runs the checks until the first that does not pass. An error means that
// the visit was stopped.
func (r runner) all(ctx context.Context, checks []check) ([]verdict, error) {
	var out []verdict
	for i, item := range checks {
		v, err := r.one(ctx, item)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if v.state != statePassed {
			for _, rest := range checks[i+1:] {
				out = append(out, verdict{check: rest, state: stateNotRun, code: -1})
			}
			break
		}
	}
	return out, nil
}

func (r runner) one(ctx context.Context, c check) (verdict, error) {
	switch {
	case c.File != nil:
		return r.file(c), nil
	case c.JSON != nil:
		return r.json(c), nil
	case c.Clean != nil:
		wish := command.Wish{RepositoryID: c.Clean.RepositoryID, Argv: []string{"git", "status", "--porcelain"}, Timeout: 10 * time.Minute}
		v, err := r.command(ctx, c, wish)
		if v.state == statePassed && strings.TrimSpace(v.output) != "" {
			v.state, v.reason = stateFailed, "the work tree has changes that are not committed"
		}
		return v, err
	case c.CommandLine != "":
		wish := command.FromCheck(c.Check)
		wish.Argv, wish.Line = nil, c.CommandLine
		return r.command(ctx, c, wish)
	}
	return r.command(ctx, c, command.FromCheck(c.Check))
}

func (r runner) command(ctx context.Context, c check, wish command.Wish) (verdict, error) {
	v := verdict{check: c, code: -1, state: stateBroken}
	wish.Idle = r.cfg.Idle
	cmd, err := command.Prepare(r.f.Repositories, wish)
	if err != nil {
		v.reason = err.Error()
		return v, nil //nolint:nilerr // the verdict tells
	}
	cmd.Marker, cmd.KillRest = string(r.f.Run), true
	cmd.OnOutput = command.Lines(r.cfg.Redactor, func(line string) { r.c.Progress(executor.Progress{Kind: "tool", Text: line}) })
	exit, err := r.cfg.Runner.Run(ctx, cmd)
	var spawn *workspace.SpawnError
	switch {
	case errors.As(err, &spawn):
		v.reason, v.absent = err.Error(), errors.Is(err, fs.ErrNotExist)
		return v, nil
	case err != nil:
		return v, workflow.Errorf(workflow.CodeAborted, "%s: a check was stopped: %w", r.f.Node, err)
	}
	v.code, v.cut, v.duration = exit.Code, exit.Truncated, exit.End.Sub(exit.Start)
	v.output = command.Clean(r.cfg.Redactor, both(exit), 0)
	switch end := command.Failure(exit); {
	case end == command.EndTimeout:
		v.state, v.reason = stateHung, fmt.Sprintf("it ran longer than %s", wish.Timeout)
	case end == command.EndIdle:
		v.state, v.reason = stateHung, fmt.Sprintf("it was silent for %s", wish.Idle)
	case end == command.EndSignal:
		v.state, v.reason = stateHung, "it was ended by "+exit.Signal
	case exit.Code != 0:
		v.state, v.reason, v.absent = stateFailed, fmt.Sprintf("exit code %d", exit.Code), exit.Code == 127
	default:
		v.state = statePassed
	}
	return v, nil
}

func both(e workspace.Exit) []byte {
	out := append([]byte(nil), e.Stdout...)
	if len(out) > 0 && len(e.Stderr) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return append(out, e.Stderr...)
}

// open opens a file of a repository; links that leave it are refused.
func (r runner) open(repositoryID, path string) (*os.File, error) {
	repo, err := command.Repository(r.f.Repositories, repositoryID)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(repo.Path)
	if err != nil {
		return nil, fmt.Errorf("opening repository %s: %w", repo.ID, err)
	}
	defer root.Close()
	return root.Open(filepath.FromSlash(path))
}

func (r runner) file(c check) verdict {
	v := verdict{check: c, state: stateFailed, code: -1}
	f, err := r.open(c.File.RepositoryID, c.File.Path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		v.state, v.reason = stateBroken, err.Error()
		return v
	case missing && c.File.Absent:
		v.state, v.code = statePassed, 0
		return v
	case missing:
		v.reason = c.File.Path + " does not exist"
		return v
	}
	defer f.Close() //nolint:errcheck // only read
	switch {
	case c.File.Absent:
		v.reason = c.File.Path + " exists"
		return v
	case c.File.SHA256 != "":
		hash := sha256.New()
		if _, err := io.Copy(hash, f); err != nil {
			v.state, v.reason = stateBroken, err.Error()
			return v
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != c.File.SHA256 {
			v.reason = fmt.Sprintf("%s has the SHA-256 %s", c.File.Path, got)
			return v
		}
	}
	v.state, v.code = statePassed, 0
	return v
}

func (r runner) json(c check) verdict {
	v := verdict{check: c, state: stateFailed, code: -1}
	shape, err := schema.Compile(c.JSON.Schema)
	if err != nil {
		v.state, v.reason = stateBroken, err.Error()
		return v
	}
	f, err := r.open(c.JSON.RepositoryID, c.JSON.Path)
	if errors.Is(err, fs.ErrNotExist) {
		v.reason = c.JSON.Path + " does not exist"
		return v
	}
	if err != nil {
		v.state, v.reason = stateBroken, err.Error()
		return v
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	switch {
	case err != nil:
		v.state, v.reason = stateBroken, err.Error()
	case len(raw) > maxJSON:
		v.reason = fmt.Sprintf("%s has more than %d bytes", c.JSON.Path, maxJSON)
	default:
		if problems := shape.Validate(raw); problems != nil {
			v.reason, v.output = c.JSON.Path+" does not fit its schema", r.cfg.Redactor.Redact(problems.Error())
			return v
		}
		v.state, v.code = statePassed, 0
	}
	return v
}
