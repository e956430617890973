// Command embed shows Tenon inside another program: it adds a piece and a
// provider of its own, runs a workflow that it carries with itself, follows the
// events, answers the question at which the run stops, and goes on.
//
// Holds: all of it, to be copied: main.go drives the run, pieces.go and
// critic.go are what the program adds.
//
// Guarantees: runs anywhere, with nothing installed and no key, and leaves
// nothing behind.
//
// Does not: ask on a terminal; the answer is an argument.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed review.yaml
var review []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	answer := "yes"
	if len(os.Args) > 1 {
		answer = os.Args[1]
	}
	err := run(ctx, os.Stdout, answer)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// run makes a project of one file and has it reviewed.
func run(ctx context.Context, out io.Writer, answer string) (err error) {
	dir, err := os.MkdirTemp("", "embed-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	project, state := filepath.Join(dir, "project"), filepath.Join(dir, "state")
	if err := os.Mkdir(project, 0o700); err != nil {
		return err
	}
	text := "A tenon is the end of a beam, cut to fit a mortise.\n"
	if err := os.WriteFile(filepath.Join(project, "tenon.txt"), []byte(text), 0o600); err != nil {
		return err
	}

	// A program that keeps its runs leaves State out, or names a directory
	// that stays; one that needs no durability sets Memory.
	t, err := tenon.Open(ctx, tenon.Config{
		Dir:       project,
		State:     state,
		Pieces:    []piece.Piece{wordCount()},
		Providers: map[string]provider.Provider{"house-critic": critic{}},
		Observe:   watch(out),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return follow(ctx, out, t, answer)
}

// follow runs the workflow to its question, answers it, and goes on.
func follow(ctx context.Context, out io.Writer, t *tenon.Tenon, answer string) error {
	w, err := t.LoadDocument("review.yaml", review)
	if err != nil {
		return err
	}
	result, err := t.Run(ctx, tenon.Request{
		Workflow: w,
		Inputs:   map[string]json.RawMessage{"file": json.RawMessage(`"tenon.txt"`)},
		By:       "embed",
	})
	if err != nil {
		return err
	}
	// The run waits in the store. Another process could answer, days later.
	for _, q := range result.Questions {
		fmt.Fprintf(out, "? %s -> %s\n", q.Text, answer)
		err := t.Send(ctx, result.Run, engine.Control{
			By:     "ada",
			Answer: &engine.AnswerControl{Question: q.ID, Text: &answer},
		})
		if err != nil {
			return err
		}
	}
	if result.Status == workflow.StatusWaiting {
		if result, err = t.Resume(ctx, result.Run, "embed"); err != nil {
			return err
		}
	}
	return report(out, result)
}

func report(out io.Writer, r history.Result) error {
	fmt.Fprintf(out, "%s after %d visits, %d tokens\n", r.Status, r.Visits, r.Usage.Input+r.Usage.Output)
	for _, reason := range r.Reasons {
		fmt.Fprintln(out, "because", reason)
	}
	var count counted
	if err := json.Unmarshal(r.Outputs["count"], &count); err != nil {
		return fmt.Errorf("reading the output of count: %w", err)
	}
	fmt.Fprintf(out, "tenon.txt has %d words\n", count.Words)
	return nil
}

// watch prints events. They come after they are recorded, from the goroutines
// that drive the run.
func watch(out io.Writer) func(engine.Notice) {
	var mu sync.Mutex
	return func(n engine.Notice) {
		if n.Event == nil {
			return // progress: shown by those who draw, never recorded
		}
		mu.Lock()
		defer mu.Unlock()
		switch p := n.Event.Payload.(type) {
		case *workflow.Settled:
			fmt.Fprintf(out, "%s: settled %s\n", n.Event.Node, p.Outcome)
		case *workflow.InvocationSettled:
			fmt.Fprintf(out, "%s: %s answered\n", n.Event.Node, p.Model)
		case *workflow.QuestionOpened:
			fmt.Fprintf(out, "%s: waits for an answer\n", n.Event.Node)
		case *workflow.QuestionAnswered:
			fmt.Fprintf(out, "%s: answered by %s\n", n.Event.Node, p.Answer.By)
		}
	}
}
