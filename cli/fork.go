package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/workflow"
)

func (a *app) forkCmd() *cobra.Command {
	var d drive
	var last, noRun bool
	var q engine.ForkRequest
	var vars, answers []string
	var id, patch string
	c := &cobra.Command{
		Use:   "fork [RUN] --from NODE|VISIT|QUESTION",
		Short: "Make a run that shares another's history up to a point, and go on with it",
		Long: `The fork begins before the visit that --from names: a node (its last visit, or
--visit N), a visit id as tenon show lists them, or a question. Nothing is copied
and the parent never changes. Files are not rolled back.`,
		Args: cobra.MaximumNArgs(1),
	}
	d.flags(c)
	lastFlag(c, &last)
	f := c.Flags()
	f.StringVar(&q.Node, "from", "", "node, visit or question to fork before")
	f.BoolVar(&q.Failed, "retry-failed", false, "fork at the end of the last map or parallel and run only its failed branches again")
	f.IntVar(&q.Number, "visit", 0, "which visit of the node, from 1; 0 is the last")
	f.StringVar(&q.Patch.Scope, "scope", "", "scope to patch, as in visit ids, or . for the root; default the forked one's")
	f.StringArrayVar(&vars, "var", nil, "set a variable: NAME=JSON or text, repeatable")
	f.StringArrayVar(&answers, "answer", nil, "give an answer: NODE=JSON or text, repeatable")
	f.StringVar(&patch, "patch", "", "file with {vars, outputs, answers}")
	f.StringVar(&id, "id", "", "id of the fork; the same id and point twice is one fork")
	f.BoolVar(&noRun, "no-run", false, "only make the fork")
	c.MarkFlagsMutuallyExclusive("from", "retry-failed")
	c.MarkFlagsOneRequired("from", "retry-failed")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if q.Patch, err = a.patch(q.Patch, patch, vars, answers); err != nil {
			return err
		}
		return a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			ctx := cmd.Context()
			if q.Run, err = a.find(ctx, t, args, last); err != nil {
				return history.Result{}, err
			}
			q.ID = workflow.RunID(id)
			fork, err := forkAt(ctx, t, q)
			if err != nil {
				return history.Result{}, err
			}
			if noRun {
				fmt.Fprintf(a.std.Err, "fork %s of %s is made; nothing of it runs yet\n", fork, q.Run)
				return a.made(ctx, t, fork)
			}
			fmt.Fprintf(a.std.Err, "fork %s of %s\n", fork, q.Run)
			w.resume(ctx, fork)
			return t.Resume(ctx, fork, a.who())
		})
	}
	return c
}

// made shows a run that was only to be made: that it waits to be driven is what
// was asked for.
func (a *app) made(ctx context.Context, t *tenon.Tenon, run workflow.RunID) (history.Result, error) {
	res, err := t.Inspect(ctx, run)
	if res.Status == workflow.StatusInterrupted {
		res.Exit = 0
	}
	return res, err
}

// forkAt forks before the node, visit or question that q.Node names.
func forkAt(ctx context.Context, t *tenon.Tenon, q engine.ForkRequest) (workflow.RunID, error) {
	fork, err := t.Fork(ctx, q)
	if workflow.CodeOf(err) != workflow.CodeForkNotFound {
		return fork, err
	}
	q.Question, q.Node = q.Node, ""
	if fork, wrong := t.Fork(ctx, q); wrong == nil {
		return fork, nil
	}
	return "", err
}

// patch collects what a fork changes.
func (a *app) patch(p workflow.Patch, file string, vars, answers []string) (workflow.Patch, error) {
	if file != "" {
		raw, name, err := a.slurp(file)
		if err != nil {
			return p, err
		}
		doc, err := source.Parse(name, raw, source.Limits{})
		if err != nil {
			return p, err
		}
		var in struct{ Vars, Outputs, Answers map[string]json.RawMessage }
		if err := json.Unmarshal(doc.JSON(), &in); err != nil {
			return p, usage(fmt.Errorf("--patch %s: %w", file, err))
		}
		p.Vars, p.Outputs, p.Answers = values(in.Vars), values(in.Outputs), values(in.Answers)
	}
	for _, pair := range vars {
		if err := set(&p.Vars, "--var", pair); err != nil {
			return p, err
		}
	}
	for _, pair := range answers {
		if err := set(&p.Answers, "--answer", pair); err != nil {
			return p, err
		}
	}
	return p, nil
}

func values(m map[string]json.RawMessage) map[string]workflow.Value {
	out := make(map[string]workflow.Value, len(m))
	for k, raw := range m {
		out[k] = workflow.Inline(raw)
	}
	return out
}

func set(m *map[string]workflow.Value, flag, pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		return usage(fmt.Errorf("%s %s: it needs the form NAME=VALUE", flag, pair))
	}
	if *m == nil {
		*m = map[string]workflow.Value{}
	}
	(*m)[name] = workflow.Text(value)
	if json.Valid([]byte(value)) {
		(*m)[name] = workflow.Inline(json.RawMessage(value))
	}
	return nil
}
