package tenon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/anthropic"
	"github.com/tenonrun/tenon/provider/chat"
	"github.com/tenonrun/tenon/provider/gemini"
	"github.com/tenonrun/tenon/provider/responses"
	"github.com/tenonrun/tenon/provider/scripted"
	"github.com/tenonrun/tenon/routing"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/plan"
	"github.com/tenonrun/tenon/workflow"
)

// Names that exist without configuration: the scripted provider, and its alias
// in published definitions.
const (
	scriptedName = scripted.Name
	fixtureName  = "fixture"
)

// backends are the executors behind the names of providers, made when they are
// first used.
type backends struct {
	project *project.Project
	given   map[string]provider.Provider
	models  map[string]string // of those given
	getenv  func(string) string
	mu      sync.Mutex
	made    map[string]backend
	blocked map[string]error // providers that can be described and not used
	equip   func(executor.Turn) (native.Gear, error)
	spawn   func(context.Context, executor.Turn, tool.Task) (native.Child, error)
	matrix  func() (*routing.Matrix, error) // of the project

	elsewhere func(context.Context, executor.Turn, string) (native.Where, bool)
}

// backend is one made executor.
type backend struct {
	executor *native.Executor
	provider provider.Provider
	conf     project.Provider
}

func newBackends(p *project.Project, cfg Config) (*backends, error) {
	for name := range cfg.Providers {
		if _, twice := p.Config.Providers[name]; twice {
			return nil, workflow.Errorf(workflow.CodeInvalidArguments, "provider %q is given by the program and configured in %s", name, p.Root).
				WithHint("rename one of them")
		}
	}
	for name := range cfg.Models {
		if cfg.Providers[name] == nil {
			return nil, workflow.Errorf(workflow.CodeInvalidArguments, "a model is named for provider %q, which the program does not give", name).
				WithHint("models of configured providers are named in .tenon/config.yaml")
		}
	}
	return &backends{
		project: p, given: cfg.Providers, models: cfg.Models, getenv: cfg.Getenv, made: map[string]backend{}, blocked: map[string]error{},
	}, nil
}

// names are the providers that somebody set up; without any, those that are
// there anyway.
func (b *backends) names() []string {
	all := map[string]bool{}
	for name := range b.given {
		all[name] = true
	}
	for name := range b.project.Config.Providers {
		all[name] = true
	}
	if len(all) == 0 {
		all[scriptedName] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// capabilities are known without a key, so that a workflow can be checked where
// it cannot run.
func (b *backends) capabilities(name string) (executor.Capabilities, bool) {
	made, err := b.get(name)
	if err != nil {
		return executor.Capabilities{}, false
	}
	return made.executor.Capabilities(""), true
}

// broken returns why a provider cannot be used, whatever its key.
func (b *backends) broken(name string) error {
	_, err := b.get(name)
	return err
}

// executor returns the executor behind a name, ready to make calls.
func (b *backends) executor(name string) (*native.Executor, error) {
	made, err := b.get(name)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	blocked := b.blocked[name]
	b.mu.Unlock()
	if blocked != nil {
		return nil, blocked
	}
	if conf := made.conf; conf.KeyEnv != "" && conf.BaseURL == "" && b.getenv(conf.KeyEnv) == "" {
		return nil, workflow.Errorf(workflow.CodeProviderAuth, "provider %q needs the key in the environment variable %s, which is not set", name, conf.KeyEnv).
			WithHint("export %s=… and try again", conf.KeyEnv)
	}
	return made.executor, nil
}

// keys are the environment variables that hold keys of providers.
func (b *backends) keys() []string {
	keys := []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}
	for _, cfg := range b.project.Providers() {
		if cfg.KeyEnv != "" {
			keys = append(keys, cfg.KeyEnv)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (b *backends) get(name string) (backend, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if made, ok := b.made[name]; ok {
		return made, nil
	}
	p, cfg, err := b.provider(name)
	if err != nil {
		return backend{}, err
	}
	commands := commands{root: b.project.Root}
	b.made[name] = backend{conf: cfg, provider: p, executor: native.New(native.Config{
		Provider: p, Model: cfg.Model, Command: commands.render, Native: cfg.Type == scriptedName,
		Equip: b.equip, Spawn: b.spawn, Elsewhere: b.elsewhere, Submit: plan.Submit,
		ContextLimit: func(model string) int { return int(b.at(name, model).Context) },
	})}
	return b.made[name], nil
}

// provider makes the provider of a name, and returns its configuration.
func (b *backends) provider(name string) (provider.Provider, project.Provider, error) {
	if p := b.given[name]; p != nil {
		return p, project.Provider{Model: cmp.Or(b.models[name], "default")}, nil
	}
	cfg, ok := b.project.Providers()[name]
	if !ok {
		err := workflow.Errorf(workflow.CodeProviderNotFound, "provider %q is not configured", name)
		if near := text.Nearest(name, b.names()); near != "" {
			return nil, cfg, err.WithHint("did you mean %q? Otherwise add it under providers: in .tenon/config.yaml", near)
		}
		return nil, cfg, err.WithHint("add it under providers: in .tenon/config.yaml; there are %q", b.names())
	}
	if _, written := b.project.Config.Providers[name]; !written && cfg.File != "" {
		if _, err := os.Stat(b.project.Path(cfg.File)); errors.Is(err, fs.ErrNotExist) {
			cfg.File = "" // without a script it answers "ok"
		}
	}
	p, err := b.build(name, &cfg)
	if err == nil && cfg.Type != scriptedName {
		p = priced{p, func(model string) routing.Model { return b.at(name, model) }}
	}
	return p, cfg, err
}

// at is what the matrix says of a model: its price, and what it holds. A matrix
// that cannot be read is told where a run needs it.
func (b *backends) at(name, model string) routing.Model {
	m, err := b.matrix()
	if err != nil {
		return routing.Model{Provider: name, Model: model}
	}
	return m.At(name, model)
}

func (b *backends) build(name string, cfg *project.Provider) (provider.Provider, error) {
	if cfg.Type == scriptedName {
		if cfg.Model == "" {
			cfg.Model = "scripted"
		}
		return b.script(name, cfg.File)
	}
	c := provider.Config{Name: name, BaseURL: cfg.BaseURL}
	if cfg.KeyEnv != "" {
		c.Key = b.getenv(cfg.KeyEnv)
	}
	switch cfg.Type {
	case "anthropic":
		return anthropic.New(c), nil
	case "chat":
		return chat.New(c), nil
	case "responses":
		return responses.New(c), nil
	case "gemini":
		return gemini.New(c)
	}
	return nil, workflow.Errorf(workflow.CodeProviderNotFound, "provider %q has the unknown type %q", name, cfg.Type).
		WithHint("there are anthropic, chat, responses, gemini and scripted")
}

func (b *backends) script(name, file string) (provider.Provider, error) {
	if file == "" {
		return scripted.New(name, nil), nil
	}
	path := b.project.Path(file)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the script of provider %q: %w", name, err)
	}
	s, err := scripted.Load(file, data)
	if err != nil {
		return nil, fmt.Errorf("reading the script of provider %q: %w", name, err)
	}
	if s.Writes() {
		trusted, err := b.project.Trusts(data)
		if err != nil {
			return nil, err
		}
		if !trusted {
			b.blocked[name] = workflow.Errorf(workflow.CodeNotTrusted, "the script %s of provider %q writes files, and is not trusted", file, name).
				WithHint("read it, then type: tenon trust; or set TENON_TRUST=%s", canon.Sum(data))
		}
	}
	return scripted.New(name, s), nil
}

// priced reports whether it is known what the calls of a provider cost: a script
// tells, and models.yaml for vendors.
func (b *backends) priced(name, model string) bool {
	if _, given := b.given[name]; given {
		return true // the program answers for it
	}
	_, cfg, err := b.provider(name)
	return err == nil && (cfg.Type == scriptedName || b.at(name, cmp.Or(model, cfg.Model)).Price != nil)
}
