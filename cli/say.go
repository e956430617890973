package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// say records a control and then goes on with the run, when nobody drives it
// and nothing else is open.
func (a *app) say(ctx context.Context, t *tenon.Tenon, w *watcher, at, top workflow.RunID, c engine.Control, noRun bool) (history.Result, error) {
	c.By = a.who()
	if err := t.Send(ctx, at, c); err != nil {
		return history.Result{}, err
	}
	fmt.Fprintf(a.std.Err, "recorded for run %s\n", at)
	res, err := t.Inspect(ctx, top)
	if err != nil || noRun {
		return res, err
	}
	if c.Answer != nil && len(res.Questions) > 1 {
		return t.Resume(ctx, top, a.who()) // takes the answer up, and rests again at the others
	}
	w.resume(ctx, top)
	res, err = t.Resume(ctx, top, a.who())
	var held *store.Held
	if errors.As(err, &held) {
		fmt.Fprintf(a.std.Err, "process %d on %s drives the run and takes it up\n", held.Holder.PID, held.Holder.Host)
		return t.Inspect(ctx, top)
	}
	return res, err
}

func noRunFlag(c *cobra.Command, noRun *bool) {
	c.Flags().BoolVar(noRun, "no-run", false, "only record it; do not go on with the run")
}

func (a *app) answerCmd() *cobra.Command {
	var d drive
	var last, noRun bool
	c := &cobra.Command{
		Use:   "answer QUESTION|RUN VALUE",
		Short: "Answer an open question and go on with its run",
		Long: `VALUE is JSON when it fits the question's schema, else text; - reads it from
standard input. With a run (or --last) in place of a question, exactly one
question must be open.`,
		Example: "  tenon answer q7k2mfw9xab yes\n  echo '{\"port\": 80}' | tenon answer --last -",
		Args:    cobra.RangeArgs(1, 2),
	}
	d.flags(c)
	lastFlag(c, &last)
	noRunFlag(c, &noRun)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		name, value := "", args[len(args)-1]
		if len(args) == 2 {
			name = args[0]
		} else if !last {
			return usage(errors.New("answer needs a question (or --last) and a value"))
		}
		if value == "-" {
			raw, err := io.ReadAll(a.std.In)
			if err != nil {
				return fmt.Errorf("reading the answer: %w", err)
			}
			value = strings.TrimRight(string(raw), "\n")
		}
		if !utf8.ValidString(value) {
			return usage(errors.New("the answer is not UTF-8 text"))
		}
		return a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			q, top, err := a.question(cmd.Context(), t, name, last)
			if err != nil {
				return history.Result{}, err
			}
			return a.say(cmd.Context(), t, w, q.Run, top, engine.Control{Answer: &engine.AnswerControl{Question: q.ID, Text: &value}}, noRun)
		})
	}
	return c
}

// decideCmd is approve or deny.
func (a *app) decideCmd(verb string) *cobra.Command {
	var d drive
	var last, noRun bool
	var reason, value string
	c := &cobra.Command{
		Use:   verb + " QUESTION|RUN",
		Short: strings.ToUpper(verb[:1]) + verb[1:] + " an open approval or gate and go on with its run",
		Args:  cobra.MaximumNArgs(1),
	}
	d.flags(c)
	lastFlag(c, &last)
	noRunFlag(c, &noRun)
	c.Flags().StringVar(&reason, "reason", "", "why, kept with the answer")
	if verb == "approve" {
		c.Flags().StringVar(&value, "value", "", "typed answer, for approvals with a schema")
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			q, top, err := a.question(cmd.Context(), t, strings.Join(args, ""), last)
			if err != nil {
				return history.Result{}, err
			}
			if q.Kind == workflow.AskQuestion {
				return history.Result{}, a.asksMore(q)
			}
			ans := &engine.AnswerControl{Question: q.ID, Denied: verb == "deny", Reason: reason}
			if value != "" {
				ans.Text = &value
			}
			return a.say(cmd.Context(), t, w, q.Run, top, engine.Control{Answer: ans}, noRun)
		})
	}
	return c
}

// asksMore says that a question wants another answer than yes or no.
func (a *app) asksMore(q workflow.Question) error {
	first, _, _ := strings.Cut(q.Text, "\n")
	return workflow.Errorf(workflow.CodeInvalidAnswer, "%s is a question, not an approval: %s", q.ID, strings.TrimRight(first, ".")).
		WithHint("%s", strings.Join(a.reply(q), "   or: "))
}

func (a *app) recoverCmd() *cobra.Command {
	var d drive
	var last, noRun bool
	var rec engine.RecoverControl
	var visit string
	var rerun, isDone, fail bool
	c := &cobra.Command{
		Use:   "recover [RUN] --rerun|--done|--fail",
		Short: "Settle a write that was in flight when the process died",
		Args:  cobra.MaximumNArgs(1),
	}
	d.flags(c)
	lastFlag(c, &last)
	noRunFlag(c, &noRun)
	c.Flags().BoolVar(&rerun, "rerun", false, "it did not happen, or may happen twice: run it again")
	c.Flags().BoolVar(&isDone, "done", false, "it happened: go on")
	c.Flags().BoolVar(&fail, "fail", false, "take it as failed")
	c.Flags().StringVar(&visit, "visit", "", "which one, when there are several: a node or a visit")
	c.Flags().StringVar(&rec.Outcome, "outcome", "", "with --done: the outcome to go on with")
	c.MarkFlagsMutuallyExclusive("rerun", "done", "fail")
	c.MarkFlagsOneRequired("rerun", "done", "fail")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case rerun:
			rec.How = workflow.RecoverRerun
		case isDone:
			rec.How = workflow.RecoverDone
		default:
			rec.How = workflow.RecoverFail
		}
		rec.Visit = workflow.VisitID(visit)
		return a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			id, err := a.find(cmd.Context(), t, args, last)
			if err != nil {
				return history.Result{}, err
			}
			return a.say(cmd.Context(), t, w, id, root(cmd.Context(), t, id), engine.Control{Recover: &rec}, noRun)
		})
	}
	return c
}

func (a *app) steerCmd() *cobra.Command {
	var last bool
	c := &cobra.Command{
		Use:   "steer [RUN] [AGENT] TEXT",
		Short: "Give advice to a run: to an agent at work, or to the next AI attempt",
		Long: `An agent at work hears it before its next model call; otherwise the next AI
attempt gets it. AGENT is the label of an agent that was started by another one,
as "tenon show --agents" lists it.`,
		Args: cobra.RangeArgs(1, 3),
	}
	lastFlag(c, &last)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		n := len(args) - 1
		ctl := engine.Control{Steer: args[n]}
		run := args[:min(n, 1)]
		if last {
			run = nil
		}
		switch named := args[len(run):n]; len(named) {
		case 0:
		case 1:
			ctl.Agent = named[0]
		default:
			return usage(errors.New("steer takes a run (or --last), perhaps an agent, and one text: quote it"))
		}
		return a.tell(cmd.Context(), run, last, ctl, "an agent at work hears it before its next model call, else the next AI attempt")
	}
	return c
}

// tell records a control without going on with the run.
func (a *app) tell(ctx context.Context, args []string, last bool, c engine.Control, done string) error {
	return a.with(ctx, func(t *tenon.Tenon) error {
		id, err := a.find(ctx, t, args, last)
		if err != nil {
			return err
		}
		c.By = a.who()
		if err := t.Send(ctx, id, c); err != nil {
			return err
		}
		fmt.Fprintf(a.std.Err, "recorded for run %s: %s\n", id, done)
		if a.json {
			a.document(map[string]any{"run": id, "recorded": true})
		}
		return nil
	})
}

func (a *app) skipCmd() *cobra.Command {
	var last bool
	var reason string
	c := &cobra.Command{
		Use:   "skip [RUN] AGENT",
		Short: "Stop one agent of a run; the run goes on without it",
		Long: `An agent that another one started is stopped, and the other one is told. AGENT
is its label or key, as "tenon show --agents" lists it, or the node or visit of
an agent, which then fails with the code skipped.`,
		Args: cobra.RangeArgs(1, 2),
	}
	lastFlag(c, &last)
	c.Flags().StringVar(&reason, "reason", "", "why, told to the agent that started it")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		n := len(args) - 1
		if !last && n == 0 {
			return usage(errors.New("skip needs a run (or --last) and an agent"))
		}
		return a.tell(cmd.Context(), args[:n], last, engine.Control{Skip: args[n], Reason: reason}, "the agent is stopped")
	}
	return c
}

func (a *app) signalCmd() *cobra.Command {
	var d drive
	var last, noRun bool
	c := &cobra.Command{
		Use:   "signal [RUN] NAME [VALUE]",
		Short: "Send a named signal to a wait of a run and go on with it",
		Long:  "A signal that comes before its wait is kept. VALUE is JSON if it is valid JSON, else text.",
		Args:  cobra.RangeArgs(1, 3),
	}
	d.flags(c)
	lastFlag(c, &last)
	noRunFlag(c, &noRun)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		run := args[:1]
		rest := args[1:]
		if last {
			run, rest = nil, args
		}
		if len(rest) == 0 || len(rest) > 2 {
			return usage(errors.New("signal needs a run (or --last), a name, and perhaps a value"))
		}
		s := &workflow.Signal{Name: rest[0]}
		if len(rest) == 2 {
			s.Value = workflow.Text(rest[1])
			if json.Valid([]byte(rest[1])) {
				s.Value = workflow.Inline(json.RawMessage(rest[1]))
			}
		}
		return a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			id, err := a.find(cmd.Context(), t, run, last)
			if err != nil {
				return history.Result{}, err
			}
			return a.say(cmd.Context(), t, w, id, root(cmd.Context(), t, id), engine.Control{Signal: s}, noRun)
		})
	}
	return c
}

func (a *app) pauseCmd() *cobra.Command {
	var last bool
	c := &cobra.Command{
		Use:   "pause [RUN]",
		Short: "Start nothing more in a run; what is running ends, resume goes on",
		Args:  cobra.MaximumNArgs(1),
	}
	lastFlag(c, &last)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.tell(cmd.Context(), args, last, engine.Control{Pause: true}, "nothing more is started until it is resumed")
	}
	return c
}

func (a *app) cancelCmd() *cobra.Command {
	var d drive
	var last bool
	var reason string
	c := &cobra.Command{
		Use:   "cancel [RUN]",
		Short: "Stop a run for good; it can be forked",
		Args:  cobra.MaximumNArgs(1),
	}
	d.flags(c)
	lastFlag(c, &last)
	c.Flags().StringVar(&reason, "reason", "", "why, kept in the history")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			id, err := a.find(cmd.Context(), t, args, last)
			if err != nil {
				return history.Result{}, err
			}
			return a.say(cmd.Context(), t, w, id, id, engine.Control{Cancel: &workflow.CancelRequested{Reason: reason}}, false)
		})
	}
	return c
}
