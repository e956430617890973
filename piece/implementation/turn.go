package implementation

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// repairs is how often an answer that breaks its contract is asked for again.
const repairs = 1

// wish is what a role is asked.
type wish struct {
	key    string // names the turn in its visit
	kind   string // how it is counted
	role   string // configured role
	text   string // name of the contract and the instructions
	access workflow.Effect
	// full are the parts of a prompt for a role that knows nothing yet, fresh
	// those that a role in a session has not seen. task is the wording of the
	// task; the role's own wording takes its place where own is true.
	full, fresh []string
	task        string
	own         bool
}

// ask takes a turn of a role, in its session where it has one, and returns its
// answer under the contract.
func ask[R any](ctx context.Context, s *step, w wish) (R, executor.Reply, error) {
	var out R
	role := s.f.Roles[w.role]
	if w.own && role.Prompt != "" {
		w.task = role.Prompt
	}
	task := "Your task now:\n" + w.task
	t := s.newTurn(w, role)
	t.Instructions = instructions(w.text)
	t.Prompt = joined(append(append(slices.Clone(w.full), w.fresh...), steeringBlock(s.f), task)...)
	identity, err := s.identity(w, role, t)
	if err != nil {
		return out, executor.Reply{}, err
	}
	short := joined(append(slices.Clone(w.fresh), steeringBlock(s.f), task)...)
	reply, err := s.take(ctx, t, w.role, identity, short)
	if err != nil {
		return out, reply, err
	}
	if err := json.Unmarshal(reply.Structured, &out); err != nil {
		return out, reply, workflow.Errorf(workflow.CodeStructuredOutput, "%s: reading the answer of the %s: %w", s.f.Node, w.role,
			&executor.Misfit{Text: reply.Text, Problems: []string{err.Error()}})
	}
	return out, reply, nil
}

func (s *step) newTurn(w wish, role workflow.Role) executor.Turn {
	t := executor.Turn{
		Key: w.key, Kind: w.kind, Node: s.f.Node, Role: w.role, Access: w.access,
		Provider: role.Provider, Model: role.Model, Effort: role.Effort, Schema: contract(w.text), Repairs: repairs,
		Timeout: time.Duration(s.f.Timeouts.TurnMs) * time.Millisecond, Idle: time.Duration(s.f.Timeouts.IdleMs) * time.Millisecond,
	}
	if s.f.Traits.Provider != "" {
		t.Provider = s.f.Traits.Provider
	}
	for _, r := range s.in.repositories {
		if path, err := filepath.Abs(r.Path); err == nil {
			t.Roots = append(t.Roots, path)
		}
	}
	if len(t.Roots) > 0 {
		t.Dir = t.Roots[0]
	}
	return t
}

// identity names what must be equal for a session to be continued. A fork is
// another run and begins afresh.
func (s *step) identity(w wish, role workflow.Role, t executor.Turn) (workflow.Digest, error) {
	repositories := make([]string, 0, len(s.in.repositories))
	for _, r := range s.in.repositories {
		repositories = append(repositories, r.ID)
	}
	d, err := canon.Digest(map[string]any{
		"version": RoleInstructionsVersion, "run": s.f.Run, "scope": s.f.Scope, "change": s.in.change, "repositories": repositories,
		"criteria": s.st.Criteria, "role": w.role, "definition": role, "provider": t.Provider, "model": t.Model,
	})
	if err != nil {
		return "", fmt.Errorf("%s: naming a session: %w", s.f.Node, err)
	}
	return workflow.Digest(d), nil
}

// take runs a turn in the session of its role, where there is one to continue,
// or the full turn, and keeps the session for the steps that follow.
func (s *step) take(ctx context.Context, t executor.Turn, role string, identity workflow.Digest, short string) (executor.Reply, error) {
	reply, err := s.continued(ctx, t, role, identity, short)
	if err != nil || !s.sessions(t.Provider) {
		return reply, err
	}
	if s.st.Sessions == nil {
		s.st.Sessions = map[string]workflow.Session{}
	}
	if delete(s.st.Sessions, role); reply.Session != "" {
		s.st.Sessions[role] = workflow.Session{ID: reply.Session, Identity: identity}
	}
	return reply, nil
}

// continued runs the turn. A session that cannot be continued gets one full turn
// instead.
func (s *step) continued(ctx context.Context, t executor.Turn, role string, identity workflow.Digest, short string) (executor.Reply, error) {
	session, ok := s.st.Sessions[role]
	if !ok || session.Identity != identity || !s.sessions(t.Provider) {
		return s.c.Turn(ctx, t)
	}
	in := t
	in.Session, in.Instructions, in.Prompt = session.ID, "", short
	if in.Kind == "initial" {
		in.Kind = "correction"
	}
	reply, err := s.c.Turn(ctx, in)
	if workflow.CodeOf(err) != workflow.CodeSessionNotFound {
		return reply, err
	}
	t.Key, t.Kind = t.Key+"-fresh", "session-fallback"
	return s.c.Turn(ctx, t)
}

func (s *step) sessions(provider string) bool {
	caps, ok := s.c.Frame().Backends[provider]
	if !ok && s.cfg.Backend != nil {
		caps, ok = s.cfg.Backend(provider)
	}
	return ok && caps.Sessions
}
