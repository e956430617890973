package script

import (
	"encoding/json"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/tenonrun/tenon/script/vm"
	"github.com/tenonrun/tenon/workflow"
)

// Level is the semantics that runs of scripts begin with. A released level never
// changes: names of calls, digests and the order of delivery are on disk.
const Level = 1

// Kinds of visits that a script starts.
const (
	kindAgent    = "agent"
	kindQuestion = "question"
	kindShell    = "shell"
	kindVerify   = "verify"
	kindArtifact = "artifact"
)

// Traits are what a call is, for those who admit it.
type Traits struct {
	Effect    workflow.Effect
	AI        bool
	Provider  string // of the AI, when it is known
	Uncertain bool   // a lost attempt may have written, and nothing tells
	Steerable bool
}

// Config is what scripts are run with.
type Config struct {
	// Traits tells what a call is; it must be the same in every replay. An error
	// is thrown in the script. Nil takes agents as readers that run side by side,
	// commands as writers, and the rest as readers.
	Traits func(kind string, params json.RawMessage, options workflow.Options) (Traits, error)
	Memory int64         // bytes of a script; 0 is 256 MiB
	Time   time.Duration // of a script between two calls; 0 is 30 s
}

// Factory makes Programs of scripts. It keeps parsed scripts, so that many runs
// of one script share them.
type Factory struct {
	cfg     Config
	mu      sync.Mutex
	scripts map[workflow.Digest]*parsed
	working map[*vm.Machine]workflow.RunID
}

// maxParsed is how many scripts are kept.
const maxParsed = 64

// parsed is a script or why it is none.
type parsed struct {
	script *vm.Script
	meta   Meta
	err    error
}

// New returns a Factory.
func New(cfg Config) *Factory {
	if cfg.Traits == nil {
		cfg.Traits = plainTraits
	}
	return &Factory{cfg: cfg, scripts: map[workflow.Digest]*parsed{}, working: map[*vm.Machine]workflow.RunID{}}
}

func plainTraits(kind string, params json.RawMessage, _ workflow.Options) (Traits, error) {
	switch kind {
	case kindAgent:
		return Traits{Effect: workflow.EffectRead, AI: true, Steerable: true}, nil
	case kindShell:
		var s struct{ Effect workflow.Effect }
		if err := json.Unmarshal(params, &s); err != nil || s.Effect == workflow.EffectRead {
			return Traits{Effect: workflow.EffectRead}, err
		}
		return Traits{Effect: workflow.EffectWrite, Uncertain: true}, nil
	}
	return Traits{Effect: workflow.EffectRead}, nil
}

// New returns the Program of a run of a script.
func (f *Factory) New(run workflow.RunID, start workflow.RunStarted, values workflow.Values) (workflow.Program, error) {
	s := f.parse(fileOf(start.Workflow), start.Workflow.Digest, values)
	if s.err != nil {
		return nil, fmt.Errorf("reading workflow %s: %w", start.Workflow.Name, s.err)
	}
	p := &program{
		factory: f, run: run, start: start, values: values, script: s.script, meta: s.meta,
		calls: map[workflow.VisitID]*call{}, occurrences: map[string]int{}, schemas: map[string]error{},
		limits: limitsOf(start.Options.Script),
	}
	if max := start.Options.Budget.MaxTokens; max > 0 {
		p.budget = max
	}
	if r := start.Options.Script.Reuse; r != nil {
		var err error
		if p.reuse, err = newReuse(r, values); err != nil {
			return nil, fmt.Errorf("reading what run %s settled: %w", r.From, err)
		}
	}
	return p, nil
}

func fileOf(r workflow.Ref) string {
	if r.File != "" {
		return path.Base(r.File)
	}
	return r.Name + ".js"
}

func limitsOf(o workflow.ScriptOptions) workflow.ScriptOptions {
	bound := func(n, normal, highest int) int {
		if n <= 0 {
			return normal
		}
		return min(n, highest)
	}
	o.MaxAgents = bound(o.MaxAgents, workflow.DefaultMaxAgents, workflow.HighestMaxAgents)
	o.Concurrency = bound(o.Concurrency, workflow.DefaultScriptAgents, workflow.HighestScriptAgents)
	o.WarnAgents = bound(o.WarnAgents, workflow.DefaultWarnAgents, workflow.HighestMaxAgents)
	return o
}

// parse reads a script once.
func (f *Factory) parse(file string, digest workflow.Digest, values workflow.Values) *parsed {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.scripts[digest]; s != nil {
		return s
	}
	text, err := values.Load(digest)
	if err != nil {
		return &parsed{err: err}
	}
	s := &parsed{}
	if s.script, s.err = vm.Parse(file, text); s.err != nil {
		s.err = refused(s.err)
	} else {
		s.meta, s.err = readMeta(file, s.script.Meta)
	}
	if len(f.scripts) >= maxParsed {
		clear(f.scripts)
	}
	f.scripts[digest] = s
	return s
}
