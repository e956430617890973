package store

import (
	"context"
	"encoding/json"
	"fmt"
)

// Foreign is a store of another program, as the functions it offers and what it
// says of itself. Adapt makes a Store of it.
type Foreign struct {
	// ScopePartitioned is its word that scopes are kept apart.
	ScopePartitioned bool
	// PersistScript and LoadScript are as in Store.
	PersistScript func(ctx context.Context, run, script, scope string) (string, error)
	LoadScript    func(ctx context.Context, path, scope string) (string, error)
	// Resolve returns {"script", "defaultArgs"?, "stringArgKey"?}, or nil for a
	// name it does not know. It may be missing.
	Resolve func(ctx context.Context, name string) (json.RawMessage, error)
	// ListNames is as in Lister. It may be missing.
	ListNames func(ctx context.Context) ([]Listing, error)
}

// Adapt returns a Store that speaks to a foreign one. It refuses one that does
// not say that it keeps scopes apart.
func Adapt(f Foreign) (Store, error) {
	if !f.ScopePartitioned {
		return nil, &Error{CodeNotPartitioned, "using a script store: it does not keep the scripts of scopes apart (scopePartitioned is not true): partition it by the scope that Persist and Load are given"}
	}
	if f.PersistScript == nil || f.LoadScript == nil {
		return nil, &Error{CodeNotPartitioned, "using a script store: it lacks persist or load: both are needed, each with the scope"}
	}
	return foreign{f}, nil
}

type foreign struct{ f Foreign }

// Persist implements Store with the host's function.
func (s foreign) Persist(ctx context.Context, run, script, scope string) (string, error) {
	return s.f.PersistScript(ctx, run, script, scope)
}

// Load implements Store with the host's function.
func (s foreign) Load(ctx context.Context, path, scope string) (string, error) {
	return s.f.LoadScript(ctx, path, scope)
}

// List implements Lister; a host without the function has no names.
func (s foreign) List(ctx context.Context) ([]Listing, error) {
	if s.f.ListNames == nil {
		return nil, nil
	}
	return s.f.ListNames(ctx)
}

// ResolveName implements Resolver; a host without the function knows no name.
func (s foreign) ResolveName(ctx context.Context, name string) (Resolution, bool, error) {
	if s.f.Resolve == nil {
		return Resolution{}, false, nil
	}
	raw, err := s.f.Resolve(ctx, name)
	if err != nil || raw == nil {
		return Resolution{}, false, err
	}
	if first(raw) == '"' {
		return Resolution{}, false, &Error{CodeMigration, fmt.Sprintf("resolving the workflow %s: its store answers with a bare string: answer with {\"script\": …, \"defaultArgs\"?: …, \"stringArgKey\"?: …}", name)}
	}
	var r struct {
		Script       *string         `json:"script"`
		DefaultArgs  json.RawMessage `json:"defaultArgs"`
		StringArgKey *string         `json:"stringArgKey"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return Resolution{}, false, fmt.Errorf("resolving the workflow %s: %w", name, err)
	}
	if r.Script == nil {
		return Resolution{}, false, &Error{CodeMigration, fmt.Sprintf("resolving the workflow %s: its store answers without a script: answer with {\"script\": …}", name)}
	}
	return Resolution{Script: *r.Script, DefaultArgs: r.DefaultArgs, StringArgKey: r.StringArgKey}, true, nil
}
