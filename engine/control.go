package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Control is a person's word about a run. Exactly one of its parts is set.
type Control struct {
	ID      string // of the request; "" is made from the content
	By      string
	Answer  *AnswerControl
	Recover *RecoverControl
	Cancel  *workflow.CancelRequested
	Pause   bool
	Steer   string
	Skip    string // agent to be stopped: its label or key, or the node or visit of one
	Reason  string // of Skip
	Agent   string // label of the agent that Steer is for; "" is the first that can hear it
	Signal  *workflow.Signal
	Raise   *workflow.LimitRaised
}

// AnswerControl answers, approves or denies a question. Value is JSON; for a
// text that may be JSON under the question's schema set Text instead.
type AnswerControl struct {
	Question string          `json:"question"`
	Value    json.RawMessage `json:"value,omitempty"`
	Text     *string         `json:"-"`
	Denied   bool            `json:"denied,omitempty"`
	Reason   string          `json:"reason,omitempty"`
}

// RecoverControl settles uncertain writes. Visit "" is the only one there is.
type RecoverControl struct {
	Visit   workflow.VisitID `json:"visit"`
	How     string           `json:"how"`
	Outcome string           `json:"outcome,omitempty"`
}

// Send checks a control against the run as it is and leaves it for the owner.
// It is durable when Send returns; Drive carries it out when nobody else does.
func (e *Engine) Send(ctx context.Context, id workflow.RunID, c Control) error {
	s, err := e.fold(ctx, id)
	if err != nil {
		return err
	}
	defer s.Program.Close()
	m := store.Control{ID: c.ID, Run: id, By: c.By, At: e.now()}
	if s.Memory.Ended != nil && s.Memory.Ended.Status.Terminal() && c.Answer == nil {
		over := workflow.Errorf(workflow.CodeRunTerminal, "run %s has ended: %s", id, s.Memory.Ended.Status)
		if s.Start.Kind == workflow.KindScript {
			return over.WithHint("go on in a new run that keeps what is settled: tenon resume %s --accept-changes", id)
		}
		return over.WithHint("fork it to go on from an earlier point: tenon fork %s --from NODE", id)
	}
	var data any
	switch {
	case c.Answer != nil:
		m.Kind, data = store.ControlAnswer, c.Answer
		m.ID = "answer:" + c.Answer.Question
		err = checkAnswer(s, c.Answer)
	case c.Recover != nil:
		m.Kind, data = store.ControlRecover, c.Recover
		err = e.checkRecover(s, c.Recover)
		m.ID = fmt.Sprintf("recover:%s:%d", c.Recover.Visit, s.Seq)
	case c.Cancel != nil:
		m.Kind, data = store.ControlCancel, c.Cancel
	case c.Pause:
		m.Kind, data = store.ControlPause, struct{}{}
	case c.Steer != "":
		m.Kind, data = store.ControlSteer, workflow.Steered{Text: c.Steer, Agent: c.Agent, By: c.By}
		err = checkSteer(c.Steer)
	case c.Skip != "":
		var who workflow.AgentSkipped
		who, err = findSkipped(s, c)
		m.Kind, data = store.ControlSkip, who
	case c.Signal != nil:
		m.Kind, data = store.ControlSignal, c.Signal
	case c.Raise != nil:
		m.Kind, data = store.ControlRaise, c.Raise
	default:
		err = workflow.Errorf(workflow.CodeInvalidArguments, "sending nothing to run %s", id)
	}
	if err != nil {
		return err
	}
	if m.Data, err = json.Marshal(data); err != nil {
		return fmt.Errorf("encoding control: %w", err)
	}
	m.Data = e.cfg.Redact.RedactJSON(m.Data)
	if m.ID == "" {
		m.ID = ident.New("c")
	}
	if err := e.cfg.Store.Post(ctx, m); err != nil {
		if c.Answer != nil && workflow.CodeOf(err) == workflow.CodeControlConflict {
			return workflow.Errorf(workflow.CodeQuestionClosed, "question %s has an answer already", c.Answer.Question)
		}
		return err
	}
	return nil
}

func checkSteer(text string) error {
	if n := len([]rune(text)); n > 20_000 {
		return workflow.Errorf(workflow.CodeInvalidArguments, "steering of %d characters is over the limit of 20,000", n)
	}
	return nil
}

func checkAnswer(s *history.State, a *AnswerControl) error {
	q, ok := s.Find(a.Question)
	switch {
	case s.Over(), !ok && s.Memory.Ended != nil:
		return workflow.Errorf(workflow.CodeQuestionClosed, "question %s is closed: run %s has ended: %s", a.Question, s.ID, s.Memory.Ended.Status)
	case !ok:
		return workflow.Errorf(workflow.CodeQuestionNotFound, "run %s has no question %s, or it is answered", s.ID, a.Question).
			WithHint("see the open ones with: tenon show %s", s.ID)
	case q.Answer != nil:
		return workflow.Errorf(workflow.CodeQuestionClosed, "question %s has an answer already, from %s at %s", q.ID, q.Answer.By, q.Answer.At.Std().Format("2006-01-02 15:04:05"))
	}
	if a.Denied {
		if q.Kind == workflow.AskQuestion {
			return workflow.Errorf(workflow.CodeInvalidAnswer, "question %s asks for an answer, it cannot be denied", q.ID).
				WithHint("tenon answer %s VALUE", q.ID)
		}
		return nil
	}
	return fit(q, a)
}

// fit makes the answer's value fit the question.
func fit(q workflow.Question, a *AnswerControl) error {
	sch := q.Schema
	if sch == nil && len(q.Options) > 0 {
		sch = rawOf(map[string]any{"enum": q.Options})
	}
	if sch == nil && q.Kind == workflow.AskQuestion {
		sch = json.RawMessage(`{"type":"string","minLength":1,"pattern":"\\S"}`)
	}
	if sch == nil {
		if a.Text != nil || a.Value != nil && string(a.Value) != "true" {
			return workflow.Errorf(workflow.CodeInvalidAnswer, "%s is waiting for an approval and takes no value: %s", q.ID, q.Text).
				WithHint("tenon approve %s, or tenon deny %s --reason WHY", q.ID, q.ID)
		}
		a.Value = json.RawMessage("true")
		return nil
	}
	compiled, err := schema.Compile(sch)
	if err != nil {
		return workflow.Errorf(workflow.CodeInternal, "reading the schema of question %s: %w", q.ID, err)
	}
	refuse := func(why string) error {
		e := workflow.Errorf(workflow.CodeInvalidAnswer, "the answer does not fit question %s: %s", q.ID, why)
		if len(q.Options) > 0 {
			return e.WithHint("answer with one of %q; the question stays open", q.Options)
		}
		return e.WithHint("the question stays open")
	}
	if a.Text != nil {
		val, err := schema.Coerce(compiled, *a.Text)
		if err != nil {
			return refuse(err.Error())
		}
		a.Value, a.Text = val, nil
		return nil
	}
	if problems := compiled.Validate(a.Value); len(problems) > 0 {
		return refuse(problems[0].Message)
	}
	return nil
}

func (e *Engine) checkRecover(s *history.State, c *RecoverControl) error {
	lost := s.Gate.InState(admission.Lost)
	var names []workflow.VisitID
	for _, o := range lost {
		names = append(names, o.Command.Visit)
	}
	if c.Visit != "" {
		lost = slices.DeleteFunc(lost, func(o admission.Open) bool {
			return o.Command.Visit != c.Visit && o.Command.Node != string(c.Visit)
		})
	}
	switch {
	case len(names) == 0:
		return workflow.Errorf(workflow.CodeRecoveryNotFound, "run %s has no uncertain write to recover", s.ID)
	case len(lost) == 0:
		return workflow.Errorf(workflow.CodeRecoveryNotFound, "run %s has no uncertain write at %s", s.ID, c.Visit).WithHint("there are %v", names)
	case len(lost) == 1:
		c.Visit = lost[0].Command.Visit
		return e.checkOutcome(s, lost[0].Command, c)
	}
	return workflow.Errorf(workflow.CodeInvalidArguments, "run %s has several uncertain writes: %v", s.ID, names).
		WithHint("name one with --visit")
}

// checkOutcome refuses an outcome that the node cannot have.
func (e *Engine) checkOutcome(s *history.State, cmd workflow.StartVisit, c *RecoverControl) error {
	if c.Outcome == "" {
		return nil
	}
	if c.How != workflow.RecoverDone {
		return workflow.Errorf(workflow.CodeInvalidArguments, "an outcome goes with a write that is done, not with %s", c.How)
	}
	if all := e.outcomes(s.Start, cmd); !slices.Contains(all, c.Outcome) {
		return workflow.Errorf(workflow.CodeInvalidArguments, "%s of kind %s has no outcome %q", cmd.Visit, cmd.Kind, c.Outcome).WithHint("there are %q", all)
	}
	return nil
}

// drain turns the messages of the inbox into events.
func (r *run) drain(ctx context.Context) error {
	all, err := r.e.cfg.Store.Inbox(context.WithoutCancel(ctx), r.ID)
	if err != nil {
		return fmt.Errorf("reading the inbox of run %s: %w", r.ID, err)
	}
	for _, c := range all {
		if slices.Contains(r.taken, c.ID) {
			continue
		}
		took, err := r.take(c)
		if err != nil {
			return err
		}
		if took {
			r.taken = append(r.taken, c.ID)
			r.dirty = true
		}
	}
	return nil
}

// take folds one control; false leaves it in the inbox.
func (r *run) take(c store.Control) (bool, error) {
	switch c.Kind {
	case store.ControlAnswer:
		return r.takeAnswer(c)
	case store.ControlRecover:
		return true, r.takeRecover(c)
	case store.ControlCancel:
		var p workflow.CancelRequested
		return true, r.decoded(c, &p, func() error { p.By = c.By; return r.record(ref{}, &p) })
	case store.ControlPause:
		return true, r.record(ref{}, &workflow.Paused{By: c.By})
	case store.ControlSteer:
		var p workflow.Steered
		return true, r.decoded(c, &p, func() error { return r.record(ref{}, &p) })
	case store.ControlSkip:
		return true, r.takeSkip(c)
	case store.ControlSignal:
		var p workflow.Signal
		return true, r.decoded(c, &p, func() error { p.By = c.By; return r.record(ref{}, &p) })
	case store.ControlRaise:
		var p workflow.LimitRaised
		return true, r.decoded(c, &p, func() error {
			p.By = c.By
			raised := p
			if err := r.record(ref{}, &p); err != nil {
				return err
			}
			return r.raiseKids(&raised)
		})
	}
	return true, r.record(ref{}, &workflow.Progress{Kind: "ignored", Message: "a message of unknown kind " + c.Kind})
}

func (r *run) decoded(c store.Control, p any, do func() error) error {
	if err := json.Unmarshal(c.Data, p); err != nil {
		return r.record(ref{}, &workflow.Progress{Kind: "ignored", Message: "message " + c.ID + " cannot be read: " + err.Error()})
	}
	return do()
}

func (r *run) takeAnswer(c store.Control) (bool, error) {
	var a AnswerControl
	if err := json.Unmarshal(c.Data, &a); err != nil {
		return true, r.decoded(c, &a, nil)
	}
	q, ok := r.Find(a.Question)
	if !ok || q.Answer != nil {
		return ok, nil // not asked yet: it is kept
	}
	return true, r.answer(q, workflow.Answer{
		Value: workflow.Inline(a.Value), Denied: a.Denied, Reason: a.Reason, By: c.By, At: r.e.now(),
	})
}

func (r *run) answer(q workflow.Question, a workflow.Answer) error {
	r.dirty = true
	return r.record(r.visitRef(q.Visit), &workflow.QuestionAnswered{Question: q.ID, Answer: a})
}

func (r *run) takeRecover(c store.Control) error {
	var p RecoverControl
	if err := json.Unmarshal(c.Data, &p); err != nil {
		return r.decoded(c, &p, nil)
	}
	o, ok := r.Gate.Visit(p.Visit)
	if !ok || o.State != admission.Lost {
		return nil
	}
	about := refOf(o.Command, o.Attempt)
	if err := r.record(about, &workflow.Recovered{How: p.How, Outcome: p.Outcome, By: c.By}); err != nil {
		return err
	}
	switch p.How {
	case workflow.RecoverRerun:
		return nil
	case workflow.RecoverDone:
		out := p.Outcome
		if all := r.e.outcomes(r.Start, o.Command); out == "" && len(all) > 0 {
			out = all[0]
		}
		return r.record(about, &workflow.Settled{
			Outcome: out, Output: workflow.Inline(rawOf(map[string]any{"recovered": "done", "by": c.By})),
		})
	}
	res := &workflow.Settled{
		Status: workflow.VisitFailed,
		Error:  &workflow.Failure{Code: workflow.CodeRecoveredFailed, Message: "its write was in flight when the process died; " + c.By + " settled it as failed", Node: o.Command.Node},
	}
	if slices.Contains(r.e.outcomes(r.Start, o.Command), "failed") {
		res.Outcome = "failed"
	}
	return r.record(about, res)
}
