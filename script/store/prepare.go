package store

import (
	"context"
	"encoding/json"
	"fmt"
)

// Call names what to run: a path wins over a script, a script over a name.
type Call struct {
	ScriptPath, Script, Name string
	// Args are the arguments of the call; nil means none.
	Args json.RawMessage
	// Run is the id of the new run, Scope that of the caller.
	Run, Scope string
}

// Source is where scripts come from.
type Source struct {
	// Store may be nil: then only inline scripts and built-ins are known.
	Store Store
	// Builtins are scripts by name; a saved one of the same name shadows them.
	Builtins map[string]string
}

// Launch is what a call comes to.
type Launch struct {
	Script string
	// Args are merged over the defaults of a saved script; nil means none.
	Args json.RawMessage
	// Path is where the script of the run is kept, empty when it is not; then
	// Warning says why, unless there is no store.
	Path, Warning string
}

// Prepare finds the script of a call, merges its arguments, and keeps the script
// for the run. A script that cannot be kept is launched all the same.
func Prepare(ctx context.Context, from Source, call Call) (Launch, error) {
	found, err := from.find(ctx, call)
	if err != nil {
		return Launch{}, err
	}
	args, err := Merge(Normalize(call.Args, found.DefaultArgs, found.StringArgKey), found.DefaultArgs)
	if err != nil {
		return Launch{}, err
	}
	launch := Launch{Script: found.Script, Args: args}
	if from.Store == nil {
		return launch, nil
	}
	if launch.Path, err = from.Store.Persist(ctx, call.Run, found.Script, call.Scope); err != nil {
		launch.Path, launch.Warning = "", fmt.Sprintf("the script is not kept, so it cannot be edited and run again by its path: %v", err)
	}
	return launch, nil
}

// find returns the script of a call.
func (s Source) find(ctx context.Context, call Call) (Resolution, error) {
	switch {
	case call.ScriptPath != "":
		if s.Store == nil {
			return Resolution{}, errNoStore("scriptPath")
		}
		script, err := s.Store.Load(ctx, call.ScriptPath, call.Scope)
		return Resolution{Script: script}, err
	case call.Script != "":
		return Resolution{Script: call.Script}, nil
	case call.Name != "":
		return s.named(ctx, call.Name)
	}
	return Resolution{}, &Error{CodeNothingNamed, "starting a workflow: the call names nothing to run: give one of script, scriptPath and name"}
}

func (s Source) named(ctx context.Context, name string) (Resolution, error) {
	if names, ok := s.Store.(Resolver); ok {
		if r, ok, err := names.ResolveName(ctx, name); ok || err != nil {
			return r, err
		}
	}
	if script, ok := s.Builtins[name]; ok {
		return Resolution{Script: script}, nil
	}
	if s.Store == nil {
		return Resolution{}, errNoStore("name")
	}
	return Resolution{}, &Error{CodeUnknownName, fmt.Sprintf("starting a workflow: no workflow is named %q: list the names with `tenon script ls`", name)}
}

func errNoStore(field string) error {
	return &Error{CodeNoStore, fmt.Sprintf("starting a workflow: %s needs a script store and there is none here: pass the text in script", field)}
}
