package engine

import (
	"context"
	"errors"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// Past is a visit as it stood when its result was recorded: what its piece was
// given and could read.
type Past struct {
	s   *history.State
	cmd workflow.StartVisit
}

// Frame returns where the piece ran, as far as it does not depend on the attempt.
func (p Past) Frame() piece.Frame {
	return piece.Frame{
		Run: p.s.ID, Visit: p.cmd.Visit, Node: p.cmd.Node, Number: p.cmd.Number, Scope: p.cmd.Scope,
		Kind: p.cmd.Kind, Level: p.s.Start.Level, Params: p.cmd.Params, Context: p.cmd.Context,
	}
}

// Lookup reads the state of the visit's scope, as piece.Context does.
func (p Past) Lookup(_ context.Context, root string, path ...string) (any, bool, error) {
	reader, ok := p.s.Program.(workflow.Reader)
	if !ok {
		return nil, false, nil
	}
	return reader.Lookup(p.cmd.Visit, root, path)
}

// Retrace reads a run from its start and shows the results of some visits, each
// before it counts. Nothing is recorded and nobody needs to own the run. What a
// piece read while its visit was open it may find changed by a visit beside it.
func (e *Engine) Retrace(ctx context.Context, id workflow.RunID, visits map[workflow.VisitID]bool, see func(Past, *workflow.Settled) error) error {
	s := &history.State{ID: id, Values: history.NewLayered(blobs{e.cfg.Store})}
	defer closeProgram(s)
	left := len(visits)
	if left == 0 {
		return nil
	}
	err := e.cfg.Store.Events(ctx, id, 0, func(ev workflow.Event) error {
		if p, ok := ev.Payload.(*workflow.Settled); ok && visits[ev.VisitID()] && s.Gate != nil {
			if open, ok := s.Gate.Visit(ev.VisitID()); ok {
				if err := see(Past{s, open.Command}, p); err != nil {
					return err
				}
			}
			if left--; left == 0 {
				return errFarEnough
			}
		}
		return s.Replay(ev, e.cfg.Programs)
	})
	if errors.Is(err, errFarEnough) {
		return nil
	}
	return err
}
