package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/workflow"
)

// parseRaise reads caps such as tokens=3000,cost=2.5,duration=1h.
func parseRaise(s string) (workflow.LimitRaised, error) {
	var out workflow.LimitRaised
	if s == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if err := raiseOne(&out, key, value); err != nil {
			return out, usage(fmt.Errorf("limit %q: %w", part, err))
		}
	}
	return out, nil
}

func raiseOne(out *workflow.LimitRaised, key, value string) error {
	var positive bool
	var err error
	switch key {
	case "tokens":
		out.Tokens, err = strconv.ParseInt(value, 10, 64)
		positive = out.Tokens > 0
	case "cost":
		out.CostUSD, err = strconv.ParseFloat(value, 64)
		positive = out.CostUSD > 0
	case "duration":
		var d time.Duration
		d, err = time.ParseDuration(value)
		out.DurationMs = d.Milliseconds()
		positive = out.DurationMs > 0
	case "transitions", "visits":
		out.Transitions, err = strconv.Atoi(value)
		positive = out.Transitions > 0
	default:
		return errors.New("there are tokens=N, cost=USD, duration=D and transitions=N")
	}
	if err != nil || !positive {
		return fmt.Errorf("%s needs a positive value, such as tokens=3000, cost=2.5, duration=1h or transitions=500", key)
	}
	return nil
}

func (a *app) resumeCmd() *cobra.Command {
	var d drive
	var last bool
	var raise, invalidate string
	var accept bool
	var ch change
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a run: nothing that was settled is done again",
		Args:  cobra.MaximumNArgs(1),
	}
	d.flags(c)
	lastFlag(c, &last)
	c.Flags().StringVar(&raise, "raise", "", "new caps: tokens=N,cost=USD,duration=D,transitions=N")
	c.Flags().BoolVar(&accept, "accept-changes", false, "the workflow's file was edited: go on with it as it is now, in a new run that keeps the results that still hold")
	ch.flags(c, "--accept-changes")
	c.Flags().StringVar(&invalidate, "invalidate", "", "go on in a fork from before the last visit of this node")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !accept && ch.RerunWrites || !accept && ch.Reuse != "" {
			return usage(errors.New("--reuse and --rerun-writes go with --accept-changes"))
		}
		caps, err := parseRaise(raise)
		if err != nil {
			return err
		}
		return a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			ctx := cmd.Context()
			id, err := a.find(ctx, t, args, last)
			if err != nil {
				return history.Result{}, err
			}
			if accept {
				if id, err = a.accept(ctx, t, id, ch.Change); err != nil {
					return history.Result{}, err
				}
			}
			if invalidate != "" {
				if id, err = t.Fork(ctx, engine.ForkRequest{Run: id, Node: invalidate}); err != nil {
					return history.Result{}, err
				}
			}
			if caps != (workflow.LimitRaised{}) {
				if err := t.Send(ctx, id, engine.Control{By: a.who(), Raise: &caps}); err != nil {
					return history.Result{}, err
				}
			}
			w.resume(ctx, id)
			res, err := t.Resume(ctx, id, a.who())
			if err == nil && !accept {
				a.changed(ctx, t, res)
			}
			return res, err
		})
	}
	return c
}

// changed tells that a run went on with the workflow it started with although
// the file says something else by now.
func (a *app) changed(ctx context.Context, t *tenon.Tenon, res history.Result) {
	if res.Status.Terminal() {
		return
	}
	if wf, changed, err := t.Edited(ctx, res.Run); err == nil && changed {
		fmt.Fprintf(a.std.Err, "note: %s was edited since; the run goes on with what it started with, or with the new one: %s resume %s --accept-changes\n",
			wf.File, a.self()+a.flagsOf(), res.Run)
	}
}

// change are the flags that say how a run goes on with an edited workflow.
type change struct{ tenon.Change }

func (ch *change) flags(c *cobra.Command, with string) {
	c.Flags().StringVar(&ch.Reuse, "reuse", "", "with "+with+", of a script: prefix keeps the calls before the first that has changed, failed or not ended, unchanged every one that has not (default prefix)")
	c.Flags().BoolVar(&ch.RerunWrites, "rerun-writes", false, "with "+with+": writes that happened may happen again")
}

// accept shows what an edited workflow makes of a run, and makes the run that
// goes on with it.
func (a *app) accept(ctx context.Context, t *tenon.Tenon, id workflow.RunID, ch tenon.Change) (workflow.RunID, error) {
	wf, changed, err := t.Edited(ctx, id)
	if err != nil {
		return "", err
	}
	if !changed {
		fmt.Fprintln(a.std.Err, "the workflow has not changed")
		if res, err := t.Inspect(ctx, id); wf.Script == nil || err != nil || !res.Status.Terminal() || res.Exit == 0 {
			return id, err
		} // a script that is over: what failed or had not ended is made again
	}
	ch.Workflow, ch.By = wf, a.who()
	ed, err := t.Compare(ctx, id, ch)
	if err != nil {
		return "", err
	}
	fmt.Fprint(a.std.Err, plain.Edit(ed))
	next, err := t.Continue(ctx, id, ch)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(a.std.Err, "run %s goes on from run %s with %s\n", next, id, wf.File)
	return next, a.supersede(ctx, t, id, next)
}

// supersede ends a run whose work another one goes on with: its questions must
// not be answered twice.
func (a *app) supersede(ctx context.Context, t *tenon.Tenon, id, next workflow.RunID) error {
	err := t.Send(ctx, id, engine.Control{By: a.who(), Cancel: &workflow.CancelRequested{Reason: "superseded by run " + string(next)}})
	if workflow.CodeOf(err) == workflow.CodeRunTerminal {
		return nil
	}
	if err == nil {
		_, err = t.Resume(ctx, id, a.who())
	}
	return err
}
