package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/workflow/load"
)

func (a *app) validateCmd() *cobra.Command {
	var structural, write bool
	c := &cobra.Command{
		Use:   "validate NAME|FILE…",
		Short: "Check workflows whole: every defect at once, with its place",
		Args:  cobra.MinimumNArgs(1),
	}
	c.Flags().BoolVar(&structural, "structural", false, "without the project's roles and providers")
	c.Flags().BoolVar(&write, "write-version", false, "publish: write the version (digest) into the document")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			var all load.Issues
			docs := []any{}
			for _, name := range args {
				wf, err := t.Check(name, tenon.Checks{Structural: structural, AnyVersion: write})
				var issues load.Issues
				if issues = issuesOf(err); issues != nil {
					all = append(all, issues...)
					continue
				}
				if err != nil {
					return err
				}
				if write {
					if wf.Script != nil {
						return usage(fmt.Errorf("%s is a script, and scripts carry no version", wf.File))
					}
					if err := writeVersion(wf); err != nil {
						return err
					}
				}
				docs = append(docs, map[string]any{"name": wf.Name, "file": wf.File, "version": wf.Digest, "warnings": wf.Warnings, "nodes": len(wf.Nodes)})
				if !a.json {
					a.warnings(wf)
					what := plain.Count(len(wf.Nodes), "node")
					if wf.Script != nil {
						what = "a script"
					}
					fmt.Fprintf(a.std.Out, "%s is valid: %s, version %s\n", wf.File, what, wf.Digest)
				}
			}
			if all != nil {
				return all
			}
			if a.json {
				a.document(map[string]any{"ok": true, "workflows": docs})
			}
			return nil
		}, inMemory)
	}
	return c
}

func issuesOf(err error) load.Issues {
	if is, ok := err.(load.Issues); ok { //nolint:errorlint // Issues is never wrapped, and As is its own
		return is
	}
	return nil
}

// writeVersion puts the digest into a document, keeping the rest as it is.
func writeVersion(wf *tenon.Workflow) error {
	raw, err := os.ReadFile(wf.Path)
	if err != nil {
		return err
	}
	if raw, err = load.Publish(wf.Workflow, raw); err != nil {
		return err
	}
	return os.WriteFile(wf.Path, raw, 0o644)
}

func (a *app) planCmd() *cobra.Command {
	var in inputs
	var against string
	var ch change
	c := &cobra.Command{
		Use:   "plan NAME|FILE",
		Short: "Show what a run would do, without doing anything",
		Args:  cobra.ExactArgs(1),
	}
	in.flags(c)
	c.Flags().StringVar(&against, "against", "", "show what the workflow, as it is now, would keep of this run's results")
	ch.flags(c, "--against")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			wf, err := t.Load(args[0])
			if err != nil {
				return err
			}
			a.warnings(wf)
			if against != "" {
				ch.Workflow = wf
				return a.against(cmd.Context(), t, ch.Change, against)
			}
			given, err := in.read(a, wf)
			if err != nil {
				return err
			}
			p, err := t.Plan(cmd.Context(), tenon.Request{Workflow: wf, Inputs: given})
			if err != nil {
				return err
			}
			if a.json {
				a.document(p)
				return nil
			}
			a.plan(wf, p)
			return nil
		}, func(c *tenon.Config) { c.Memory = against == "" })
	}
	return c
}

func (a *app) against(ctx context.Context, t *tenon.Tenon, ch tenon.Change, run string) error {
	id, err := a.find(ctx, t, argsOf(run), false)
	if err != nil {
		return err
	}
	ed, err := t.Compare(ctx, id, ch)
	if err != nil {
		return err
	}
	if a.json {
		a.document(ed)
		return nil
	}
	fmt.Fprint(a.std.Out, plain.Edit(ed))
	return nil
}

func (a *app) plan(wf *tenon.Workflow, p tenon.Plan) {
	w := a.std.Out
	fmt.Fprintf(w, "%s  %s\nversion %s\n", wf.Name, wf.Definition.Title, wf.Digest)
	tw := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "  NODE\tKIND\tEFFECT\tMODEL\tENDS")
	for _, n := range p.Nodes {
		var ends []string
		for _, o := range n.Outcomes {
			to := n.Ends[o]
			if to == "" {
				to = "(end)"
			}
			ends = append(ends, o+"→"+to)
		}
		model := ""
		if n.AI {
			model = n.Provider + "/" + n.Model
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\n", n.Path, n.Kind, n.Effect, model, strings.Join(ends, " "))
	}
	_ = tw.Flush()
	fmt.Fprintf(w, "limits: %s\n", limitsText(p))
	if slices.ContainsFunc(p.Nodes, func(n tenon.PlannedNode) bool { return n.AI }) {
		fmt.Fprintf(w, "cost of one model call: at most %d tokens out; in money %s\n", p.MaxOutput, p.Cost)
	} else {
		fmt.Fprintf(w, "cost: %s\n", p.Cost)
	}
	if p.Problem != "" {
		fmt.Fprintf(w, "a run would be refused: %s\n", p.Problem)
	}
}

func limitsText(p tenon.Plan) string {
	out := []string{fmt.Sprintf("%d visits", p.Transitions)}
	if p.Budget.MaxTokens > 0 {
		out = append(out, fmt.Sprintf("%d tokens", p.Budget.MaxTokens))
	}
	if p.Budget.MaxCostUSD > 0 {
		out = append(out, fmt.Sprintf("$%g", p.Budget.MaxCostUSD))
	}
	if p.Budget.MaxDurationMs > 0 {
		out = append(out, fmt.Sprintf("%d ms", p.Budget.MaxDurationMs))
	}
	if n := p.Policies.FailFast; n > 0 {
		out = append(out, fmt.Sprintf("%d failed AI attempts in a row", n))
	}
	out = append(out, plain.Count(max(1, p.Policies.Concurrency), "AI node")+" at once")
	return strings.Join(out, ", ")
}

// self is how the user can call this program again.
func (a *app) self() string {
	exe, err := os.Executable()
	if err == nil && strings.Contains(filepath.ToSlash(exe), "/go-build") {
		return "go run ./cmd/tenon"
	}
	return "tenon"
}

// flagsOf repeats the global flags that a next command needs.
func (a *app) flagsOf() string {
	var out []string
	if a.dir != "" {
		out = append(out, "-C", a.dir)
	}
	if a.state != "" {
		out = append(out, "--state", a.state)
	}
	if len(out) == 0 {
		return ""
	}
	return " " + strings.Join(slices.Clip(out), " ")
}
