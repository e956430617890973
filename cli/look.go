package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func (a *app) lsCmd() *cobra.Command {
	var all bool
	var status string
	var limit int
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the runs of this project, newest first",
		Args:  cobra.NoArgs,
	}
	c.Flags().BoolVar(&all, "all", false, "also child runs")
	c.Flags().StringVar(&status, "status", "", "only runs of this status")
	c.Flags().IntVarP(&limit, "limit", "n", 50, "at most this many; 0 is all")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if all := workflow.Statuses(); status != "" && !slices.Contains(all, workflow.Status(status)) {
			return usage(fmt.Errorf("--status %s: there are %v", status, all))
		}
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			heads, err := t.Store.Runs(cmd.Context(), store.Query{Roots: !all})
			if err != nil {
				return err
			}
			rows := []store.Head{}
			for _, h := range heads {
				h.Status = history.Standing(h)
				if (status == "" || string(h.Status) == status) && (limit == 0 || len(rows) < limit) {
					rows = append(rows, h)
				}
			}
			a.heads(rows)
			return nil
		})
	}
	return c
}

func (a *app) heads(rows []store.Head) {
	switch {
	case a.json:
		a.document(rows)
		return
	case a.jsonl:
		for _, h := range rows {
			a.line(h)
		}
		return
	}
	w := tabwriter.NewWriter(a.std.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tWORKFLOW\tSTATUS\tAT\tSTARTED\tTOKENS")
	for _, h := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\n", h.Run, h.Workflow, h.Status, h.Node,
			h.Started.Std().Local().Format("2006-01-02 15:04:05"), h.Totals.Input+h.Totals.Output)
	}
	_ = w.Flush()
}

// visitRow is a visit as show lists it.
type visitRow struct {
	Visit    workflow.VisitID  `json:"visit"`
	Node     string            `json:"node"`
	Label    string            `json:"label,omitempty"` // of a call of a script
	Phase    string            `json:"phase,omitempty"`
	Kind     string            `json:"kind"`
	Attempts int               `json:"attempts"`
	Outcome  string            `json:"outcome,omitempty"`
	Status   string            `json:"status"`
	Began    workflow.Time     `json:"began"`
	Ended    workflow.Time     `json:"ended,omitzero"`
	Error    *workflow.Failure `json:"error,omitempty"`
	Calls    []callRow         `json:"calls,omitempty"`
	Answers  []answerRow       `json:"answers,omitempty"`
	Output   *workflow.Value   `json:"-"`
}

type callRow struct {
	Invocation int            `json:"invocation"`
	Provider   string         `json:"provider"`
	Model      string         `json:"model,omitempty"`
	Status     string         `json:"status"`
	Usage      workflow.Usage `json:"usage"`
	Code       workflow.Code  `json:"code,omitempty"`
}

type answerRow struct {
	Question string          `json:"question"`
	Value    json.RawMessage `json:"value,omitempty"`
	Digest   workflow.Digest `json:"digest,omitempty"` // of a large value, in its place
	Denied   bool            `json:"denied,omitempty"`
	Expired  bool            `json:"expired,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	By       string          `json:"by,omitempty"`
	At       workflow.Time   `json:"at"`
}

// visits folds a history into rows, in order of arrival.
func visits(ctx context.Context, s store.Store, run workflow.RunID) ([]*visitRow, error) {
	var rows []*visitRow
	byID := map[string]*visitRow{}
	err := s.Events(ctx, run, 0, func(e workflow.Event) error {
		r := byID[e.ID]
		if p, ok := e.Payload.(*workflow.Admitted); ok && r == nil {
			r = &visitRow{Visit: e.VisitID(), Node: e.Node, Kind: p.Kind, Began: e.At}
			byID[e.ID] = r
			rows = append(rows, r)
		}
		if r != nil {
			r.fold(e)
		}
		return nil
	})
	return rows, err
}

// stopped corrects a row of a run that no process drives.
func (r *visitRow) stopped() {
	if r.Status == "running" {
		r.Status = string(workflow.StatusInterrupted)
	}
}

func (r *visitRow) fold(e workflow.Event) {
	switch p := e.Payload.(type) {
	case *workflow.Admitted:
		r.Status, r.Attempts, r.Label, r.Phase = "running", e.Attempt, p.Label, p.Group
	case *workflow.Settled:
		r.Status, r.Outcome, r.Error, r.Ended = p.Status, p.Outcome, p.Error, e.At
		if r.Status == "" {
			r.Status = workflow.VisitSucceeded
		}
		if !p.Output.Absent() {
			r.Output = &p.Output
		}
	case *workflow.Lost:
		r.Status = string(p.Code)
		if p.Uncertain {
			r.Status = "uncertain"
		}
	case *workflow.Refused:
		r.Status = string(p.Code)
	case *workflow.Retrying:
		r.Status = "retrying"
	case *workflow.QuestionOpened:
		r.Status = "waiting"
	case *workflow.QuestionAnswered:
		a := p.Answer
		r.Answers = append(r.Answers, answerRow{p.Question, a.Value.JSON, a.Value.Digest, a.Denied, a.Expired, a.Reason, a.By, a.At})
	case *workflow.InvocationReserved:
		r.Calls = append(r.Calls, callRow{Invocation: e.Invocation, Provider: p.Provider, Model: p.Model, Status: "running"})
	case *workflow.InvocationSettled:
		for i := range r.Calls {
			if c := &r.Calls[i]; c.Invocation == e.Invocation {
				c.Status, c.Usage, c.Code = p.Status, p.Usage, p.Code
				c.Model = first(p.Model, c.Model)
			}
		}
	}
}

func (a *app) showCmd() *cobra.Command {
	var last, tree bool
	var output string
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show a run: status, visits, questions, outputs, usage",
		Args:  cobra.MaximumNArgs(1),
	}
	lastFlag(c, &last)
	c.Flags().BoolVar(&tree, "agents", false, "also the agents that it started, with what each used")
	c.Flags().StringVar(&output, "output", "", "print the whole output of one node or visit, as it is stored, and nothing else")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			id, err := a.find(cmd.Context(), t, args, last)
			if err != nil {
				return err
			}
			rows, err := visits(cmd.Context(), t.Store, id)
			if err != nil {
				return err
			}
			if output != "" {
				return a.rawOutput(cmd.Context(), t, id, rows, output)
			}
			res, err := t.Inspect(cmd.Context(), id)
			if err != nil {
				return err
			}
			res.Next = a.next(res)
			if res.Status == workflow.StatusInterrupted {
				for _, r := range rows {
					r.stopped()
				}
			}
			var team []*agentRow
			if tree {
				if team, err = agents(cmd.Context(), t.Store, id); err != nil {
					return err
				}
			}
			a.whole(res, rows, team, tree)
			return nil
		})
	}
	return c
}

// whole prints all that is known of a run.
func (a *app) whole(res history.Result, rows []*visitRow, team []*agentRow, tree bool) {
	if a.json || a.jsonl {
		a.document(struct {
			history.Result
			History []*visitRow `json:"visitsInOrder"`
			Agents  []*agentRow `json:"agents,omitempty"`
		}{res, rows, team})
		return
	}
	a.summary(res)
	a.visitTable(rows)
	if tree {
		a.agentTable(team)
	}
	a.outputs(res)
	for _, n := range res.Next {
		fmt.Fprintln(a.std.Err, "next:", n)
	}
}

// rawOutput prints one output; of several visits of a node, the last one's.
func (a *app) rawOutput(ctx context.Context, t *tenon.Tenon, id workflow.RunID, rows []*visitRow, name string) error {
	for i := len(rows) - 1; i >= 0; i-- {
		r := rows[i]
		if string(r.Visit) != name && r.Node != name || r.Output == nil {
			continue
		}
		raw := []byte(r.Output.JSON)
		if r.Output.Digest != "" {
			var err error
			if raw, err = t.Store.Blob(ctx, r.Output.Digest); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(a.std.Out, "%s\n", raw)
		return err
	}
	return workflow.Errorf(workflow.CodeInvalidArguments, "run %s has no output of %q", id, name).WithHint("list its visits with: tenon show %s", id)
}

const maxRows = 200

func (a *app) visitTable(rows []*visitRow) {
	if n := len(rows) - maxRows; n > 0 {
		fmt.Fprintf(a.std.Out, "  … %d earlier visits (tenon show --json has all)\n", n)
		rows = rows[n:]
	}
	w := tabwriter.NewWriter(a.std.Out, 2, 4, 2, ' ', 0)
	fmt.Fprintln(w, "  VISIT\tKIND\tSTATUS\tOUTCOME\tTRIES\tTOOK\tMODEL\tTOKENS")
	for _, r := range rows {
		took := ""
		if r.Ended != 0 {
			took = r.Ended.Std().Sub(r.Began.Std()).Round(time.Millisecond).String()
		}
		model, tokens := r.models()
		name := string(r.Visit)
		if r.Label != "" {
			name += " " + printable(r.Label)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", name, r.Kind, r.Status, r.Outcome, r.Attempts, took, model, tokens)
	}
	_ = w.Flush()
}

// models returns the model really used and the tokens; unknown is "?".
func (r *visitRow) models() (model, tokens string) {
	if len(r.Calls) == 0 {
		return "", ""
	}
	var sum int64
	unknown := false
	for _, c := range r.Calls {
		model = c.Provider + "/" + c.Model
		n, known := c.Usage.Tokens()
		sum += n
		unknown = unknown || !known
	}
	tokens = fmt.Sprint(sum)
	if unknown {
		tokens += "+?"
	}
	return model, tokens
}

func (a *app) logsCmd() *cobra.Command {
	var last, follow bool
	var after int64
	var node string
	c := &cobra.Command{
		Use:   "logs [RUN]",
		Short: "Print the history of a run; --jsonl gives the whole events",
		Args:  cobra.MaximumNArgs(1),
	}
	lastFlag(c, &last)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run rests")
	c.Flags().Int64Var(&after, "after", 0, "only events with a higher seq")
	c.Flags().StringVar(&node, "node", "", "only events of this node, by its path, or visit")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			id, err := a.find(cmd.Context(), t, args, last)
			if err != nil {
				return err
			}
			l := plain.New(a.std.Out)
			all := []workflow.WireEvent{}
			came := node == ""
			each := func(e workflow.Event) error {
				after = e.Seq
				told := l.Log(id, e)
				match := node == "" || e.Node == node || e.ID == node
				came = came || match
				switch {
				case !match:
				case a.json:
					all = append(all, workflow.Wire(id, e))
				case a.jsonl:
					a.line(workflow.Wire(id, e))
				default:
					if told != "" {
						fmt.Fprintf(a.std.Out, "%6d %s %s\n", e.Seq, e.At.Std().Local().Format("15:04:05.000"), told)
					}
				}
				return nil
			}
			if err := a.follow(cmd.Context(), t, id, &after, follow, each); err != nil {
				return err
			}
			if !came {
				return workflow.Errorf(workflow.CodeInvalidArguments, "run %s has no events of %q", id, node).WithHint("list its visits with: tenon show %s", id)
			}
			if a.json {
				a.document(all)
			}
			return nil
		})
	}
	return c
}

// follow prints events as they come until the run rests.
func (a *app) follow(ctx context.Context, t *tenon.Tenon, id workflow.RunID, after *int64, follow bool, each func(workflow.Event) error) error {
	for {
		if err := t.Store.Events(ctx, id, *after, each); err != nil {
			return err
		}
		heads, err := t.Store.Runs(ctx, store.Query{Run: id, Limit: 1})
		if err != nil || !follow || len(heads) == 0 {
			return err
		}
		if heads[0].Owner == nil && heads[0].Last <= *after {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
