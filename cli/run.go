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

func (a *app) runCmd() *cobra.Command {
	var d drive
	var in inputs
	var change, tickets, raise string
	var specs, verify, models, dimensions []string
	var draft, update bool
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
	c.Flags().StringArrayVar(&models, "model", nil, "model of this run: NAME for everything, CLASS=NAME for a class of models.yaml; repeatable")
	c.Flags().BoolVar(&draft, "draft", false, "drafts of agents and compositions too: the run is not reproducible")
	c.Flags().BoolVar(&update, "update-lock", false, "resolve agents anew, whatever .tenon/tenon.lock says")
	c.Flags().StringArrayVar(&dimensions, "dimension", nil, "further dimension KEY=VALUE of the model matrix; repeatable")
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
			if len(verify) > 0 && !wf.UsesPlan() {
				fmt.Fprintf(a.std.Err, "warning: --verify changes nothing: no node of %s verifies with the configured commands\n", wf.Name)
			}
			q := tenon.Request{Workflow: wf, By: a.who(), Models: models, Draft: draft, UpdateLock: update, Change: first(change, t.Project.Config.Launch.Change),
				Budget: workflow.Budget{MaxTokens: budget.Tokens, MaxCostUSD: budget.CostUSD, MaxDurationMs: budget.DurationMs}}
			if q.Dimensions, err = pairs("--dimension", dimensions); err != nil {
				return history.Result{}, err
			}
			if q.Inputs, err = in.read(a, wf); err != nil {
				return history.Result{}, err
			}
			if err := launchData(&q, first(tickets, t.Project.Config.Launch.Tickets), append(specs, t.Project.Config.Launch.Spec...)); err != nil {
				return history.Result{}, err
			}
			if err := a.fenced(cmd.Context(), t, wf); err != nil {
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
