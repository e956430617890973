package implementation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

// Roles that an implementation uses. A fixer is the developer again, unless the
// configuration has a role of this name.
const (
	roleArchitect = "architect"
	roleDeveloper = "developer"
	roleFixer     = "fixer"
	roleReviewer  = "reviewer"
)

// roleOf is the configured role that carries out a phase; "" is the host.
func roleOf(phase string, roles map[string]workflow.Role) string {
	switch phase {
	case phaseArchitect:
		return roleArchitect
	case phaseReviewer:
		return roleReviewer
	case phaseFixer:
		if _, ok := roles[roleFixer]; ok {
			return roleFixer
		}
		return roleDeveloper
	case phaseDeveloper:
		return roleDeveloper
	}
	return ""
}

// writes are the phases that may change the work tree whoever carries them out.
var writes = []string{phaseDeveloper, phaseFixer, phaseVerify, phaseArchive}

func describeStep(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: stepOutcomes(), Effect: workflow.EffectRead, Shares: shared}
	p, err := params.Read[stepParams](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	problems := p.ReviewPolicy.problems()
	if slices.Contains(writes, p.Phase) {
		traits.Effect = workflow.EffectWrite
	}
	id := roleOf(p.Phase, env.Roles)
	if id == "" {
		return traits, problems
	}
	role, chosen, found := choose(id, "/phase", env)
	problems = append(problems, found...)
	traits.AI, traits.Steerable, traits.Provider, traits.Model = true, true, chosen.provider, chosen.model
	switch p.Phase {
	case phaseArchitect:
		if role.Access == workflow.EffectWrite {
			traits.Effect = workflow.EffectWrite
		}
	case phaseReviewer:
		if role.Access == workflow.EffectWrite {
			problems = append(problems, piece.Problem{
				Code: workflow.CodeInvalidRoleAccess, Pointer: "/phase", Message: "a reviewer only reads, and role reviewer may write",
				Hint: "set access: read for it in the configuration",
			})
		}
	default:
		if role.Access == workflow.EffectRead && !env.Structural {
			problems = append(problems, piece.Problem{
				Code: workflow.CodeInvalidRoleAccess, Pointer: "/phase", Message: fmt.Sprintf("role %s changes the work, and may only read", id),
				Hint: "set access: write for it in the configuration",
			})
		}
	}
	traits.Uncertain = traits.Effect == workflow.EffectWrite && chosen.caps.Uncertain
	return traits, problems
}

func describeWhole(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next", "rejected", "failed"}, Effect: workflow.EffectWrite, AI: true, Steerable: true}
	p, err := params.Read[wholeParams](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	problems := p.ReviewPolicy.problems()
	for _, phase := range []string{phaseArchitect, phaseDeveloper, phaseReviewer} {
		own, found := describeStep(json.RawMessage(`{"phase":"`+phase+`"}`), env)
		for _, problem := range found {
			problem.Pointer = ""
			problems = append(problems, problem)
		}
		if phase == phaseDeveloper {
			traits.Provider, traits.Model, traits.Uncertain = own.Provider, own.Model, own.Uncertain
		}
	}
	return traits, problems
}

// problems tells which wishes of a policy have no effect.
func (p *policy) problems() []piece.Problem {
	if p == nil {
		return nil
	}
	var out []piece.Problem
	if p.MinScore > 0 && p.MinScore < floorScore {
		out = append(out, lowered("/reviewPolicy/minScore", p.MinScore, floorScore))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Aspects)) {
		least, ok := floors[name]
		at := "/reviewPolicy/aspects/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
		switch {
		case !ok:
			problem := piece.Problem{Code: workflow.CodeInvalidPieceParams, Pointer: at, Message: fmt.Sprintf("a review has no aspect %q", name)}
			problem.Hint = "the aspects are " + strings.Join(aspectNames(), ", ")
			if near := text.Nearest(name, aspectNames()); near != "" {
				problem.Hint = fmt.Sprintf("did you mean %q?", near)
			}
			out = append(out, problem)
		case p.Aspects[name] < least:
			out = append(out, lowered(at, p.Aspects[name], least))
		}
	}
	return out
}

func lowered(at string, given, least float64) piece.Problem {
	return piece.Problem{
		Code: workflow.CodeInvalidPieceParams, Pointer: at, Warning: true,
		Message: fmt.Sprintf("%g has no effect: %g is the least for every review", given, least),
		Hint:    "a review policy can only raise what is asked for",
	}
}

// choice is the model that carries out a phase.
type choice struct {
	provider, model string
	caps            executor.Capabilities
}

// choose finds role and model of a phase: the role's, else the only provider,
// else what the provider has.
func choose(id, pointer string, env piece.Env) (workflow.Role, choice, []piece.Problem) {
	role, ok := env.Roles[id]
	if !ok && !env.Structural {
		return role, choice{}, []piece.Problem{{
			Code: workflow.CodeRoleNotFound, Pointer: pointer, Message: fmt.Sprintf("role %q is not configured", id),
			Hint: "add it to roles of the configuration",
		}}
	}
	ch := choice{provider: role.Provider, model: role.Model}
	if ch.provider == "" && len(env.Providers) == 1 {
		ch.provider = env.Providers[0]
	}
	if env.Structural || env.Backend == nil {
		return role, ch, nil
	}
	caps, ok := env.Backend(ch.provider)
	if !ok {
		message := fmt.Sprintf("role %s names the provider %q, which is not there", id, ch.provider)
		if ch.provider == "" {
			message = fmt.Sprintf("role %s names no provider", id)
		}
		return role, ch, []piece.Problem{{
			Code: workflow.CodeProviderNotFound, Pointer: pointer, Message: message,
			Hint: fmt.Sprintf("set the provider of role %s in the configuration; known are %s", id, strings.Join(env.Providers, ", ")),
		}}
	}
	ch.caps = caps
	if ch.model == "" {
		ch.model = caps.Model
	}
	if ch.model == "" {
		return role, ch, []piece.Problem{{
			Code: workflow.CodeModelMissing, Pointer: pointer, Message: fmt.Sprintf("role %s names no model, and provider %s has none of its own", id, ch.provider),
			Hint: fmt.Sprintf("set the model of the role, or providers.%s.model in the configuration", ch.provider),
		}}
	}
	return role, ch, nil
}
