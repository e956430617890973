package scope

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// Defaults of the bounds in Config.
const (
	DefaultMaxFile      = 8 << 20
	DefaultMaxTotal     = 64 << 20
	DefaultMaxUntracked = 20000
	DefaultMaxAside     = 1 << 30
)

// revertTime bounds how long a turn that was stopped is still cleaned up after.
const revertTime = 20 * time.Second

// Config sets up a Guard.
type Config struct {
	// Runner runs git. It is needed.
	Runner workspace.Runner
	// State lists absolute directories of Tenon's own state. What of it lies in a
	// repository is not looked at.
	State []string
	// MaxFile and MaxTotal bound the bytes that are copied of one file and of all
	// files before a turn; MaxUntracked bounds the untracked files of a repository
	// that are copied. What is over a bound is watched, but cannot be put back.
	// Files that are as git has them need no copy. 0 is the default.
	MaxFile, MaxTotal int64
	MaxUntracked      int
	// MaxAside bounds the bytes that a turn wrote outside of the scopes and that
	// are kept; what is over it is left in its place and told. 0 is the default.
	MaxAside int64
}

// Guard holds turns to their scopes. It is safe for concurrent use, but turns
// that write to the same repository must not run at once.
type Guard struct{ cfg Config }

// New returns a Guard.
func New(c Config) (*Guard, error) {
	if c.Runner == nil {
		return nil, errors.New("setting up the change scope guard: it needs a runner of commands")
	}
	if c.MaxFile <= 0 {
		c.MaxFile = DefaultMaxFile
	}
	if c.MaxTotal <= 0 {
		c.MaxTotal = DefaultMaxTotal
	}
	if c.MaxUntracked <= 0 {
		c.MaxUntracked = DefaultMaxUntracked
	}
	if c.MaxAside <= 0 {
		c.MaxAside = DefaultMaxAside
	}
	return &Guard{cfg: c}, nil
}

// Turn is what a Guard needs to know about a turn.
type Turn struct {
	// Repositories are those of the run; the ones without a scope may be changed
	// everywhere and are not looked at.
	Repositories []workflow.RepositoryInfo
	// Dir is an absolute directory of this turn alone, outside of every work tree.
	// It is made when it is needed, and must be the same when the turn is repeated.
	Dir string
	// Change is the name of the OpenSpec change of the run, whose directory may be
	// written; "" is none.
	Change string
}

// Guards reports whether a repository has a scope to hold a turn to.
func (t Turn) Guards() bool {
	for _, r := range t.Repositories {
		if len(scopes(r.Scope)) > 0 {
			return true
		}
	}
	return false
}

// scopes returns the directories of a scope in their clean form; none when the
// whole repository may change.
func scopes(list []string) []string {
	var clean []string
	for _, s := range list {
		s = path.Clean(strings.ReplaceAll(s, "\\", "/"))
		if s == "." {
			return nil
		}
		clean = append(clean, s)
	}
	return clean
}

// Around runs a turn, and puts back what it changed outside of the scopes. When
// the turn fails, what it left behind is put back as well, and its error comes
// first. Errors of the guard itself have CodeChangeScope, unless ctx has ended.
// The Report is worth reading beside an error; see Report.Failed.
func (g *Guard) Around(ctx context.Context, t Turn, turn func(context.Context) error) (Report, error) {
	c, err := g.Before(ctx, t)
	if err != nil {
		return Report{}, err
	}
	if err := turn(ctx); err != nil {
		stopped, cancel := context.WithTimeout(context.WithoutCancel(ctx), revertTime)
		defer cancel()
		report, reverting := c.Revert(stopped)
		if reverting != nil {
			err = fmt.Errorf("%w; then %w", err, reverting)
		}
		return report, err
	}
	return c.After(ctx)
}

// fault gives an error of the guard its code, its place and the next step.
func fault(ctx context.Context, doing, repository string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return workflow.Errorf(workflow.CodeChangeScope, "%s repository %s: %w", doing, repository, err).
		WithHint("mend the repository and resume the run, or remove its scope from the configuration")
}
