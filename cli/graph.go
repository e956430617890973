package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/draw"
	"github.com/tenonrun/tenon/workflow"
)

// pictures are the formats of graph.
var pictures = map[string]func(*draw.Graph, draw.Overlay) string{
	"text": draw.Text, "mermaid": draw.Mermaid, "dot": draw.DOT, "svg": draw.SVG,
}

func (a *app) graphCmd() *cobra.Command {
	var format, out, run string
	var last bool
	c := &cobra.Command{
		Use:   "graph [NAME|FILE]",
		Short: "Draw a workflow, or what a run made of it",
		Example: `  tenon graph repair
  tenon graph repair --format svg -o repair.svg
  tenon graph --last --format svg -o run.svg`,
		Args: cobra.MaximumNArgs(1),
	}
	lastFlag(c, &last)
	c.Flags().StringVar(&format, "format", "text", "text, mermaid, dot or svg")
	c.Flags().StringVarP(&out, "out", "o", "", "write to this file in place of standard output")
	c.Flags().StringVar(&run, "run", "", "draw the workflow of this run, with its state")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		write, ok := pictures[format]
		if !ok {
			return usage(fmt.Errorf("--format %s: there are text, mermaid, dot and svg", format))
		}
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			g, over, err := a.picture(cmd.Context(), t, args, run, last)
			if err != nil {
				return err
			}
			text := write(g, over)
			if out != "" {
				if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
					return usage(fmt.Errorf("writing the picture: %w", err))
				}
			}
			switch {
			case a.json:
				a.document(map[string]string{"format": format, "file": out, "picture": text})
			case out == "":
				fmt.Fprint(a.std.Out, text)
			}
			return nil
		}, func(c *tenon.Config) { c.Memory = run == "" && !last })
	}
	return c
}

// picture returns the graph of a file or a run; runs come with their state.
func (a *app) picture(ctx context.Context, t *tenon.Tenon, args []string, run string, last bool) (*draw.Graph, draw.Overlay, error) {
	if len(args) > 0 && (run != "" || last) {
		return nil, nil, usage(fmt.Errorf("name a workflow or a run, not both"))
	}
	if run == "" && !last {
		if len(args) == 0 {
			return nil, nil, usage(fmt.Errorf("name a workflow, or a run with --run or --last"))
		}
		wf, err := t.Load(args[0])
		if err != nil {
			return nil, nil, err
		}
		if wf.Script != nil {
			return nil, nil, usage(fmt.Errorf("%s is a script: it has no graph, because it decides while it runs; tenon script show %s shows it", wf.File, args[0]))
		}
		return wf.Picture(), nil, nil
	}
	id, err := a.find(ctx, t, argsOf(run), last)
	if err != nil {
		return nil, nil, err
	}
	wf, err := t.Pinned(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if wf.Script != nil {
		return nil, nil, usage(fmt.Errorf("run %s is one of a script: it has no graph; tenon show %s --agents lists what it called", id, id))
	}
	rows, err := visits(ctx, t.Store, id)
	return wf.Picture(), overlay(rows), err
}

// overlay tells of each node what its visits came to; the last one gives the
// status.
func overlay(rows []*visitRow) draw.Overlay {
	over := draw.Overlay{}
	tokens := map[string]int64{}
	for _, r := range rows {
		s := over[r.Node]
		s.Visits++
		s.Status = r.Status
		if r.Status == workflow.VisitSucceeded && workflow.Unhappy(r.Outcome) {
			s.Status = workflow.VisitFailed
		}
		for _, c := range r.Calls {
			n, _ := c.Usage.Tokens()
			tokens[r.Node] += n
		}
		if n := tokens[r.Node]; n > 0 {
			s.Note = fmt.Sprintf("%d tokens", n)
		}
		over[r.Node] = s
	}
	return over
}
