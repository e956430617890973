package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// handPiece uses two tools, one after the other, and asks before the second
// when its params say so. The second hangs between intent and change when the
// world tells it to.
func handPiece(w *world) piece.Piece {
	use := func(ctx context.Context, c piece.Context, tool string, hang bool) error {
		raw, err := c.(executor.Journal).Step(ctx, executor.Step{Key: "step/" + tool, Tool: tool,
			Do: func(ctx context.Context, left json.RawMessage, intend func(json.RawMessage) error) (executor.Outcome, error) {
				w.do(tool + " left:" + string(left))
				if err := intend(json.RawMessage(`{"file":"` + tool + `"}`)); err != nil {
					return executor.Outcome{}, err
				}
				if hang && left == nil {
					w.begun <- tool
					<-ctx.Done()
					return executor.Outcome{}, context.Cause(ctx)
				}
				return executor.Outcome{Memo: json.RawMessage(`"` + tool + ` done"`)}, nil
			}})
		if err == nil && string(raw) != `"`+tool+` done"` {
			err = errors.New("the step gave " + string(raw))
		}
		return err
	}
	return piece.Piece{
		Kind:   "hand",
		Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
		Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
			return piece.Traits{Outcomes: []string{"next", "failed"}, Effect: workflow.EffectWrite}, nil
		},
		Run: func(ctx context.Context, c piece.Context) (workflow.Settled, error) {
			var p struct{ Ask, Hang bool }
			if err := json.Unmarshal(c.Frame().Params, &p); err != nil {
				return workflow.Settled{}, err
			}
			if err := use(ctx, c, "first", false); err != nil {
				return workflow.Settled{}, err
			}
			if p.Ask {
				if _, err := c.Ask(ctx, piece.Ask{Round: 1, Kind: workflow.AskQuestion, Text: "?"}); err != nil {
					return workflow.Settled{}, err
				}
			}
			return workflow.Settled{Outcome: "next"}, use(ctx, c, "second", p.Hang)
		},
	}
}

func hand(params string) string {
	return def2("use", `"use":{"kind":"hand","params":`+params+`,"ends":{"next":"done","failed":"bad"}},`+ends)
}

// A step that settled is not done again when its visit goes on in another
// process.
func TestStepsAreDoneOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(hand(`{"ask":true}`))
	wantStatus(t, res, workflow.StatusWaiting)
	r.reopen()
	r.answer(res.Questions[0], "go on")
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
	if a, b := r.w.count("first left:"), r.w.count("second left:"); a != 1 || b != 1 {
		t.Errorf("the steps were done %d and %d times: %v", a, b, r.w.did)
	}
}

// A step that was stopped after its intent finds it when it is done again.
func TestIntentOfAStoppedStep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	go func() { <-r.w.begun; stop() }()
	res, err := r.engine.Start(ctx, launch(t, hand(`{"hang":true}`)))
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res, workflow.StatusInterrupted)
	r.reopen()
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
	if r.w.count("first left:") != 1 || r.w.count(`second left:{"file":"second"}`) != 1 {
		t.Errorf("the steps saw %v", r.w.did)
	}
}
