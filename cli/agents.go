package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/ledger"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// agentRow is an agent as show lists it.
type agentRow struct {
	Visit workflow.VisitID `json:"visit"`
	Node  string           `json:"node"`
	workflow.AgentStarted
	Status  string                `json:"status"` // running, or how it ended
	Code    workflow.Code         `json:"code,omitempty"`
	Message string                `json:"message,omitempty"`
	Began   workflow.Time         `json:"began"`
	Ended   workflow.Time         `json:"ended,omitzero"`
	Spawns  int                   `json:"spawns"`
	Spent   workflow.Totals       `json:"spent"` // with all agents below it
	Unknown int64                 `json:"unknown,omitempty"`
	Now     *workflow.AgentLimits `json:"limitsNow,omitempty"` // after raises
}

// agents folds a history into its agents, in the order in which they started.
func agents(ctx context.Context, s store.Store, run workflow.RunID) ([]*agentRow, error) {
	rows := []*agentRow{}
	trees := map[workflow.VisitID]*ledger.Tree{}
	err := s.Events(ctx, run, 0, func(e workflow.Event) error {
		v := e.VisitID()
		switch p := e.Payload.(type) {
		case *workflow.AgentStarted:
			if trees[v] == nil {
				trees[v] = &ledger.Tree{}
			}
			rows = append(rows, &agentRow{Visit: v, Node: e.Node, AgentStarted: *p, Status: "running", Began: e.At})
		case *workflow.AgentEnded:
			for _, r := range rows {
				if r.Visit == v && r.Key == p.Key {
					r.Status, r.Code, r.Message, r.Ended = p.Status, p.Code, p.Message, e.At
				}
			}
		case *workflow.Settled:
			for _, r := range rows {
				if r.Visit == v && r.Depth == 0 && r.Ended == 0 {
					r.Status, r.Ended = workflow.VisitSucceeded, e.At
					if p.Status != "" {
						r.Status = p.Status
					}
				}
			}
		}
		for id, tree := range trees {
			if _, raised := e.Payload.(*workflow.LimitRaised); id == v || raised {
				tree.Apply(e, 0)
			}
		}
		return nil
	})
	for _, r := range rows {
		if a := trees[r.Visit].Accounts[r.Key]; a != nil {
			r.Spawns, r.Spent, r.Unknown, r.Now = a.Spawns, a.Spent, a.Unknown, a.Limits
		}
	}
	return rows, err
}

// agentTable prints agents, those below another one indented.
func (a *app) agentTable(rows []*agentRow) {
	if len(rows) == 0 {
		fmt.Fprintln(a.std.Out, "  no agents started others, or had limits of their own")
		return
	}
	w := tabwriter.NewWriter(a.std.Out, 2, 4, 2, ' ', 0)
	fmt.Fprintln(w, "  AGENT\tVISIT\tSTATUS\tMODEL\tTOKENS\tSTARTED\tTOOK\tTASK")
	for _, r := range rows {
		name := r.Agent
		if r.Label != "" {
			name = r.Label
		}
		took := ""
		if r.Ended != 0 {
			took = r.Ended.Std().Sub(r.Began.Std()).Round(time.Millisecond).String()
		}
		tokens := fmt.Sprint(r.Spent.Input + r.Spent.Output)
		if r.Spent.UnknownTokens > 0 {
			tokens += "+?"
		}
		fmt.Fprintf(w, "  %*s%s\t%s\t%s\t%s/%s\t%s\t%s\t%s\t%s\n", 2*r.Depth, "", name, r.Visit, r.Status, r.Provider, r.Model, tokens,
			plain.Count(r.Spawns, "agent"), took, r.Task)
	}
	_ = w.Flush()
}
