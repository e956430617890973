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
	stop context.CancelCauseFunc // of a fork, after its first step
}

func main() { contender.Main(open) }

func open(dir string, step func()) (contender.Contender, error) {
	b := &bench{dir: filepath.Join(dir, "project"), step: step}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	b.t, err = tenon.Open(context.Background(), tenon.Config{
		Dir: b.dir, State: filepath.Join(dir, "state"), Pieces: []piece.Piece{b.piece()},
	})
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

func (b *bench) run(_ context.Context, c piece.Context) (workflow.Settled, error) {
	f := c.Frame()
	var p params
	if err := json.Unmarshal(f.Params, &p); err != nil {
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

// load writes a workflow of format 2 and reads it as a user's.
func (b *bench) load(name, entry, nodes string) (*tenon.Workflow, error) {
	file := filepath.Join(b.dir, name+".json")
	doc := fmt.Sprintf(`{"schemaVersion":2,"id":%q,"title":%q,"entry":%q,"maxTransitions":1000000,"nodes":{%s,
		"done":{"kind":"end","params":{"outcome":"success"},"ends":{}}}}`, name, name, entry, nodes)
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		return nil, err
	}
	return b.t.Load(file)
}

func step(name, next string, n, grow int) string {
	return fmt.Sprintf(`%q:{"kind":"step","params":{"steps":%d,"grow":%d},"ends":{"again":%q,"next":%q}}`, name, n, grow, name, next)
}

func (b *bench) start(w *tenon.Workflow, name string, want workflow.Status) error {
	return reached(want)(b.t.Run(context.Background(), tenon.Request{Workflow: w, ID: workflow.RunID(name), By: "bench"}))
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
func (b *bench) Chain(name string, n, grow int) error {
	w, err := b.load("chain", "step", step("step", "done", n, grow))
	if err != nil {
		return err
	}
	return b.start(w, name, workflow.StatusSucceeded)
}

// Many implements contender.Contender.
func (b *bench) Many(runs, n int) error {
	w, err := b.load("many", "step", step("step", "done", n, 0))
	if err != nil {
		return err
	}
	errs := make(chan error, runs)
	for i := range runs {
		go func() { errs <- b.start(w, fmt.Sprint("many-", i), workflow.StatusSucceeded) }()
	}
	for range runs {
		err = errors.Join(err, <-errs)
	}
	return err
}

// Fan implements contender.Contender.
func (b *bench) Fan(n int) error {
	items, err := json.Marshal(make([]int, n))
	if err != nil {
		return err
	}
	w, err := b.load("fan", "each", fmt.Sprintf(`
		"each":{"kind":"map","params":{"over":{"items":%s},"concurrency":256,
			"body":{"entry":"do","nodes":{%s,"ok":{"kind":"end","params":{"outcome":"success"},"ends":{}}}}},"ends":{"next":"join"}},
		"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"last","fail":"done"}},
		%s`, items, step("do", "ok", 1, 0), step("last", "done", 1, 0)))
	if err != nil {
		return err
	}
	return b.start(w, "fan", workflow.StatusSucceeded)
}

// Ask implements contender.Contender.
func (b *bench) Ask(name string, n int) error {
	w, err := b.load("ask", "step", step("step", "ask", n, 0)+
		`,"ask":{"kind":"question","params":{"text":"Go on?"},"ends":{"next":"last"}},`+step("last", "done", 1, 0))
	if err != nil {
		return err
	}
	return b.start(w, name, workflow.StatusWaiting)
}

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
