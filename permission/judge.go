package permission

import (
	"context"

	"github.com/tenonrun/tenon/internal/pathid"
)

// Call is one call to be judged.
type Call struct {
	Tool       string
	Protective *Target // by the catalog of tools: deny and ask go by it
	Declared   *Target // by the request itself: allow goes by it; nil when the request does not say
	Args       map[string]any
	Bases      Bases
	Identity   bool // the Reading shall tell what is there
}

// Policy is one layer of a Judge.
type Policy struct {
	Rules    *Set
	Defaults *Defaults // nil: nothing holds when no rule speaks
}

// Judge decides about calls. It does not change and may be used by any number of
// goroutines.
type Judge struct {
	policies []Policy
	env      Env
}

// NewJudge makes a judge of one policy. Without an environment only what is
// written counts: such a judge can deny and ask and never allows a path.
func NewJudge(p Policy, env Env) *Judge {
	if p.Rules == nil {
		p.Rules = Compile(context.Background(), nil, Scope{}, nil)
	}
	return &Judge{policies: []Policy{p}, env: env}
}

// Narrow makes the judge of a child. Its verdict is the stricter one of what the
// parent says and what the policy says: it never allows more.
func (j *Judge) Narrow(p Policy) *Judge {
	child := NewJudge(p, j.env)
	child.policies = append(append([]Policy(nil), j.policies...), child.policies...)
	return child
}

// Policies returns the layers, the outermost first.
func (j *Judge) Policies() []Policy { return append([]Policy(nil), j.policies...) }

// Judge decides about a call.
func (j *Judge) Judge(ctx context.Context, c *Call) Verdict {
	target := c.Protective
	if target == nil {
		target = c.Declared
	}
	selected := Select(target, c.Args, c.Bases)
	q := question{tool: c.Tool, protective: Place(selected), identity: c.Identity}
	if target != nil {
		q.op = target.Op
	}
	switch {
	case c.Declared == nil:
	case c.Declared == target || *c.Declared == *target:
		q.shared = true
	default:
		s := Select(c.Declared, c.Args, c.Bases)
		if q.shared = s == selected; !q.shared {
			q.declared = Place(s)
		}
	}
	return j.decide(ctx, &q)
}

// JudgeReading decides about a path that was read already, such as an entry of a
// directory whose own canonical path is in hand.
func (j *Judge) JudgeReading(ctx context.Context, tool string, op Op, r Reading) Verdict {
	return j.decide(ctx, &question{tool: tool, op: op, protective: r, shared: true})
}

// Rewritten decides about a call whose arguments somebody changed: what runs is
// judged, and a deny that the arguments before reached holds too.
func (j *Judge) Rewritten(ctx context.Context, before, now *Call) Verdict {
	v := j.Judge(ctx, now)
	if v.Effect == Deny || before == nil {
		return v
	}
	if was := j.Judge(ctx, before); was.Effect == Deny {
		was.Reason = "the arguments were changed, and what they were before is denied: " + was.Reason
		return was
	}
	return v
}

// question is a call with its readings.
type question struct {
	tool       string
	op         Op
	protective Reading // deny and ask are judged by it
	declared   Reading // allow is judged by it, unless shared
	shared     bool
	identity   bool
	folds      Fold
}

func (q *question) allowed() *Reading {
	if q.shared {
		return &q.protective
	}
	return &q.declared
}

// decide goes from cheap to dear: rules for whole tools and what is written need
// no system call, and a deny found there ends it.
func (j *Judge) decide(ctx context.Context, q *question) Verdict {
	needed := false
	for i := range j.policies {
		p := &j.policies[i]
		if v, ok := p.early(q); ok {
			return j.fill(q, v)
		}
		needed = needed || p.needsViews(q.tool)
	}
	if needed {
		q.protective.resolve(ctx, j.env, q.identity)
		if !q.shared {
			q.declared.resolve(ctx, j.env, false)
		}
		if j.env != nil && q.protective.Kind == pathid.AtPath {
			q.folds = j.env.Folds(ctx, q.protective.Lexical)
		}
	}
	var strictest Verdict
	for i := range j.policies {
		v := j.policies[i].verdict(q)
		if i == 0 || v.Effect.strictness() > strictest.Effect.strictness() {
			strictest = v
		}
	}
	return j.fill(q, strictest)
}

func (j *Judge) fill(q *question, v Verdict) Verdict {
	v.Tool, v.Op, v.Reading = q.tool, q.op, q.protective
	if v.Effect == None && v.Reason == "" {
		v.Reason = "no rule speaks about it"
		if q.protective.Kind == pathid.Refused {
			v.Reason = "it is no path that a tool may open: " + string(q.protective.Word)
		}
	}
	return v
}

// early finds a deny that needs no environment.
func (p *Policy) early(q *question) (Verdict, bool) {
	t := p.Rules.tablesOf(q.tool)
	if len(t.deny.whole) > 0 {
		return wholeVerdict(t.deny.whole[0]), true
	}
	if q.protective.Kind != pathid.AtPath {
		return Verdict{}, false
	}
	if r, ok := t.deny.tighten(Lexical, q.protective.Lexical, q.protective.Family, Fold{}); ok {
		return ruleVerdict(r), true
	}
	return Verdict{}, false
}

func (p *Policy) needsViews(tool string) bool {
	return p.Defaults != nil || p.Rules.Paths(tool)
}

// verdict is the judgment of one policy over views in hand.
func (p *Policy) verdict(q *question) Verdict {
	v := p.ruled(q)
	if p.Defaults == nil {
		return v
	}
	return p.Defaults.over(v, p, q)
}

// ruled is what the rules say: deny before ask before allow, whatever their order.
func (p *Policy) ruled(q *question) Verdict {
	t := p.Rules.tablesOf(q.tool)
	pending := false
	for _, list := range [...]*table{&t.deny, &t.ask} {
		if len(list.whole) > 0 {
			return wholeVerdict(list.whole[0])
		}
		switch {
		case len(list.rows) == 0:
		case q.protective.Kind == pathid.Unreadable:
			pending = true
		case q.protective.Kind == pathid.AtPath:
			// An early look found no deny of what is written.
			skip := list == &t.deny && q.folds == (Fold{})
			if r, ok := list.reached(&q.protective, q.folds, skip); ok {
				return ruleVerdict(r)
			}
		}
	}
	if pending {
		return Verdict{Effect: Ask, Reason: "a rule may be about this path, which cannot be located: " + q.protective.Reason}
	}
	if len(t.allow.whole) > 0 {
		return wholeVerdict(t.allow.whole[0])
	}
	if r, ok := t.allow.admit(q.allowed(), q.folds, nil); ok {
		return ruleVerdict(r)
	}
	return Verdict{}
}

// reached looks at every view of a path, but what is written where that was done.
func (t *table) reached(r *Reading, fold Fold, skipLexical bool) (reach, bool) {
	if !skipLexical {
		if got, ok := t.tighten(Lexical, r.Lexical, r.Family, fold); ok {
			return got, true
		}
	}
	for _, hop := range r.Hops {
		if got, ok := t.tighten(Hop, hop, r.Family, fold); ok {
			return got, true
		}
	}
	if r.Canonical != "" && r.Canonical != r.Lexical {
		if got, ok := t.tighten(Canonical, r.Canonical, r.Family, fold); ok {
			return got, true
		}
	}
	return reach{}, false
}

func wholeVerdict(r *row) Verdict {
	return Verdict{Effect: r.rule.Effect, Rule: r.rule, Reason: "a rule is about every call of the tool"}
}

func ruleVerdict(r reach) Verdict {
	v := Verdict{Effect: r.row.rule.Effect, Rule: r.row.rule, View: r.view, Path: r.path, From: r.variant.from, To: r.variant.to}
	switch {
	case v.Effect == Allow:
		v.Reason = "a rule admits it"
	case r.view == Lexical:
		v.Reason = "a rule names this path"
	case r.view == Canonical:
		v.Reason = "a rule names the place that it leads to"
	default:
		v.Reason = "a rule names a place that its links pass"
	}
	return v
}
