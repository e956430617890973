//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/graph"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/store/memory"
	"github.com/tenonrun/tenon/workflow"
)

// chainSteps are the visits of one run of the benchmark.
const chainSteps = 1000

// BenchmarkChain measures what a visit of a sequential run costs beside its
// store and its work: time of the processor, and allocations.
func BenchmarkChain(b *testing.B) {
	idle := piece.Piece{
		Kind:   "idle",
		Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
		Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
			return piece.Traits{Outcomes: []string{"again", "next"}, Effect: workflow.EffectRead}, nil
		},
		Run: func(_ context.Context, c piece.Context) (workflow.Settled, error) {
			if c.Frame().Number < chainSteps {
				return workflow.Settled{Outcome: "again"}, nil
			}
			return workflow.Settled{Outcome: "next"}, nil
		},
	}
	pieces, err := piece.NewRegistry(append(control.Pieces(), idle)...)
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.New(engine.Config{
		Store: memory.New(), Pieces: pieces,
		Programs: map[string]workflow.Factory{workflow.KindGraph: graph.New(graph.Config{Pieces: pieces})},
	})
	if err != nil {
		b.Fatal(err)
	}
	l := launch(b, def2("work", `"work":{"kind":"idle","params":{"steps":1000},"ends":{"again":"work","next":"done"}},`+ends))
	l.Started.Options.Transitions = 2 * chainSteps
	b.ReportAllocs()
	begun := processor(b)
	n := 0
	for b.Loop() {
		n++
		l.ID = workflow.RunID(fmt.Sprint("r", n))
		res, err := e.Start(b.Context(), l)
		if err != nil || res.Status != workflow.StatusSucceeded {
			b.Fatalf("%s, %v", res.Status, err)
		}
	}
	b.ReportMetric(float64((processor(b)-begun).Nanoseconds())/float64(n)/chainSteps, "cpu-ns/step")
}

// processor returns what this process used of the processor.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}
