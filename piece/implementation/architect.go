package implementation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// maxQuestions bounds how often an architect asks a person.
const maxQuestions = 3

// architect plans the work. An unsure architect looks once more; one that stays
// unsure asks a person, or the work goes on with what there is.
func (s *step) architect(ctx context.Context) (fact, error) {
	if err := s.fixCriteria(); err != nil {
		return fact{}, err
	}
	ch, err := s.change(ctx)
	if err != nil {
		return fact{}, err
	}
	w := wish{
		key: "plan", kind: "initial", role: roleArchitect, text: roleArchitect, access: s.access(roleArchitect),
		full: []string{s.brief(), checksBlock("When the work is built, the host runs these checks itself:", verification.Commands(s.in.checks)), artifactsBlock(ch, s.in.change, s.access(roleArchitect) == workflow.EffectWrite)},
		task: instructions("architect-task"), own: true,
	}
	if s.st.Plan != nil {
		w.fresh = []string{"There is a plan already, and it did not hold. Plan again.", planBlock(s.st.Plan)}
	}
	made, _, err := ask[architectReply](ctx, s, w)
	if err != nil {
		return fact{}, err
	}
	if made.Confidence == confidenceLow {
		if made, err = s.deepen(ctx, w, made); err != nil {
			return fact{}, err
		}
	}
	p, answers, err := s.consult(ctx, w, plan{architectReply: made})
	if err != nil {
		return fact{}, err
	}
	return s.planned(p, answers), nil
}

// fixCriteria fixes the criteria, once.
func (s *step) fixCriteria() error {
	if len(s.st.Criteria) > 0 {
		return nil
	}
	var err error
	if s.st.Criteria, err = s.in.criteria(); err != nil {
		return fmt.Errorf("%s: %w", s.f.Node, err)
	}
	return nil
}

// access is what a role may do in this step.
func (s *step) access(role string) workflow.Effect {
	if s.f.Roles[role].Access == workflow.EffectWrite {
		return workflow.EffectWrite
	}
	return workflow.EffectRead
}

// deepen lets the architect look once more.
func (s *step) deepen(ctx context.Context, w wish, last architectReply) (architectReply, error) {
	w.key, w.kind, w.task, w.own = w.key+"-deepen", "deepen", instructions("architect-deepen"), false
	w.fresh = append(w.fresh, lastPlan(last))
	made, _, err := ask[architectReply](ctx, s, w)
	return made, err
}

func lastPlan(last architectReply) string {
	raw, err := json.Marshal(last)
	if err != nil {
		return "" // not reached with plain data
	}
	return block("Your last answer:", "your-answer", string(raw))
}

// consult settles a confidence that stays low: by configuration, or with a
// person.
func (s *step) consult(ctx context.Context, w wish, p plan) (plan, []workflow.NamedAnswer, error) {
	if p.Confidence == confidenceLow && s.cfg.OnLowConfidence == LowProceed {
		p.Waived = "the configuration"
	}
	if p.Confidence != confidenceLow || p.Waived != "" {
		return p, nil, nil
	}
	var answers []workflow.NamedAnswer
	for round := 1; round <= maxQuestions && p.Confidence == confidenceLow; round++ {
		question := strings.TrimSpace(p.Question)
		if question == "" {
			question = "The architect is not sure of the plan and names no question. How should it go on?"
		}
		answer, err := s.c.Ask(ctx, piece.Ask{Round: round, Kind: workflow.AskQuestion, Text: question})
		if err != nil {
			return p, nil, err
		}
		if answer.Denied || answer.Expired {
			return p, nil, workflow.Errorf(workflow.CodeApprovalDenied, "%s: the question of the architect was not answered%s", s.f.Node, reasonOf(answer))
		}
		said, err := s.words(answer)
		if err != nil {
			return p, nil, err
		}
		answers = append(answers, workflow.NamedAnswer{Question: answer.Question, Node: s.f.Node, Value: answer.Value, By: answer.By, At: answer.At})
		w.key, w.kind, w.task, w.own = fmt.Sprintf("plan-answered-%d", round), "correction", "Plan with this answer. It comes from a person who may decide.", false
		w.fresh = append(w.fresh, lastPlan(p.architectReply), block("What a person answered to your question:", "human-answer", text.Head(said, maxAnswer, "\n[…]")))
		if p.architectReply, _, err = ask[architectReply](ctx, s, w); err != nil {
			return p, nil, err
		}
	}
	if p.Confidence == confidenceLow {
		p.Waived = "a person who was asked"
	}
	return p, answers, nil
}

func reasonOf(a workflow.Answer) string {
	switch {
	case a.Expired:
		return ": it expired"
	case a.Reason != "":
		return ": " + a.Reason
	}
	return ""
}

// words is an answer as text.
func (s *step) words(a workflow.Answer) (string, error) {
	raw, err := s.c.Load(a.Value)
	if err != nil {
		return "", fmt.Errorf("%s: reading an answer: %w", s.f.Node, err)
	}
	var said string
	if json.Unmarshal(raw, &said) != nil {
		said = string(raw)
	}
	return said, nil
}

// planned takes in a plan. What was decided about the work under another plan
// counts no more.
func (s *step) planned(p plan, answers []workflow.NamedAnswer) fact {
	s.st.Plan = &p
	s.st.Correction, s.st.Origin = nil, ""
	s.st.forget()
	ids := make([]string, 0, len(s.st.Criteria))
	for _, c := range s.st.Criteria {
		ids = append(ids, c.ID)
	}
	out := map[string]any{"confidence": p.confidence(), "plan": text.Head(p.Plan, maxSpec, "…"), "criteria": ids}
	if len(p.RiskFlags) > 0 {
		out["riskFlags"] = p.RiskFlags
	}
	return fact{
		wanted: phaseDeveloper, output: out, answers: answers,
		history: fmt.Sprintf("planned %s with %s confidence\n%s", s.in.change, p.confidence(), p.Plan),
	}
}
