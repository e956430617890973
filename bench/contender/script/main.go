// Command script runs a workflow script whose agents a provider answers at once.
// BENCH_SCRIPT says how it starts them: "sequential", "parallel", "pipeline" or
// "held", which keeps every result to its end. Grow is the size of an answer.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"

	"github.com/tenonrun/tenon/bench/contender"
)

// bodies are the scripts; N is the number of their agents.
var bodies = map[string]string{
	"sequential": `for (let i = 0; i < N; i++) await agent("Do " + i)`,
	"parallel":   `await parallel(Array.from({length: N}, (_, i) => () => agent("Do " + i)))`,
	"pipeline":   `await pipeline(Array.from({length: N / 2}, (_, i) => i), i => agent("Do " + i), (v, i) => agent("Check " + i))`,
	"held": `const out = []
for (let k = 0; k < N / 1000; k++) out.push(...await parallel(Array.from({length: 1000}, (_, i) => () => agent("Do " + k + "." + i))))
return out.reduce((n, s) => n + s.length, 0)`,
}

type bench struct {
	contender.Contender // what a script cannot do
	t                   *tenon.Tenon
}

// prompt is a provider that answers at once.
type prompt struct {
	step   func()
	answer string
}

// Name implements provider.Provider.
func (prompt) Name() string { return "bench" }

// Stream implements provider.Provider.
func (p prompt) Stream(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error) {
	p.step()
	return provider.Response{Parts: []provider.Part{{Kind: provider.PartText, Text: p.answer}}, Stop: provider.StopEnd, Model: "bench"}, nil
}

func main() { contender.Main(open) }

func open(t contender.Task, step func()) (contender.Contender, error) {
	dir := filepath.Join(t.Dir, "project")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	tn, err := tenon.Open(context.Background(), tenon.Config{
		Dir: dir, State: filepath.Join(t.Dir, "state"),
		Providers: map[string]provider.Provider{"bench": prompt{step, strings.Repeat("x", max(2, t.Grow))}}, Models: map[string]string{"bench": "bench"},
	})
	return &bench{t: tn}, err
}

// Chain runs the script with n agents.
func (b *bench) Chain(name string, n, _ int) error {
	body := strings.ReplaceAll(bodies[os.Getenv("BENCH_SCRIPT")], "N", fmt.Sprint(n))
	w, err := b.t.LoadDocument("bench.js", []byte("export const meta = {name: 'bench', description: 'agents that are answered at once'}\n"+body))
	if err != nil {
		return err
	}
	q := tenon.Request{Workflow: w, ID: workflow.RunID(name), By: "bench", Models: []string{"bench"}}
	q.Script.MaxAgents, q.Script.Concurrency = n, 16
	res, err := b.t.Run(context.Background(), q)
	if err == nil && res.Status != workflow.StatusSucceeded {
		err = fmt.Errorf("run %s is %s: %v", res.Run, res.Status, res.Failures)
	}
	return err
}

// Resume reads the run back: the script is replayed from its history.
func (b *bench) Resume(name string) error {
	_, err := b.t.Inspect(context.Background(), workflow.RunID(name))
	return err
}

// Close implements contender.Contender.
func (b *bench) Close() error { return b.t.Close() }
