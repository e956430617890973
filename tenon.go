// Package tenon runs agent work that must not be lost, paid twice, or faked.
//
// Holds: Open, the one door of the library, which wires the rooms of the house
// together: project, store, engine, pieces and providers.
//
// Guarantees: what engine, store and pieces guarantee, with nothing hidden
// between them; what a Config leaves out comes from the project's
// configuration, and then from defaults.
//
// Does not: print, read flags, or ask on a terminal. That is the command's.
package tenon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/notes"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/agent"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/routing"
	"github.com/tenonrun/tenon/script"
	scripts "github.com/tenonrun/tenon/script/store"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/memory"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/git"
	"github.com/tenonrun/tenon/workspace/process"
)

// Config opens a Tenon. The zero value opens the project around the working
// directory, as the command does.
type Config struct {
	Dir          string            // where the project is looked for; "" is the working directory
	State        string            // base of the state directory; "" is the user's
	Memory       bool              // keep runs in memory: nothing outlives the process
	Flags        map[string]string // settings over everything else, such as "limits.maxTokens"
	TrustProject bool              // trust the project's configuration for this process
	// Checks replaces the configured verification plan; it is the caller's own
	// word and needs no trust. One without a repository is for the first.
	Checks    []workflow.Check
	Pieces    []piece.Piece                // further kinds of nodes
	Providers map[string]provider.Provider // further providers, by the name in definitions
	// Models are asked of Providers, by the same names, where neither a node nor
	// a role names a model; one that is left out is asked for "default".
	Models  map[string]string
	Observe func(engine.Notice)      // sees events and progress; must not block
	Getenv  func(name string) string // settings and keys of the environment; nil is os.Getenv
	WaitFor engine.Waits
	// Scripts keeps the scripts of runs and knows saved ones by name. Nil is a
	// directory in the state of the project.
	Scripts scripts.Store
	// DenyAsked tells agents no where the rules of the fence would have a person
	// asked, so that a run never waits for that.
	DenyAsked bool
	// FailDenied ends a turn at the first use of a tool that the fence denies, and
	// the run with it as denied, unless the workflow routes the failure.
	FailDenied bool
	Log        *slog.Logger
	Version    string             // of the program, for the history
	Probe      func(point string) // called at each durable step: for tests that kill the process
}

// Tenon is an open project with its runs.
type Tenon struct {
	// Project is where Tenon was opened.
	Project *project.Project
	// Store holds the runs; read it for heads and histories.
	Store store.Store

	cfg      Config
	engine   *engine.Engine
	pieces   *piece.Registry
	backends *backends
	made     *Artifacts
	scripts  *Scripts
	factory  *script.Factory
	gear     *gear
	sessions sessions
	matrices matrices
	agents   func() (*Agents, error) // as they were when they were first asked for
	redact   *text.Redactor
	runner   *process.Runner
	close    func() error
}

// Open opens the project around cfg.Dir. Close it when it is no longer needed.
func Open(ctx context.Context, cfg Config) (*Tenon, error) {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	p, err := project.Open(project.Options{
		Dir: cfg.Dir, Getenv: cfg.Getenv, State: cfg.State, Flags: cfg.Flags, TrustProject: cfg.TrustProject,
		CommonDir: func(dir string) (string, error) {
			common, err := git.Common(ctx, dir)
			if errors.Is(err, git.ErrNoRepository) || errors.Is(err, git.ErrNoGit) {
				return "", nil
			}
			return common, err
		},
	})
	if err != nil {
		return nil, err
	}
	t := &Tenon{Project: p, cfg: cfg, redact: text.NewRedactor(os.Environ()), runner: process.New(process.Config{Home: p.Home})}
	if t.backends, err = newBackends(p, cfg); err != nil {
		return nil, err
	}
	memory, err := notes.Open(notes.Config{
		Project: filepath.Join(p.Home, memoryDir), User: filepath.Join(p.State, memoryDir), Redactor: t.redact,
	})
	if err != nil {
		return nil, err
	}
	if err := t.openStore(ctx); err != nil {
		return nil, err
	}
	if err := t.assemble(ctx, memory); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// assemble makes what works with the open store.
func (t *Tenon) assemble(ctx context.Context, memory *notes.Store) (err error) {
	if t.made, err = t.openArtifacts(); err != nil {
		return err
	}
	t.scripts, t.factory = newScripts(t), script.New(script.Config{})
	t.gear = newGear(t, memory)
	t.backends.equip = t.gear.equip
	t.backends.spawn, t.backends.elsewhere = t.spawn, t.elsewhere
	t.agents = sync.OnceValues(func() (*Agents, error) { return t.Agents(ctx) })
	t.backends.matrix = sync.OnceValues(func() (*routing.Matrix, error) { return t.Models() })
	agents := agent.Pieces(agent.Config{Find: t.findAgent, Known: t.knowsAgent, Contract: t.knowsContract, Prepare: t.prepare, Isolate: t.isolate})
	t.pieces, err = registry(t.Project, t.runner, t.redact, t.backends, memory, agents, t.artifactPieces(), t.cfg.Pieces)
	if err == nil {
		t.engine, err = t.newEngine()
	}
	if err != nil {
		return errors.Join(err, t.made.Close())
	}
	return nil
}

func (t *Tenon) openStore(ctx context.Context) error {
	if t.cfg.Memory {
		m := memory.New()
		t.Store, t.close = m, func() error { return nil }
		return nil
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: t.Project.Home, Log: t.cfg.Log})
	if err != nil {
		return fmt.Errorf("opening the state of project %s: %w", t.Project.Name, err)
	}
	t.Store, t.close = s, s.Close
	return nil
}

func (t *Tenon) newEngine() (*engine.Engine, error) {
	return engine.New(engine.Config{
		Store: t.Store, Pieces: t.pieces,
		Programs: map[string]workflow.Factory{
			workflow.KindGraph: graph.New(graph.Config{
				Pieces: t.pieces, Backend: t.backends.capabilities, Providers: t.backends.names(),
			}),
			workflow.KindScript: t.factory,
		},
		Executor: func(name string) (executor.Executor, error) { return router{t: t, provider: name}, nil },
		Candidate: func(ctx context.Context, f piece.Frame) (string, error) {
			return t.candidate(ctx, f.Repositories, f.Launch.Change)
		},
		Desk:   t.desk,
		Child:  t.child,
		Sweep:  t.sweep,
		Redact: t.redact, Observe: t.cfg.Observe, Calls: t.Project.Config.Limits.Concurrency,
		Log: t.cfg.Log, Binary: t.cfg.Version, Probe: t.cfg.Probe, WaitFor: t.cfg.WaitFor,
	})
}

// Close waits for runs that are being driven and closes the store. Cancel their
// contexts first.
func (t *Tenon) Close() error {
	return errors.Join(t.engine.Close(), t.made.Close(), t.scripts.close(), t.close())
}

// Resume goes on with a run until it ends or rests, and returns it as it then
// stands. by names the person or program that asked.
func (t *Tenon) Resume(ctx context.Context, run workflow.RunID, by string) (history.Result, error) {
	res, err := t.engine.Drive(ctx, run, by)
	return t.told(ctx, res, err)
}

// Send records a person's word about a run: an answer, a recovery, steering, a
// cancellation. It is durable when Send returns; the process that drives the
// run takes it up, or the next Resume.
func (t *Tenon) Send(ctx context.Context, run workflow.RunID, c engine.Control) error {
	return t.engine.Send(ctx, run, c)
}

// Fork makes a run that shares the history of another up to a point.
func (t *Tenon) Fork(ctx context.Context, q engine.ForkRequest) (workflow.RunID, error) {
	fork, err := t.engine.Fork(ctx, q)
	if err == nil {
		err = t.made.Forked(ctx, fork)
	}
	return fork, err
}

// Inspect returns a run as it stands.
func (t *Tenon) Inspect(ctx context.Context, run workflow.RunID) (history.Result, error) {
	res, err := t.engine.Inspect(ctx, run)
	return t.told(ctx, res, err)
}
