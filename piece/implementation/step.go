package implementation

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// stepParams are the params of a step. All but Phase are what the body of an
// implementation tells its steps; a definition may give them too.
type stepParams struct {
	Phase                 string  `json:"phase"`
	Attempts              int     `json:"attempts,omitempty"`
	ApprovalBeforeArchive bool    `json:"approvalBeforeArchive,omitempty"`
	ReviewPolicy          *policy `json:"reviewPolicy,omitempty"`
	Within                string  `json:"within,omitempty"` // the kind whose body the step is in
}

// step is one visit.
type step struct {
	cfg Config
	c   piece.Context
	f   piece.Frame
	p   stepParams
	in  instance
	st  state
}

var phases = map[string]func(*step, context.Context) (fact, error){
	phaseArchitect: (*step).architect, phaseDeveloper: (*step).develop, phaseFixer: (*step).fix, phaseVerify: (*step).verify,
	phaseReviewer: (*step).review, phaseApproval: (*step).approve, phaseArchive: (*step).archive,
}

func run(ctx context.Context, c piece.Context, cfg Config) (workflow.Settled, error) {
	s := &step{cfg: cfg, c: c, f: c.Frame()}
	var err error
	if s.p, err = params.Filled[stepParams](s.f.Params); err != nil {
		return workflow.Settled{}, err
	}
	do, ok := phases[s.p.Phase]
	if !ok {
		return workflow.Settled{}, workflow.Errorf(workflow.CodeInvalidPieceParams, "%s: there is no phase %q", s.f.Node, s.p.Phase)
	}
	if s.in, err = instanceOf(c, s.p); err != nil {
		return workflow.Settled{}, err
	}
	if s.st, err = readState(c); err != nil {
		return workflow.Settled{}, err
	}
	ft, err := do(s, ctx)
	if err != nil {
		return s.failure(ctx, err)
	}
	return s.settle(ft), nil
}

// failure settles what a definition can route, and passes on what the engine
// decides about.
func (s *step) failure(ctx context.Context, err error) (workflow.Settled, error) {
	var coded *workflow.Error
	switch {
	case ctx.Err() != nil || errors.Is(err, piece.ErrPaused):
		return workflow.Settled{}, err
	case workflow.CodeOf(err) == workflow.CodeStructuredOutput:
		out := result.Failed("failed", workflow.CodeInvalidRoleOutput, err.Error())
		out.Output = result.Value(map[string]any{"phase": s.p.Phase, "reason": result.Text(err.Error())})
		return out, nil
	case errors.As(err, &coded):
		return workflow.Settled{}, err
	}
	out := result.Failed("failed", CodeFailed, fmt.Sprintf("%s: the %s phase failed: %v", s.f.Node, s.p.Phase, err))
	out.Output = result.Value(map[string]any{"phase": s.p.Phase, "reason": result.Text(err.Error())})
	return out, nil
}

// exhausted reports whether the work may not be changed again.
func (s *step) exhausted() bool { return s.st.Changes >= s.limit() }

func (s *step) limit() int { return limit(s.p.Attempts, s.cfg.Attempts) }
