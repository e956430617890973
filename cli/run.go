package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/workflow"
)

// drive are the flags of commands that stay with a run.
type drive struct {
	hold      time.Duration
	waitQuota bool
}

func (d *drive) flags(c *cobra.Command) {
	c.Flags().DurationVar(&d.hold, "hold", 10*time.Minute, "stay in the foreground for timers that are due within")
	c.Flags().BoolVar(&d.waitQuota, "wait-quota", false, "stay until an exhausted quota is reset")
}

func (d *drive) waits() engine.Waits {
	w := engine.Waits{Hold: d.hold, Quota: d.waitQuota}
	if d.hold == 0 {
		w.Hold = -1
	}
	return w
}

// driving opens the project with progress and drives a run in it.
func (a *app) driving(ctx context.Context, d drive, do func(*tenon.Tenon, *watcher) (history.Result, error), tune ...func(*tenon.Config)) error {
	w := a.watch()
	defer w.stop()
	tune = append(tune, func(c *tenon.Config) { c.Observe, c.WaitFor = w.see, d.waits() })
	return a.with(ctx, func(t *tenon.Tenon) error {
		w.t = t
		res, err := do(t, w)
		w.stop()
		a.begun = a.begun || w.begun
		if err != nil {
			return err
		}
		return a.show(res)
	}, tune...)
}

func (a *app) runCmd() *cobra.Command {
	var d drive
	var in inputs
	var change, tickets, raise string
	var specs, verify []string
	c := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Start a workflow and stay with it until it ends or waits",
		Example: `  tenon run fix -i issue=123
  tenon run ./release.yaml --inputs inputs.json --jsonl
  tenon run freestyle.json --verify 'go test ./...'`,
		Args: cobra.ExactArgs(1),
	}
	d.flags(c)
	in.flags(c)
	c.Flags().StringVar(&change, "change", "", "name of the change (schemaVersion 1)")
	c.Flags().StringVar(&tickets, "tickets", "", "file with a list of {id, title, body?, criteria?} (schemaVersion 1)")
	c.Flags().StringArrayVar(&specs, "spec", nil, "specification file or directory, repeatable (schemaVersion 1)")
	c.Flags().StringArrayVar(&verify, "verify", nil, "command that verifies the work, in place of the configured plan; repeatable")
	c.Flags().StringVar(&raise, "budget", "", "caps of this run: tokens=N,cost=USD,duration=D")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		budget, err := parseRaise(raise)
		if err != nil {
			return err
		}
		return a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			wf, err := t.Load(args[0])
			if err != nil {
				return history.Result{}, err
			}
			a.warnings(wf)
			q := tenon.Request{Workflow: wf, By: a.who(), Change: first(change, t.Project.Config.Launch.Change),
				Budget: workflow.Budget{MaxTokens: budget.Tokens, MaxCostUSD: budget.CostUSD, MaxDurationMs: budget.DurationMs}}
			if q.Inputs, err = in.read(a, wf); err != nil {
				return history.Result{}, err
			}
			if err := launchData(&q, first(tickets, t.Project.Config.Launch.Tickets), append(specs, t.Project.Config.Launch.Spec...)); err != nil {
				return history.Result{}, err
			}
			w.begin(wf)
			return t.Run(cmd.Context(), q)
		}, func(c *tenon.Config) { c.Checks = checks(verify) })
	}
	return c
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (a *app) warnings(wf *tenon.Workflow) {
	for _, w := range wf.Warnings {
		fmt.Fprintln(a.std.Err, "warning:", w.String())
	}
}

// checks makes a plan of --verify, for the first repository. Lines are run by
// bash with pipefail where there is one: a failure before a pipe counts.
func checks(lines []string) []workflow.Check {
	shell, flags := "/bin/sh", []string{"-c", "--"}
	if bash, err := exec.LookPath("bash"); err == nil {
		shell, flags = bash, []string{"-o", "pipefail", "-c", "--"}
	}
	var out []workflow.Check
	for i, l := range lines {
		out = append(out, workflow.Check{
			Key: "verify-" + strconv.Itoa(i+1), Label: l, Command: shell, Args: append(slices.Clone(flags), l),
		})
	}
	return out
}

// inputs are the flags that give launch inputs.
type inputs struct {
	pairs []string
	file  string
}

func (in *inputs) flags(c *cobra.Command) {
	c.Flags().StringArrayVarP(&in.pairs, "input", "i", nil, "input NAME=VALUE, repeatable; VALUE is JSON if it fits the input's schema, else text")
	c.Flags().StringVar(&in.file, "inputs", "", "file with an object of inputs, - for standard input")
}

func (in *inputs) read(a *app, wf *tenon.Workflow) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if in.file != "" {
		raw, name, err := a.slurp(in.file)
		if err != nil {
			return nil, err
		}
		doc, err := source.Parse(name, raw, source.Limits{})
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(doc.JSON(), &out); err != nil {
			return nil, usage(fmt.Errorf("--inputs %s: it must hold an object of inputs: %w", in.file, err))
		}
	}
	for _, p := range in.pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, usage(fmt.Errorf("-i %s: it needs the form NAME=VALUE", p))
		}
		raw, err := coerce(wf, name, value)
		if err != nil {
			return nil, usage(fmt.Errorf("-i %s: %w", name, err))
		}
		out[name] = raw
	}
	return out, nil
}

// coerce reads the text of one input under its schema.
func coerce(wf *tenon.Workflow, name, value string) (json.RawMessage, error) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(wf.Definition.Inputs, &s); err != nil || s.Properties[name] == nil {
		return json.Marshal(value) // the launch says which names there are
	}
	compiled, err := schema.Compile(s.Properties[name])
	if err != nil {
		return nil, err
	}
	return schema.Coerce(compiled, value)
}

func (a *app) slurp(file string) (raw []byte, name string, err error) {
	if file == "-" {
		raw, err = io.ReadAll(a.std.In)
		return raw, "standard input", err
	}
	raw, err = os.ReadFile(file)
	if err != nil {
		return nil, file, usage(fmt.Errorf("reading %s: %w", file, err))
	}
	return raw, file, nil
}

// launchData reads what format 1 is started with.
func launchData(q *tenon.Request, tickets string, specs []string) error {
	if tickets != "" {
		raw, err := os.ReadFile(tickets)
		if err != nil {
			return usage(fmt.Errorf("reading tickets: %w", err))
		}
		doc, err := source.Parse(tickets, raw, source.Limits{})
		if err != nil {
			return err
		}
		q.Tickets = doc.JSON()
		if err := checkTickets(q.Tickets); err != nil {
			return usage(fmt.Errorf("tickets of %s: %w", tickets, err))
		}
	}
	type spec struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	var all []spec
	for _, s := range specs {
		err := filepath.WalkDir(s, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			all = append(all, spec{filepath.ToSlash(path), string(raw)})
			return err
		})
		if err != nil {
			return usage(fmt.Errorf("reading specification %s: %w", s, err))
		}
	}
	if all == nil {
		return nil
	}
	raw, err := json.Marshal(all)
	q.Specs = raw
	return err
}

func checkTickets(raw []byte) error {
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return errors.New("it must hold a list of {id, title}")
	}
	for i, t := range list {
		if t.ID == "" || t.Title == "" {
			return fmt.Errorf("ticket %d needs an id and a title", i+1)
		}
	}
	return nil
}

// parseRaise reads caps such as tokens=3000,cost=2.5,duration=1h.
func parseRaise(s string) (workflow.LimitRaised, error) {
	var out workflow.LimitRaised
	if s == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch key {
		case "tokens":
			out.Tokens, err = strconv.ParseInt(value, 10, 64)
		case "cost":
			out.CostUSD, err = strconv.ParseFloat(value, 64)
		case "duration":
			var d time.Duration
			d, err = time.ParseDuration(value)
			out.DurationMs = d.Milliseconds()
		case "transitions", "visits":
			out.Transitions, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("there are tokens, cost, duration and transitions")
		}
		if err != nil {
			return out, usage(fmt.Errorf("limit %q: %w", part, err))
		}
	}
	return out, nil
}

func (a *app) resumeCmd() *cobra.Command {
	var d drive
	var last bool
	var raise, invalidate string
	var accept, rerunWrites bool
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a run: nothing that was settled is done again",
		Args:  cobra.MaximumNArgs(1),
	}
	d.flags(c)
	lastFlag(c, &last)
	c.Flags().StringVar(&raise, "raise", "", "new caps: tokens=N,cost=USD,duration=D,transitions=N")
	c.Flags().BoolVar(&accept, "accept-changes", false, "the workflow's file was edited: go on with it as it is now, in a new run that keeps the results that still hold")
	c.Flags().BoolVar(&rerunWrites, "rerun-writes", false, "with --accept-changes: writes that happened may happen again")
	c.Flags().StringVar(&invalidate, "invalidate", "", "go on in a fork from before the last visit of this node")
	c.RunE = func(cmd *cobra.Command, args []string) error {
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
				if id, err = a.accept(ctx, t, id, rerunWrites); err != nil {
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
	old, err := t.Pinned(ctx, res.Run)
	if err != nil {
		return
	}
	if wf, err := t.Load(old.Path); err == nil && wf.Digest != old.Digest {
		fmt.Fprintf(a.std.Err, "note: %s was edited since; the run goes on with what it started with, or with the new one: %s resume %s --accept-changes\n",
			old.File, a.self()+a.flagsOf(), res.Run)
	}
}

// accept shows what an edited workflow makes of a run, and makes the run that
// goes on with it.
func (a *app) accept(ctx context.Context, t *tenon.Tenon, id workflow.RunID, rerunWrites bool) (workflow.RunID, error) {
	old, err := t.Pinned(ctx, id)
	if err != nil {
		return "", err
	}
	wf, err := t.Load(old.Path)
	if err != nil {
		return "", err
	}
	if wf.Digest == old.Digest {
		fmt.Fprintln(a.std.Err, "the workflow has not changed")
		return id, nil
	}
	ed, err := t.Compare(ctx, id, wf)
	if err != nil {
		return "", err
	}
	edited(a.std.Err, ed)
	next, err := t.Continue(ctx, id, wf, rerunWrites, a.who())
	if err != nil {
		return "", err
	}
	fmt.Fprintf(a.std.Err, "run %s goes on from run %s, which ends here\n", next, id)
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

// edited tells what is replayed and what runs live.
func edited(w io.Writer, ed engine.Edit) {
	for _, v := range ed.Reused {
		fmt.Fprintf(w, "  kept  %s\n", v)
	}
	for _, v := range ed.Live {
		fmt.Fprintf(w, "  live  %s\n", v)
	}
	for _, v := range ed.Writes {
		fmt.Fprintf(w, "  again %s: a write that has happened\n", v)
	}
}

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
	f.StringVar(&q.Patch.Scope, "scope", "", "scope to patch, as in visit ids; default the forked one's")
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
			fmt.Fprintf(a.std.Err, "fork %s of %s\n", fork, q.Run)
			if noRun {
				return t.Inspect(ctx, fork)
			}
			w.resume(ctx, fork)
			return t.Resume(ctx, fork, a.who())
		})
	}
	return c
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
