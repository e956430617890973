package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/workflow"
)

// fill takes from the role what the params leave open. A role's model and effort
// belong to its provider and are not carried to another one.
func (e engine) fill(role workflow.Role) engine {
	if e.Provider == "" {
		e.Provider = role.Provider
	}
	if e.Provider == role.Provider || role.Provider == "" {
		if e.Model == "" {
			e.Model = role.Model
		}
		if e.Effort == "" {
			e.Effort = role.Effort
		}
	}
	return e
}

// choice is the model that params choose.
type choice struct {
	engine
	caps executor.Capabilities
}

// choose finds provider and model: the node's, the role's, the provider's own.
// pointer is where the node would name them, who is the role for messages.
func choose(e engine, role workflow.Role, who, pointer string, env piece.Env) (choice, []piece.Problem) {
	c := choice{engine: e.fill(role)}
	if c.Provider == "" && len(env.Providers) == 1 {
		c.Provider = env.Providers[0]
	}
	if env.Structural || env.Backend == nil || params.Open(c.Provider) {
		return c, nil
	}
	if p, bad := checkModel(c, pointer, env); bad {
		return c, []piece.Problem{p}
	}
	if c.Provider == "" && (env.Routed || c.Model != "" && env.Model != nil) {
		return c, nil
	}
	if c.Provider == "" {
		return c, []piece.Problem{{
			Code: workflow.CodeProviderNotFound, Pointer: pointer, Message: who + " names no provider",
			Hint: "set engine.provider, or the provider of the role in the configuration",
		}}
	}
	caps, ok := env.Backend(c.Provider)
	if !ok {
		return c, []piece.Problem{unknownProvider(c.Provider, pointer, env)}
	}
	c.caps = caps
	if c.Model == "" && !env.Routed { // else the matrix speaks before the provider does
		c.Model = caps.Model
	}
	var problems []piece.Problem
	if c.Model == "" && !env.Routed {
		problems = append(problems, piece.Problem{
			Code: workflow.CodeModelMissing, Pointer: pointer,
			Message: fmt.Sprintf("%s names no model, and provider %s has none of its own", who, c.Provider),
			Hint:    fmt.Sprintf("set engine.model, the model of the role, or providers.%s.model in the configuration", c.Provider),
		})
	}
	if p, bad := checkEffort(c, pointer); bad {
		problems = append(problems, p)
	}
	return c, problems
}

// checkModel finds a name of a model that leads nowhere.
func checkModel(c choice, pointer string, env piece.Env) (piece.Problem, bool) {
	if c.Model == "" || env.Model == nil || params.Open(c.Model) {
		return piece.Problem{}, false
	}
	if _, known := env.Backend(c.Provider); c.Provider != "" && !known {
		return piece.Problem{}, false // that is told first
	}
	err := env.Model(c.Model, c.Provider)
	if err == nil {
		return piece.Problem{}, false
	}
	p := piece.Problem{Code: workflow.CodeModelUnknown, Pointer: pointer, Message: err.Error()}
	var coded *workflow.Error
	if errors.As(err, &coded) {
		p.Code, p.Hint = coded.Code, coded.Hint
	}
	return p, true
}

func unknownProvider(name, pointer string, env piece.Env) piece.Problem {
	known := env.Providers
	if slices.Contains(known, name) && env.Broken != nil {
		if err := env.Broken(name); err != nil {
			p := piece.Problem{Code: workflow.CodeProviderNotFound, Pointer: pointer, Message: fmt.Sprintf("the provider %q cannot be used: %v", name, err)}
			var coded *workflow.Error
			if errors.As(err, &coded) {
				p.Code, p.Hint = coded.Code, coded.Hint
			}
			return p
		}
	}
	p := piece.Problem{
		Code: workflow.CodeProviderNotFound, Pointer: pointer, Message: fmt.Sprintf("there is no provider %q", name),
		Hint: "add it under providers in the configuration",
	}
	if near := text.Nearest(name, known); near != "" {
		p.Hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(known) > 0 {
		p.Hint += "; known are " + strings.Join(known, ", ")
	}
	return p
}

func checkEffort(c choice, pointer string) (piece.Problem, bool) {
	if c.Effort == "" || params.Open(c.Effort) || slices.Contains(c.caps.Efforts, c.Effort) {
		return piece.Problem{}, false
	}
	p := piece.Problem{
		Code: workflow.CodeInvalidPieceParams, Pointer: pointer,
		Message: fmt.Sprintf("provider %s takes no effort; %q is left out", c.Provider, c.Effort), Warning: true,
	}
	if len(c.caps.Efforts) > 0 {
		p.Warning = false
		p.Message = fmt.Sprintf("provider %s has no effort %q", c.Provider, c.Effort)
		p.Hint = "it knows " + strings.Join(c.caps.Efforts, ", ")
	}
	return p, true
}

// findRole returns the role of an id and the problems with it. In a structural
// check every role is there and may read.
func findRole(id, pointer string, env piece.Env) (workflow.Role, []piece.Problem) {
	var problems []piece.Problem
	if (env.Level == 1 || len(env.Declared) > 0) && !slices.Contains(env.Declared, id) {
		problems = append(problems, piece.Problem{
			Code: workflow.CodeRoleUndeclared, Pointer: pointer, Message: fmt.Sprintf("role %q is not in roles", id),
			Hint: hint(id, env.Declared, "add it to roles of the definition"),
		})
	}
	role, ok := env.Roles[id]
	switch {
	case ok && role.Access == workflow.EffectNone:
		role.Access = workflow.EffectRead
	case !ok && env.Structural:
		role.Access = workflow.EffectRead
	case !ok:
		names := make([]string, 0, len(env.Roles))
		for name := range env.Roles {
			names = append(names, name)
		}
		slices.Sort(names)
		problems = append(problems, piece.Problem{
			Code: workflow.CodeRoleNotFound, Pointer: pointer, Message: fmt.Sprintf("role %q is not configured", id),
			Hint: hint(id, names, "add it to roles of the configuration"),
		})
		role.Access = workflow.EffectRead
	}
	return role, problems
}

func hint(name string, known []string, otherwise string) string {
	if near := text.Nearest(name, known); near != "" && near != name {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}
