package admission_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

// dollars is a bound that depends on nothing.
func dollars(usd float64) *workflow.MaxCost { return &workflow.MaxCost{Sent: usd} }

func costing(usd float64) workflow.Usage {
	u := usage(1, 1)
	u.CostUSD = &usd
	return u
}

func TestMoney(t *testing.T) {
	t.Parallel()
	live := func(usd float64) func(*desk) {
		return func(d *desk) { d.call("x", 1, &workflow.InvocationReserved{CostUSD: usd}) }
	}
	settled := func(status string, u workflow.Usage) func(*desk) {
		return func(d *desk) {
			live(0.6)(d)
			d.call("x", 1, &workflow.InvocationSettled{Status: status, Usage: u})
		}
	}
	tests := []struct {
		name   string
		budget workflow.Budget
		before func(*desk)
		bound  *workflow.MaxCost
		cost   float64
		other  string
	}{
		{"no limit", workflow.Budget{}, live(9), dollars(5), 5, ""},
		{"what is left", workflow.Budget{MaxCostUSD: 1}, nil, dollars(1), 1, ""},
		{"more than is left", workflow.Budget{MaxCostUSD: 1}, nil, dollars(1.001), 0, "budget_exhausted"},
		{"by the token", workflow.Budget{MaxCostUSD: 1}, nil, &workflow.MaxCost{Sent: 0.1, Token: 0.0009}, 1, ""},
		{"a token too many", workflow.Budget{MaxCostUSD: 1}, nil, &workflow.MaxCost{Sent: 0.1001, Token: 0.0009}, 0, "budget_exhausted"},
		{"fewer tokens cost less", workflow.Budget{MaxCostUSD: 1, MaxTokens: 600}, nil, &workflow.MaxCost{Token: 0.001}, 0.5, ""},
		{"beside another call", workflow.Budget{MaxCostUSD: 1}, live(0.7), dollars(0.3), 0.3, ""},
		{"while another may give back", workflow.Budget{MaxCostUSD: 1}, live(0.8), dollars(0.3), 0, "hold"},
		{"nobody knows", workflow.Budget{MaxCostUSD: 1}, live(0.8), nil, 0, ""},
		{"nobody knows, and all is spent", workflow.Budget{MaxCostUSD: 0.5}, settled(workflow.InvocationOK, costing(0.5)), nil, 0, "budget_exhausted"},
		{"the real cost counts", workflow.Budget{MaxCostUSD: 1}, settled(workflow.InvocationOK, costing(0.1)), dollars(0.9), 0.9, ""},
		{"and not less", workflow.Budget{MaxCostUSD: 1}, settled(workflow.InvocationOK, costing(0.2)), dollars(0.9), 0, "budget_exhausted"},
		{"a failed call gives back", workflow.Budget{MaxCostUSD: 1}, settled(workflow.InvocationFailed, costing(0)), dollars(1), 1, ""},
		{"a lost call keeps its bound", workflow.Budget{MaxCostUSD: 1}, settled(workflow.InvocationLost, workflow.Usage{}), dollars(0.5), 0, "budget_exhausted"},
		{"and no more", workflow.Budget{MaxCostUSD: 1}, settled(workflow.InvocationLost, workflow.Usage{}), dollars(0.4), 0.4, ""},
		{"a child keeps its share", workflow.Budget{MaxCostUSD: 1}, func(d *desk) {
			d.apply("k", &workflow.ChildStarted{Budget: workflow.Budget{MaxCostUSD: 0.6}})
		}, dollars(0.5), 0, "budget_exhausted"},
		{"a raise", workflow.Budget{MaxCostUSD: 1}, func(d *desk) {
			d.apply("", &workflow.LimitRaised{CostUSD: 3})
		}, dollars(2), 2, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, budget(tt.budget, 1))
			if tt.before != nil {
				tt.before(d)
			}
			o, refused := d.g.Reserve("v", admission.Call{PromptBytes: 300, MaxOutput: 1000, MaxCost: tt.bound}, d.now)
			other := ""
			switch {
			case refused != nil:
				other = string(refused.Code)
			case o.Hold:
				other = "hold"
			}
			if other != tt.other || o.CostUSD < tt.cost-1e-9 || o.CostUSD > tt.cost+1e-9 {
				t.Errorf("$%g, %q; want $%g, %q", o.CostUSD, other, tt.cost, tt.other)
			}
		})
	}
}

// A child run gets nothing that a call on its way may still cost.
func TestMoneyOfChildren(t *testing.T) {
	t.Parallel()
	d := open(t, budget(workflow.Budget{MaxCostUSD: 1}, 1))
	d.call("x", 1, &workflow.InvocationReserved{CostUSD: 0.75})
	b, refused := d.g.ReserveChild("k")
	if refused != nil || b.MaxCostUSD != 0.25 {
		t.Errorf("it gets $%g, %v", b.MaxCostUSD, refused)
	}
	d.call("y", 1, &workflow.InvocationReserved{CostUSD: 0.25})
	if b, refused = d.g.ReserveChild("k"); refused == nil {
		t.Errorf("it gets $%g of nothing", b.MaxCostUSD)
	}
}

// Whatever calls cost within their bounds, and however they end, the sum never
// passes the limit.
func TestMoneyIsNeverOverspent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(0.01, 5).Draw(t, "limit")
		d := &desk{t: t, g: admission.New(budget(workflow.Budget{MaxCostUSD: limit}, 8)), now: 1_000_000}
		live := map[int]float64{}
		var spent float64
		for n := 1; n <= rapid.IntRange(1, 60).Draw(t, "calls"); n++ {
			bound := rapid.Float64Range(0, 1).Draw(t, "bound")
			o, refused := d.g.Reserve("v", admission.Call{PromptBytes: 9, MaxOutput: 9, MaxCost: dollars(bound)}, d.now)
			if refused == nil && !o.Hold {
				d.call("v", n, &workflow.InvocationReserved{Tokens: o.Tokens, CostUSD: o.CostUSD})
				live[n] = o.CostUSD
			}
			if refused != nil && len(live) > 0 && spent+bound <= limit {
				t.Fatalf("refused while %d calls may give back", len(live))
			}
			most := spent
			for _, c := range live {
				most += c
			}
			if most > limit+1e-6 {
				t.Fatalf("$%g may be spent of $%g", most, limit)
			}
			for id, c := range live {
				if len(live) < 8 && rapid.Bool().Draw(t, "runs on") {
					break
				}
				spent += d.end(id, c*rapid.Float64Range(0, 1).Draw(t, "part"), rapid.Bool().Draw(t, "lost"), c)
				delete(live, id)
				break
			}
		}
	})
}

// end settles a call and returns what it must count as.
func (d *desk) end(id int, cost float64, lost bool, bound float64) float64 {
	if lost {
		d.call("v", id, &workflow.InvocationSettled{Status: workflow.InvocationLost})
		return bound
	}
	d.call("v", id, &workflow.InvocationSettled{Status: workflow.InvocationOK, Usage: costing(cost)})
	return cost
}
