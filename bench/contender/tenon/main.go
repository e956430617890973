// Command tenon is Tenon as its library opens it: the engine over store/sqlite
// with the settings of the product, and one piece that does nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"

	"github.com/tenonrun/tenon/bench/contender"
)

type bench struct {
	t    *tenon.Tenon
	dir  string
	step func()
	w    *tenon.Workflow

	known sync.Map                // params of nodes by their text
	stop  context.CancelCauseFunc // of a fork, after its first step
}

func main() { contender.Main(open) }

func open(t contender.Task, step func()) (contender.Contender, error) {
	b := &bench{dir: filepath.Join(t.Dir, "project"), step: step}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	b.t, err = tenon.Open(context.Background(), tenon.Config{
		Dir: b.dir, State: filepath.Join(t.Dir, "state"), Pieces: []piece.Piece{b.piece()},
	})
	if err != nil {
		return nil, err
	}
	b.w, err = b.load(t)
	return b, err
}

// params of the piece: it repeats itself until it has made Steps visits.
type params struct {
	Steps int `json:"steps"`
	Grow  int `json:"grow"`
}

func (b *bench) piece() piece.Piece {
	return piece.Piece{
		Kind: "step",
		Schema: func(int) json.RawMessage {
			return json.RawMessage(`{"type":"object","properties":{"steps":{"type":"integer"},"grow":{"type":"integer"}},"additionalProperties":false}`)
		},
		Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
			return piece.Traits{Outcomes: []string{"next", "again"}, Effect: workflow.EffectRead}, nil
		},
		Run: b.run,
	}
}

// params reads the params of a node once: the step is to do nothing.
func (b *bench) params(raw json.RawMessage) (params, error) {
	if p, ok := b.known.Load(string(raw)); ok {
		return p.(params), nil
	}
	var p params
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, err
	}
	b.known.Store(string(raw), p)
	return p, nil
}

func (b *bench) run(_ context.Context, c piece.Context) (workflow.Settled, error) {
	f := c.Frame()
	p, err := b.params(f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	b.step()
	if b.stop != nil {
		b.stop(nil)
	}
	s := workflow.Settled{Outcome: "next"}
	if f.Number < p.Steps {
		s.Outcome = "again"
	}
	if p.Grow > 0 {
		s.Vars = map[string]workflow.Value{fmt.Sprint("v", f.Number): workflow.Text(strings.Repeat("x", p.Grow))}
	}
	return s, nil
}

// load writes the workflow of a task in format 2 and reads it as a user's.
func (b *bench) load(t contender.Task) (*tenon.Workflow, error) {
	entry, nodes := "step", step("step", t.Steps, t.Grow, "step", "done")
	switch t.Do {
	case contender.Chain, contender.Many, contender.Fork:
	case contender.Ask:
		nodes = step("step", t.Steps, 0, "step", "ask") +
			`,"ask":{"kind":"question","params":{"text":"Go on?"},"ends":{"next":"last"}},` + step("last", 1, 0, "last", "done")
	case contender.Fan:
		items, err := json.Marshal(make([]int, t.Steps))
		if err != nil {
			return nil, err
		}
		entry, nodes = "each", fmt.Sprintf(`
			"each":{"kind":"map","params":{"over":{"items":%s},"concurrency":256,"body":{"entry":"do","nodes":{%s}}},"ends":{"next":"join"}},
			"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"last","fail":"done"}},
			%s`, items, step("do", 1, 0, "", ""), step("last", 1, 0, "last", "done"))
	default: // goes on with a run that is there
		return nil, nil
	}
	doc := fmt.Sprintf(`{"schemaVersion":2,"id":"bench","title":"Bench","entry":%q,"maxTransitions":1000000,"nodes":{%s,
		"done":{"kind":"end","params":{"outcome":"success"},"ends":{}}}}`, entry, nodes)
	file := filepath.Join(b.dir, "bench.json")
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		return nil, err
	}
	return b.t.Load(file)
}

// step is a node that comes again until it was visited n times; "" ends the body.
func step(name string, n, grow int, again, next string) string {
	return fmt.Sprintf(`%q:{"kind":"step","params":{"steps":%d,"grow":%d},"ends":{"again":%s,"next":%s}}`,
		name, n, grow, edge(again), edge(next))
}

func edge(to string) string {
	if to == "" {
		return "null"
	}
	return `"` + to + `"`
}

func (b *bench) start(name string, want workflow.Status) error {
	return reached(want)(b.t.Run(context.Background(), tenon.Request{Workflow: b.w, ID: workflow.RunID(name), By: "bench"}))
}

func reached(want workflow.Status) func(history.Result, error) error {
	return func(res history.Result, err error) error {
		if err == nil && res.Status != want {
			err = fmt.Errorf("run %s is %s, not %s: %v", res.Run, res.Status, want, res.Failures)
		}
		return err
	}
}

// Chain implements contender.Contender.
func (b *bench) Chain(name string, _, _ int) error { return b.start(name, workflow.StatusSucceeded) }

// Many implements contender.Contender.
func (b *bench) Many(runs, _ int) error {
	errs := make(chan error, runs)
	for i := range runs {
		go func() { errs <- b.start(fmt.Sprint("many-", i), workflow.StatusSucceeded) }()
	}
	var err error
	for range runs {
		err = errors.Join(err, <-errs)
	}
	return err
}

// Fan implements contender.Contender.
func (b *bench) Fan(int) error { return b.start("fan", workflow.StatusSucceeded) }

// Ask implements contender.Contender.
func (b *bench) Ask(name string, _ int) error { return b.start(name, workflow.StatusWaiting) }

// Answer implements contender.Contender.
func (b *bench) Answer(name string) error {
	ctx, run, text := context.Background(), workflow.RunID(name), "yes"
	heads, err := b.t.Store.Runs(ctx, store.Query{Run: run})
	if err != nil {
		return err
	}
	if len(heads) != 1 || len(heads[0].Questions) != 1 {
		return fmt.Errorf("run %s does not wait for one answer", name)
	}
	err = b.t.Send(ctx, run, engine.Control{By: "bench", Answer: &engine.AnswerControl{Question: heads[0].Questions[0], Text: &text}})
	if err != nil {
		return err
	}
	return b.Resume(name)
}

// Resume implements contender.Contender.
func (b *bench) Resume(name string) error {
	return reached(workflow.StatusSucceeded)(b.t.Resume(context.Background(), workflow.RunID(name), "bench"))
}

// Fork implements contender.Contender.
func (b *bench) Fork(name string, n int) error {
	ctx, stop := context.WithCancelCause(context.Background())
	b.stop = stop
	fork, err := b.t.Fork(ctx, engine.ForkRequest{Run: workflow.RunID(name), Node: "step", Number: n})
	if err != nil {
		return err
	}
	return reached(workflow.StatusInterrupted)(b.t.Resume(ctx, fork, "bench"))
}

// Snapshots implements contender.Snapshotter.
func (b *bench) Snapshots(name string) (bytes int64, err error) {
	for upTo := int64(0); ; {
		s, err := b.t.Store.Snapshot(context.Background(), workflow.RunID(name), upTo)
		if err != nil || s.Seq == 0 {
			return bytes, err
		}
		bytes += int64(len(s.State))
		if upTo = s.Seq - 1; upTo == 0 {
			return bytes, nil
		}
	}
}

// Close implements contender.Contender.
func (b *bench) Close() error { return b.t.Close() }
