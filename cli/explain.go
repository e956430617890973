package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/permission"
)

func (a *app) explainCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain",
		Short: "Say what the path rules and the model matrix decide, and why",
	}
	c.AddCommand(a.explainPathCmd(), a.explainRulesCmd(), a.explainModelCmd())
	return c
}

func (a *app) explainPathCmd() *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use:   "path TOOL PATH",
		Short: "Say whether a tool may use a path, with the rule and both ends of the path",
		Example: `  tenon explain path read .env
  tenon explain path write src/main.go
  tenon explain path read src/main.go --write`,
		Args: counted(cobra.ExactArgs(2)),
	}
	c.Flags().BoolVar(&write, "write", false, "in a turn that may write; write and edit imply it (--write=false: in one that only reads)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			if key := permission.ToolKey(args[0]); !cmd.Flags().Changed("write") && (key == "write" || key == "edit") {
				write = true
			}
			access := permission.AccessRead
			if write {
				access = permission.AccessWrite
			}
			e, err := t.ExplainPath(cmd.Context(), args[0], args[1], access)
			if err != nil {
				return err
			}
			if a.json || a.jsonl {
				a.document(map[string]any{"tool": args[0], "path": args[1], "verdict": e.Verdict.Effect.String(), "explanation": e.Verdict.Explain()})
				return nil
			}
			for _, line := range e.Verdict.Explain() {
				fmt.Fprintln(a.std.Out, line)
			}
			a.ruleTrouble(e.Rules)
			return nil
		}, inMemory)
	}
	return c
}

func (a *app) explainRulesCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "rules",
		Short: "List the path rules with their places, those that do nothing, and what holds where none speaks",
		Args:  counted(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(t *tenon.Tenon) error {
				r, err := t.FenceRules(cmd.Context())
				if err != nil {
					return err
				}
				a.rules(r)
				return nil
			}, inMemory)
		},
	}
}

// rules prints the rules of the fence.
func (a *app) rules(r tenon.Rules) {
	type row struct {
		Effect string `json:"effect"`
		Rule   string `json:"rule"`
		From   string `json:"from"`
		Counts bool   `json:"counts"`
	}
	rows := []row{}
	for i, list := range [][]permission.Rule{r.Rules, r.Withheld} {
		for _, rule := range list {
			rows = append(rows, row{rule.Effect.String(), rule.String(), rule.Source.String(), i == 0})
		}
	}
	if a.json || a.jsonl {
		a.document(map[string]any{"mode": r.Mode, "rules": rows, "directories": append([]string{}, r.Directories...), "problems": texts(r.Problems), "warnings": texts(r.Warnings)})
		return
	}
	for _, x := range rows {
		note := ""
		if !x.Counts {
			note = "  (not trusted)"
		}
		fmt.Fprintln(a.std.Out, x.Rule+note)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.std.Out, "no rules: the defaults decide")
	}
	for _, dir := range r.Directories {
		fmt.Fprintln(a.std.Out, "directory", dir)
	}
	fmt.Fprintf(a.std.Out, "where no rule speaks (mode %s):\n", r.Mode)
	for _, line := range silence(r.Mode) {
		fmt.Fprintln(a.std.Out, "  "+line)
	}
	a.ruleTrouble(r)
}

// silence tells what holds where no rule speaks.
func silence(m permission.Mode) []string {
	asked, written := "ask", "allow"
	switch m {
	case permission.ModeAskWrites:
		written = "ask"
	case permission.ModeLocked:
		asked = "deny"
	}
	return []string{
		"read inside the work trees and directories: allow, .env files: " + asked,
		"read outside: " + asked,
		"write inside, in a turn that may write: " + written + ", what may be run later (.git, .tenon, .claude, start-up files): " + asked,
		"write outside: deny",
		"whatever a rule says: the state of Tenon and ~/" + strings.Join(permission.KeyStores(), ", ~/") + ": deny",
	}
}

func (a *app) ruleTrouble(r tenon.Rules) {
	for _, p := range r.Problems {
		fmt.Fprintln(a.std.Err, "problem:", p)
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(a.std.Err, "warning:", w)
	}
}

func texts[T fmt.Stringer](list []T) []string {
	out := []string{}
	for _, x := range list {
		out = append(out, x.String())
	}
	return out
}
