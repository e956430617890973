package control

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

type describe = func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem)

// fixed describes a kind whose outcomes do not depend on its params.
func fixed(outcomes ...string) describe {
	return func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
		return piece.Traits{Outcomes: slices.Clone(outcomes)}, nil
	}
}

func describeCondition(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"true", "false"}}
	p, err := params.Read[workflow.ConditionParams](raw)
	if err != nil {
		return traits, unreadable(err)
	}
	return traits, checkExpr("/expr", p.Expr, env.Level)
}

func checkExpr(pointer, source string, level int) []piece.Problem {
	if _, err := expr.Parse(source, level); err != nil {
		return []piece.Problem{{Code: workflow.CodeInvalidExpression, Pointer: pointer, Message: err.Error()}}
	}
	return nil
}

func describeEnd(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
	if _, err := params.Read[workflow.EndParams](raw); err != nil {
		return piece.Traits{}, unreadable(err)
	}
	return piece.Traits{}, nil
}

func describeAssign(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next", "failed"}}
	p, err := params.Read[workflow.AssignParams](raw)
	if err != nil {
		return traits, unreadable(err)
	}
	var problems []piece.Problem
	names := len(p.Set) + len(p.Increment)
	if names > 64 {
		problems = append(problems, invalid("", "assigns %d variables; at most 64 are allowed", names))
	}
	var both []string
	for name := range p.Increment {
		if _, twice := p.Set[name]; twice {
			both = append(both, name)
		}
	}
	slices.Sort(both)
	for _, name := range both {
		problems = append(problems, invalid("/increment/"+name, "%s is set and incremented at once; keep one of them", name))
	}
	return traits, problems
}

func describeMap(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next"}}
	var p struct {
		Over workflow.MapSource `json:"over"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return traits, unreadable(err)
	}
	if p.Over.Expr != "" {
		return traits, checkExpr("/over/expr", p.Over.Expr, env.Level)
	}
	return traits, nil
}

func describeWait(raw json.RawMessage, _ piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next"}}
	p, err := params.Read[workflow.WaitParams](raw)
	if err != nil {
		return traits, unreadable(err)
	}
	if p.Timeout != "" {
		traits.Outcomes = append(traits.Outcomes, "expired")
	}
	problems := append(checkDuration("/for", p.For), checkDuration("/timeout", p.Timeout)...)
	if p.Until != "" && !params.Open(p.Until) {
		if _, err := time.Parse(time.RFC3339, p.Until); err != nil {
			problems = append(problems, invalid("/until", "%q is not a time; write it like 2026-12-24T18:00:00Z", p.Until))
		}
	}
	if strings.TrimSpace(p.Signal) == "" && p.Signal != "" {
		problems = append(problems, invalid("/signal", "the name of the signal is blank"))
	}
	return traits, problems
}

func checkDuration(pointer, s string) []piece.Problem {
	if s == "" || params.Open(s) {
		return nil
	}
	if _, err := params.Duration(s); err != nil {
		return []piece.Problem{invalid(pointer, "%v", err)}
	}
	return nil
}

func unreadable(err error) []piece.Problem { return []piece.Problem{invalid("", "%v", err)} }

func invalid(pointer, format string, args ...any) piece.Problem {
	e := workflow.Errorf(workflow.CodeInvalidPieceParams, format, args...)
	return piece.Problem{Code: e.Code, Pointer: pointer, Message: e.Msg}
}
