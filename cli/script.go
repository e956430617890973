package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/script"
	"github.com/tenonrun/tenon/script/vm"
)

func (a *app) scriptCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "script",
		Short: "List, show, check and save workflow scripts",
		Long: `Scripts are JavaScript files in .tenon/workflows and .claude/workflows of the
project, in ~/.config/tenon/workflows and ~/.claude/workflows, and some come with
tenon. A nearer one hides another of its name. tenon run NAME runs one.`,
	}
	c.AddCommand(a.scriptListCmd(), a.scriptShowCmd(), a.scriptCheckCmd(), a.scriptSaveCmd(), a.scriptTypesCmd())
	return c
}

// problemsOf are what is wrong with scripts.
func problemsOf(err error) []finding {
	all, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // each error of a join is looked at by itself
	if !ok {
		return []finding{syntaxOf(err)}
	}
	out := []finding{}
	for _, one := range all.Unwrap() {
		out = append(out, problemsOf(one)...)
	}
	return out
}

// syntaxOf is what is wrong with a script, with its place where it is known.
func syntaxOf(err error) finding {
	var e *vm.SyntaxError
	if errors.As(err, &e) {
		return finding{File: e.File, Line: e.Line, Column: e.Column, Message: e.Msg, Hint: e.Hint}
	}
	return finding{Message: err.Error()}
}

func (a *app) scriptListCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the scripts that can be named here",
		Args:  counted(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(t *tenon.Tenon) error {
				list, broken, err := t.Scripts().List(cmd.Context())
				if err != nil {
					return err
				}
				a.scripts(list, broken)
				return nil
			}, inMemory)
		},
	}
}

func (a *app) scripts(list []tenon.NamedScript, broken []error) {
	problems := []finding{}
	for _, err := range broken {
		problems = append(problems, syntaxOf(err))
		fmt.Fprintln(a.std.Err, "warning: not listed:", err)
	}
	if a.json || a.jsonl {
		if list == nil {
			list = []tenon.NamedScript{}
		}
		a.document(map[string]any{"scripts": list, "broken": problems})
	} else {
		w := tabwriter.NewWriter(a.std.Out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tORIGIN\tFILE\tABOUT")
		for _, n := range list {
			origin := string(n.Origin)
			if n.HiddenBy != "" {
				origin += ", hidden"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", strings.TrimSuffix(n.Name+", "+printable(n.Also), ", "), origin, n.File, printable(about(n.Meta)))
		}
		_ = w.Flush()
	}
	for _, n := range list {
		if n.HiddenBy != "" {
			fmt.Fprintf(a.std.Err, "note: %s in %s is hidden by %s\n", n.Name, n.File, n.HiddenBy)
		}
	}
}

// about says in one line when a script is of use.
func about(m script.Meta) string {
	text := first(m.WhenToUse, m.Description)
	return strings.Join(strings.Fields(text), " ")
}

func (a *app) scriptShowCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show a script: where it comes from, and its text",
		Long: `The text goes to standard output, as it is: tenon script show discussion >
.tenon/workflows/discussion.js makes a copy that hides the original and can be
changed.`,
		Args: counted(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(t *tenon.Tenon) error {
				n, err := t.Scripts().Show(args[0])
				if n.Name == "" {
					return err
				}
				if a.json || a.jsonl {
					if err != nil {
						return err
					}
					a.document(struct {
						tenon.NamedScript
						Source string `json:"source"`
					}{n, string(n.Source())})
					return nil
				}
				fmt.Fprintf(a.std.Err, "%s: %s, %s\n", n.Name, n.Origin, n.File)
				if _, broken := a.std.Out.Write(n.Source()); broken != nil {
					return broken
				}
				return err
			}, inMemory)
		},
	}
}

func (a *app) scriptCheckCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "check NAME|FILE…",
		Short: "Check scripts without running them",
		Args:  counted(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(t *tenon.Tenon) error {
				good := []tenon.NamedScript{}
				var bad []error
				for _, name := range args {
					n, err := t.Scripts().Check(name)
					if err != nil {
						bad = append(bad, err)
						continue
					}
					good = append(good, n)
					if !a.json && !a.jsonl {
						fmt.Fprintf(a.std.Out, "%s is valid: %s%s\n", n.File, n.Meta.Name, parts(n.Meta))
					}
				}
				if len(bad) > 0 {
					return errors.Join(bad...)
				}
				if a.json || a.jsonl {
					a.document(map[string]any{"ok": true, "scripts": good})
				}
				return nil
			}, inMemory)
		},
	}
}

// parts says what the meta of a script has beside names.
func parts(m script.Meta) string {
	var out string
	if len(m.Phases) > 0 {
		out = ", " + plain.Count(len(m.Phases), "phase")
	}
	if m.Args != nil {
		out += ", args with a schema"
	}
	return out
}

func (a *app) scriptSaveCmd() *cobra.Command {
	var user bool
	c := &cobra.Command{
		Use:   "save RUN NAME",
		Short: "Save the script of a run as a workflow that has a name",
		Long: `The script is saved as the run started with it, in .tenon/workflows of the
project. What is there is not replaced, and nothing is written through links.`,
		Args: counted(cobra.ExactArgs(2)),
	}
	c.Flags().BoolVar(&user, "user", false, "among your own workflows, for all projects")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error { return a.saveScript(cmd.Context(), t, args[0], args[1], user) })
	}
	return c
}

func (a *app) saveScript(ctx context.Context, t *tenon.Tenon, run, name string, user bool) error {
	id, err := a.find(ctx, t, argsOf(run), false)
	if err != nil {
		return err
	}
	path, err := t.Scripts().Save(ctx, id, name, user)
	if err != nil {
		return err
	}
	if n, err := t.Scripts().Show(name); err == nil && n.Path != path {
		fmt.Fprintf(a.std.Err, "note: here the name %s stands for %s, which is nearer\n", name, n.File)
	}
	if a.json || a.jsonl {
		a.document(map[string]any{"run": id, "name": name, "path": path})
		return nil
	}
	fmt.Fprintf(a.std.Out, "saved %s: run it with: tenon run %s\n", path, name)
	return nil
}

func (a *app) scriptTypesCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "types",
		Short: "Print the types of what scripts see, for editors",
		Long:  `tenon script types > .tenon/workflows/workflow.d.ts lets an editor complete and check.`,
		Args:  counted(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if a.json || a.jsonl {
				a.document(map[string]string{"types": script.Types()})
				return nil
			}
			_, err := fmt.Fprint(a.std.Out, script.Types())
			return err
		},
	}
}
