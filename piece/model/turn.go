package model

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// instructionsVersion changes when the texts of this package change in a way
// that a running session must not mix. It is part of a session's identity.
const instructionsVersion = 2

// newTurn returns a turn with everything that does not depend on its text.
func newTurn(f piece.Frame, key string, e engine, access workflow.Effect, t timers) executor.Turn {
	out := executor.Turn{
		Key: key, Kind: "initial", Node: f.Node, Access: access,
		Provider: e.Provider, Model: e.Model, Effort: e.Effort, Thinking: e.Thinking, MaxTurns: e.MaxTurns,
		Timeout: limit(t.TimeoutMs, f.Timeouts.TurnMs), Idle: limit(t.IdleTimeoutMs, f.Timeouts.IdleMs),
	}
	if f.Traits.Provider != "" {
		out.Provider = f.Traits.Provider
	}
	for _, r := range f.Repositories {
		if path, err := filepath.Abs(r.Path); err == nil {
			out.Roots = append(out.Roots, path)
		}
	}
	if len(out.Roots) > 0 {
		out.Dir = out.Roots[0]
	}
	return out
}

func limit(own *int64, otherwise int64) time.Duration {
	if own != nil {
		otherwise = *own
	}
	return time.Duration(otherwise) * time.Millisecond
}

// continued runs a turn in a session, where there is one to continue, or the
// full turn. A session that cannot be continued gets one full turn instead.
func continued(ctx context.Context, c piece.Context, full executor.Turn, session, short string) (executor.Reply, error) {
	if session == "" {
		return c.Turn(ctx, full)
	}
	in := full
	in.Session, in.Kind = session, "correction"
	if in.Native == nil {
		in.Instructions, in.Prompt = "", short
	}
	reply, err := c.Turn(ctx, in)
	if workflow.CodeOf(err) != workflow.CodeSessionNotFound {
		return reply, err
	}
	full.Key += "-fresh"
	full.Kind = "session-fallback"
	return c.Turn(ctx, full)
}

// resumable returns the session that a node may continue.
func resumable(f piece.Frame, continuity string, can bool, identity workflow.Digest) string {
	if s := f.Context.Session; s != nil && can && continuity != "none" && s.Identity == identity {
		return s.ID
	}
	return ""
}

// kept is the session to store after a reply.
func kept(reply executor.Reply, continuity string, can bool, identity workflow.Digest) *workflow.Session {
	if reply.Session == "" || !can || continuity == "none" {
		return nil
	}
	return &workflow.Session{ID: reply.Session, Identity: identity}
}

// identityOf digests what must be equal for a session to be continued.
func identityOf(f piece.Frame, parts map[string]any) (workflow.Digest, error) {
	repositories := make([]string, 0, len(f.Repositories))
	for _, r := range f.Repositories {
		repositories = append(repositories, r.ID)
	}
	parts["version"], parts["scope"], parts["node"], parts["repositories"] = instructionsVersion, f.Scope, f.Node, repositories
	digest, err := canon.Digest(parts)
	return workflow.Digest(digest), err
}

// insist asks for a JSON answer in running text until accept takes it, at most
// repairs times again. accept returns what is wrong.
func insist(ctx context.Context, c piece.Context, t executor.Turn, repairs int, accept func(answer string) []string) (executor.Reply, error) {
	key, prompt := t.Key, t.Prompt
	for n := 0; ; n++ {
		if n > 0 {
			t.Key, t.Kind = fmt.Sprintf("%s-repair-%d", key, n), "repair"
		}
		reply, err := c.Turn(ctx, t)
		if err != nil {
			return reply, err
		}
		problems := accept(reply.Text)
		if len(problems) == 0 {
			return reply, nil
		}
		if n >= repairs {
			return reply, workflow.Errorf(workflow.CodeStructuredOutput, "%s: the answer does not have the wanted form: %w", t.Node,
				&executor.Misfit{Text: reply.Text, Problems: problems})
		}
		t.Prompt = joined(prompt,
			block("Your last answer:", "your-answer", text.Head(reply.Text, maxRound, "\n[…]")),
			"It does not have the wanted form:\n- "+strings.Join(problems, "\n- ")+"\nAnswer again, with the JSON value and nothing else.")
	}
}

// misfit returns the answer of a turn that never had the wanted form.
func misfit(err error) (*executor.Misfit, bool) {
	var m *executor.Misfit
	ok := workflow.CodeOf(err) == workflow.CodeStructuredOutput && errors.As(err, &m)
	return m, ok
}
