package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
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
	onAsk     string
	onDeny    string
}

// What becomes of a use of a tool that a person would have to allow.
const (
	onAskPark = "park"
	onAskDeny = "deny"
)

// What becomes of a turn whose use of a tool was denied.
const (
	onDenyTell = "tell"
	onDenyFail = "fail"
)

func (d *drive) flags(c *cobra.Command) {
	c.Flags().DurationVar(&d.hold, "hold", 10*time.Minute, "stay in the foreground for timers that are due within")
	c.Flags().StringVar(&d.onAsk, "on-ask", onAskPark, "when the rules want a person asked about a tool: park the run with a question, or deny it")
	c.Flags().StringVar(&d.onDeny, "on-deny", onDenyTell, "when the rules deny a tool: tell the agent, or fail its turn and end the run as denied")
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
	if d.onAsk != onAskPark && d.onAsk != onAskDeny {
		return usage(fmt.Errorf("--on-ask %s: there are %s and %s", d.onAsk, onAskPark, onAskDeny))
	}
	if d.onDeny != onDenyTell && d.onDeny != onDenyFail {
		return usage(fmt.Errorf("--on-deny %s: there are %s and %s", d.onDeny, onDenyTell, onDenyFail))
	}
	w := a.watch()
	defer w.stop()
	tune = append(tune, func(c *tenon.Config) {
		c.Observe, c.WaitFor = w.see, d.waits()
		c.DenyAsked, c.FailDenied = d.onAsk == onAskDeny, d.onDeny == onDenyFail
	})
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

// launch are the flags that a run starts with.
type launch struct {
	drive
	alone
	scriptArgs
	in                                inputs
	change, tickets, budget           string
	specs, verify, models, dimensions []string
	draft, update                     bool
}

func (l *launch) flags(c *cobra.Command) {
	l.drive.flags(c)
	l.in.flags(c)
	l.alone.flags(c)
	l.scriptArgs.flags(c)
	f := c.Flags()
	f.StringVar(&l.change, "change", "", "name of the change (schemaVersion 1)")
	f.StringVar(&l.tickets, "tickets", "", "file with a list of {id, title, body?, criteria?} (schemaVersion 1)")
	f.StringArrayVar(&l.specs, "spec", nil, "specification file or directory, repeatable (schemaVersion 1)")
	f.StringArrayVar(&l.verify, "verify", nil, "command that verifies the work, in place of the configured plan; repeatable")
	f.StringArrayVar(&l.models, "model", nil, "model of this run: NAME for everything, CLASS=NAME for a class of models.yaml, scripted to rehearse for nothing; repeatable")
	f.BoolVar(&l.draft, "draft", false, "drafts of agents and compositions too, and no lock: the run is not reproducible")
	f.BoolVar(&l.update, "update-lock", false, "pin what the workflow names anew in .tenon/tenon.lock")
	f.StringArrayVar(&l.dimensions, "dimension", nil, "further dimension KEY=VALUE of the model matrix; repeatable")
	f.StringVar(&l.budget, "budget", "", "caps of this run: tokens=N,cost=USD,duration=D")
}

func (a *app) runCmd() *cobra.Command {
	l := &launch{}
	c := &cobra.Command{
		Use:   "run NAME|FILE [ARGS]",
		Short: "Start a workflow and stay with it until it ends or waits",
		Long: `A script takes ARGS, as JSON or as plain text; tenon script ls lists scripts.

With --agent, --composition or --manifest, the argument is a prompt: what the agent shall do,
or - for standard input. The agent runs by itself, without a workflow around it.`,
		Example: `  tenon run fix -i issue=123
  tenon run ./release.yaml --inputs inputs.json --jsonl
  tenon run freestyle.json --verify 'go test ./...'
  tenon run discussion "Should we split the service?"
  tenon run --composition close-books "close October" --deliverable close-report`,
		Args: cobra.RangeArgs(1, 2),
	}
	l.flags(c)
	c.Flags().StringVar(&l.agent, "agent", "", "run this agent, NAME[@VERSION], by itself")
	c.Flags().StringVar(&l.composition, "composition", "", "run this composition, NAME[@VERSION], by itself")
	c.Flags().StringVar(&l.manifest, "manifest", "", "workspace manifest that it works in: a file, or the name of one in .tenon/workspaces; it names an agent, too")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := l.scriptArgs.positional(args[1:], l.given()); err != nil {
			return err
		}
		return a.launch(cmd, l, args[0])
	}
	return c
}

// launch starts a workflow, or an agent by itself.
func (a *app) launch(cmd *cobra.Command, l *launch, what string) error {
	ctx := cmd.Context()
	budget, err := parseRaise(l.budget)
	if err != nil {
		return err
	}
	if err := l.together(cmd); err != nil {
		return err
	}
	return a.driving(ctx, l.drive, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
		q, err := l.request(a, t, what)
		if err != nil {
			return history.Result{}, err
		}
		wf := q.Workflow
		a.warnings(wf)
		if len(l.verify) > 0 && !wf.UsesPlan() {
			fmt.Fprintf(a.std.Err, "warning: --verify changes nothing: no node of %s verifies with the configured commands\n", wf.Name)
		}
		q.By, q.Models, q.Draft, q.UpdateLock, q.Change = a.who(), l.models, l.draft, l.update, first(l.change, t.Project.Config.Launch.Change)
		q.Budget = workflow.Budget{MaxTokens: budget.Tokens, MaxCostUSD: budget.CostUSD, MaxDurationMs: budget.DurationMs}
		if err := l.scriptArgs.read(a, wf, &q); err != nil {
			return history.Result{}, err
		}
		if err := l.scriptArgs.follow(ctx, a, t, &q); err != nil {
			return history.Result{}, err
		}
		if q.Dimensions, err = pairs("--dimension", l.dimensions); err != nil {
			return history.Result{}, err
		}
		if err := launchData(&q, first(l.tickets, t.Project.Config.Launch.Tickets), append(l.specs, t.Project.Config.Launch.Spec...)); err != nil {
			return history.Result{}, err
		}
		if err := a.fenced(ctx, t, wf); err != nil {
			return history.Result{}, err
		}
		w.begin(wf)
		return t.Run(ctx, q)
	}, func(c *tenon.Config) { c.Checks = checks(l.verify) })
}

// together refuses flags that do not go with each other.
func (l *launch) together(cmd *cobra.Command) error {
	by := l.given()
	if l.agent != "" && l.composition != "" {
		return usage(errors.New("give --agent or --composition, not both"))
	}
	for _, name := range []string{"deliverable", "on-violation", "overlay", "limits", "access"} {
		if !by && cmd.Flags().Changed(name) {
			return usage(fmt.Errorf("--%s goes with --agent, --composition or --manifest: in a workflow it stands in the params of a node of kind agent", name))
		}
	}
	for _, name := range []string{"change", "tickets", "spec"} {
		if by && cmd.Flags().Changed(name) {
			return usage(fmt.Errorf("--%s goes with a workflow, not with --agent, --composition or --manifest", name))
		}
	}
	return nil
}

// request loads what is to be run, with its inputs.
func (l *launch) request(a *app, t *tenon.Tenon, what string) (tenon.Request, error) {
	if l.given() {
		return l.alone.load(a, t, what, l)
	}
	wf, err := t.Load(what)
	if err != nil {
		return tenon.Request{}, err
	}
	q := tenon.Request{Workflow: wf}
	q.Inputs, err = l.in.read(a, wf)
	return q, err
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

// fenced says what holds the agents of a workflow, and which rules do nothing.
func (a *app) fenced(ctx context.Context, t *tenon.Tenon, wf *tenon.Workflow) error {
	if !wf.UsesAgents() {
		return nil
	}
	rules, err := t.FenceRules(ctx)
	if err != nil {
		return err
	}
	a.ruleTrouble(rules)
	if n := len(rules.Withheld); n > 0 {
		fmt.Fprintf(a.std.Err, "warning: %s of this repository without effect before you type: tenon trust\n", plain.Count(n, "allow rule"))
	}
	line, err := t.Confinement(ctx)
	if err == nil {
		fmt.Fprintln(a.std.Err, line)
	}
	return err
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

// read returns the inputs of a workflow; of one that is nil VALUE is JSON where it
// can be, else text.
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
		if err := json.Unmarshal(doc.JSON(), &out); err != nil || out == nil {
			return nil, usage(fmt.Errorf("--inputs %s: it must hold an object of inputs", in.file))
		}
	}
	for _, p := range in.pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
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

// pairs reads flags of the form KEY=VALUE.
func pairs(flag string, list []string) (map[string]string, error) {
	var out map[string]string
	for _, p := range list {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" || value == "" {
			return nil, usage(fmt.Errorf("%s %s: it needs the form KEY=VALUE", flag, p))
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out, nil
}

// coerce reads the text of one input under its schema.
func coerce(wf *tenon.Workflow, name, value string) (json.RawMessage, error) {
	if wf == nil && json.Valid([]byte(value)) {
		return json.RawMessage(value), nil
	}
	if wf == nil {
		return json.Marshal(value)
	}
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
	return a.slurpTo(file, math.MaxInt64-1)
}

// slurpTo is slurp of what may have a number of bytes at most.
func (a *app) slurpTo(file string, most int64) (raw []byte, name string, err error) {
	in, name := a.std.In, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, file, usage(fmt.Errorf("reading %s: %w", file, err))
		}
		defer func() { _ = f.Close() }() // it was only read
		in, name = f, file
	}
	raw, err = io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil && file != "-":
		return nil, name, usage(fmt.Errorf("reading %s: %w", file, err))
	case err == nil && int64(len(raw)) > most:
		return nil, name, usage(fmt.Errorf("%s is too long, the limit is %d bytes: nothing was stored (artifacts.maxBytes)", name, most))
	}
	return raw, name, err
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
