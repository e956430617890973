package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func lastFlag(c *cobra.Command, last *bool) {
	c.Flags().BoolVar(last, "last", false, "the run of this project that was started last")
}

// find returns the run that arguments name: an id, a unique prefix, or --last.
func (a *app) find(ctx context.Context, t *tenon.Tenon, args []string, last bool) (workflow.RunID, error) {
	switch {
	case last && len(args) > 0:
		return "", usage(fmt.Errorf("give a run or --last, not both"))
	case last:
		heads, err := t.Store.Runs(ctx, store.Query{Roots: true, Limit: 1})
		if err != nil {
			return "", err
		}
		if len(heads) == 0 {
			return "", workflow.Errorf(workflow.CodeRunNotFound, "project %s has no runs yet", t.Project.Name).WithHint("start one with: tenon run NAME")
		}
		return heads[0].Run, nil
	case len(args) == 0 || args[0] == "": // an empty name is a shell variable that is not set
		return "", usage(fmt.Errorf("name a run, or use --last"))
	}
	heads, err := t.Store.Runs(ctx, store.Query{Prefix: args[0], Limit: 20})
	if err != nil {
		return "", err
	}
	var ids []string
	for _, h := range heads {
		if string(h.Run) == args[0] {
			return h.Run, nil
		}
		ids = append(ids, string(h.Run))
	}
	switch len(ids) {
	case 1:
		return heads[0].Run, nil
	case 0:
		return "", workflow.Errorf(workflow.CodeRunNotFound, "project %s has no run %q", t.Project.Name, args[0]).WithHint("list runs with: tenon ls")
	}
	return "", workflow.Errorf(workflow.CodeRunAmbiguous, "%q is the beginning of several runs: %s", args[0], strings.Join(ids, ", ")).WithHint("type more of the id")
}

// asking returns the run with an open question, or "".
func asking(ctx context.Context, t *tenon.Tenon, question string) (workflow.RunID, error) {
	if question == "" {
		return "", nil
	}
	heads, err := t.Store.Runs(ctx, store.Query{Question: question, Limit: 1})
	if err != nil || len(heads) == 0 {
		return "", err
	}
	return heads[0].Run, nil
}

// question finds an open question by its id, or the only open one of a run.
func (a *app) question(ctx context.Context, t *tenon.Tenon, name string, last bool) (workflow.Question, workflow.RunID, error) {
	run, err := asking(ctx, t, name)
	if err != nil {
		return workflow.Question{}, "", err
	}
	if run == "" {
		run, err = a.find(ctx, t, argsOf(name), last)
	}
	if err != nil {
		if !last && workflow.CodeOf(err) == workflow.CodeRunNotFound {
			err = workflow.Errorf(workflow.CodeQuestionNotFound, "there is no open question and no run %q; a question that has its answer is closed", name).
				WithHint("list runs with: tenon ls")
		}
		return workflow.Question{}, "", err
	}
	res, err := t.Inspect(ctx, run)
	if err != nil {
		return workflow.Question{}, "", err
	}
	for _, q := range res.Questions {
		if q.ID == name {
			return q, root(ctx, t, q.Run), nil
		}
	}
	switch len(res.Questions) {
	case 1:
		return res.Questions[0], root(ctx, t, run), nil
	case 0:
		return workflow.Question{}, "", workflow.Errorf(workflow.CodeQuestionNotFound, "run %s has no open question: it is %s", run, res.Status).
			WithHint("see it with: tenon show %s", run)
	}
	var list strings.Builder
	for _, q := range res.Questions {
		fmt.Fprintf(&list, "\n  %s at %s: %s", q.ID, q.Node, q.Text)
	}
	return workflow.Question{}, "", workflow.Errorf(workflow.CodeQuestionAmbiguous, "run %s has %d open questions, name one:%s", run, len(res.Questions), list.String())
}

func argsOf(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// root returns the run at the top of the tree: the one that is driven; when that
// is over, the run itself.
func root(ctx context.Context, t *tenon.Tenon, id workflow.RunID) workflow.RunID {
	heads, err := t.Store.Runs(ctx, store.Query{Run: id, Limit: 1})
	if err != nil || len(heads) == 0 || heads[0].Root == "" {
		return id
	}
	if top, err := t.Store.Runs(ctx, store.Query{Run: heads[0].Root, Limit: 1}); err == nil && len(top) > 0 && top[0].Status.Terminal() {
		return id
	}
	return heads[0].Root
}
