package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/routing"
)

func (a *app) explainModelCmd() *cobra.Command {
	var q routing.Request
	var models, dimensions []string
	c := &cobra.Command{
		Use:   "model [NAME]",
		Short: "Say which model would run, with the rule that decides and those that nearly did",
		Long: `Without NAME, the model matrix (.tenon/models.yaml) is asked about an agent that
names no model itself. With NAME, the model that it names in a definition.`,
		Example: `  tenon explain model --agent reviewer --group nightly
  tenon explain model large --model large=small`,
		Args: counted(cobra.MaximumNArgs(1)),
	}
	f := c.Flags()
	f.StringVar(&q.Context.Agent, "agent", "", "slug of the agent, or id of the role")
	f.StringVar(&q.Context.Skill, "skill", "", "skill that is launched")
	f.StringVar(&q.Context.Project, "project", "", "id of the project (default: this one)")
	f.StringVar(&q.Context.Group, "group", "", "group of the node, or phase of a script")
	f.StringVar(&q.Context.Purpose, "purpose", "", "purpose of a call that no agent makes: decider, compaction")
	f.StringVar(&q.Provider, "provider", "", "provider that the node or role names")
	f.StringArrayVar(&dimensions, "dimension", nil, "further dimension KEY=VALUE; repeatable")
	f.StringArrayVar(&models, "model", nil, "as in tenon run: NAME, or CLASS=NAME; repeatable")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		q.Step = strings.Join(args, "")
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			m, err := t.Models(models...)
			if err != nil {
				return err
			}
			if q.Context.Extra, err = pairs("--dimension", dimensions); err != nil {
				return err
			}
			q.Context.Project = first(q.Context.Project, t.Project.ID)
			for _, w := range m.Warnings {
				fmt.Fprintln(a.std.Err, "warning:", w)
			}
			a.model(m.Explain(q))
			return nil
		}, inMemory)
	}
	return c
}

// model prints why a model runs.
func (a *app) model(e routing.Explanation) {
	if a.json || a.jsonl {
		a.document(e)
		return
	}
	w := a.std.Out
	switch {
	case e.Decision == nil:
		fmt.Fprintln(w, "no model:", e.Problem)
	default:
		fmt.Fprintln(w, e.Decision)
		for i, m := range e.Decision.Models {
			what := "model"
			if i > 0 {
				what = "fallback"
			}
			fmt.Fprintf(w, "  %s %s%s\n", what, m, priceText(m.Price))
		}
	}
	for _, r := range e.Matches {
		won := "wins among the rules"
		if r.Lost != "" {
			won = "loses by " + r.Lost
		}
		fmt.Fprintf(w, "  rule %s matches %s, priority %d: %s (%s)\n", r.RuleID, strings.Join(r.Dimensions, ", "), r.Priority, r.Target, won)
	}
	for _, n := range e.NearMisses {
		alike := ""
		if n.Alike {
			alike = "; is it the same name written twice?"
		}
		fmt.Fprintf(w, "  rule %s misses by %s: it wants %q, and there is %q%s\n", n.RuleID, n.Dimension, n.Want, n.Have, alike)
	}
	if e.MoreMisses > 0 {
		fmt.Fprintf(w, "  %d rules more miss by one dimension\n", e.MoreMisses)
	}
}

func priceText(p *routing.Price) string {
	if p == nil {
		return "  (price unknown)"
	}
	return fmt.Sprintf("  ($%g in, $%g out for a million tokens, as of %s)", p.In, p.Out, p.AsOf)
}
