package admission_test

import (
	"testing"
	"time"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

func usage(in, out int64) workflow.Usage { return workflow.Usage{Input: &in, Output: &out} }

func budget(b workflow.Budget, concurrency int) workflow.Options {
	return workflow.Options{Budget: b, Policies: workflow.Policies{Concurrency: concurrency}}
}

// offer is what Reserve says: tokens of output and of the bound, "hold" or a code.
type offer struct {
	output int
	tokens int64
	other  string
}

func (d *desk) reserve(visit string, prompt, wish int) offer {
	o, r := d.g.Reserve(workflow.VisitID(visit), admission.Call{PromptBytes: prompt, MaxOutput: wish}, d.now)
	switch {
	case r != nil:
		return offer{other: string(r.Code)}
	case o.Hold:
		return offer{other: "hold"}
	}
	return offer{output: o.Output, tokens: o.Tokens}
}

func TestOffers(t *testing.T) {
	t.Parallel()
	live := func(n int64) func(*desk) {
		return func(d *desk) { d.call("x", 1, &workflow.InvocationReserved{Tokens: n}) }
	}
	spent := func(n int64) func(*desk) {
		return func(d *desk) {
			d.call("x", 9, &workflow.InvocationReserved{Tokens: n})
			d.call("x", 9, &workflow.InvocationSettled{Status: workflow.InvocationOK, Usage: usage(n, 0)})
		}
	}
	tests := []struct {
		name         string
		max          int64
		concurrency  int
		before       func(*desk)
		prompt, wish int
		want         offer
	}{
		{"no budget", 0, 1, nil, 300, 0, offer{output: 8192, tokens: 8292}},
		{"what is wished for", 0, 1, nil, 301, 1000, offer{output: 1000, tokens: 1101}},
		{"within the budget", 10_000, 1, nil, 300, 1000, offer{output: 1000, tokens: 1100}},
		{"cut to what is left", 1000, 1, nil, 300, 8192, offer{output: 900, tokens: 1000}},
		{"a share for each free slot", 4000, 4, nil, 300, 8192, offer{output: 900, tokens: 1000}},
		{"one slot is taken", 4000, 4, live(1000), 300, 8192, offer{output: 900, tokens: 1000}},
		{"a fair share that is no use", 1000, 4, nil, 300, 8192, offer{output: 256, tokens: 356}},
		{"a small wish fits", 1000, 4, nil, 300, 100, offer{output: 100, tokens: 200}},
		{"too little, and nothing runs", 1000, 1, spent(700), 600, 8192, offer{other: "budget_exhausted"}},
		{"too little, and something runs", 1000, 2, live(700), 600, 8192, offer{other: "hold"}},
		{"all is spent", 1000, 1, spent(1000), 30, 100, offer{other: "budget_exhausted"}},
		{"more than all is spent", 1000, 1, spent(5000), 30, 100, offer{other: "budget_exhausted"}},
		{"just the useful minimum", 1000, 1, spent(744), 0, 8192, offer{output: 256, tokens: 256}},
		{"less than it", 1000, 1, spent(745), 0, 8192, offer{other: "budget_exhausted"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, budget(workflow.Budget{MaxTokens: tt.max}, tt.concurrency))
			if tt.before != nil {
				tt.before(d)
			}
			if got := d.reserve("v", tt.prompt, tt.wish); got != tt.want {
				t.Errorf("offer %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Whatever is offered, all that runs at once stays within the budget.
func TestOffersNeverExceedTheBudget(t *testing.T) {
	t.Parallel()
	for concurrency := 1; concurrency <= 6; concurrency++ {
		d := open(t, budget(workflow.Budget{MaxTokens: 5000}, concurrency))
		var sum int64
		for n := 1; n <= concurrency; n++ {
			o := d.reserve("v", 900, 4000)
			if o.other != "" {
				break
			}
			sum += o.tokens
			d.call("v", n, &workflow.InvocationReserved{Tokens: o.tokens})
		}
		if sum > 5000 || sum == 0 || d.g.Reserved() != sum {
			t.Errorf("%d at once reserve %d of 5000, the gate knows of %d", concurrency, sum, d.g.Reserved())
		}
	}
}

func TestSettlements(t *testing.T) {
	t.Parallel()
	in := int64(300)
	cost := 0.5
	tests := []struct {
		name   string
		status string
		usage  workflow.Usage
		left   int64 // of 10,000 after a reservation of 2,000
		spent  workflow.Totals
	}{
		{"known", workflow.InvocationOK, workflow.Usage{Input: &in, Output: &in, CostUSD: &cost}, 9400, workflow.Totals{Calls: 1, Input: 300, Output: 300, CostUSD: 0.5}},
		{"unknown keeps its bound", workflow.InvocationOK, workflow.Usage{}, 8000, workflow.Totals{Calls: 1, UnknownTokens: 1, UnknownCost: 1}},
		{"half known keeps the rest of it", workflow.InvocationOK, workflow.Usage{Input: &in}, 8000, workflow.Totals{Calls: 1, Input: 300, UnknownTokens: 1, UnknownCost: 1}},
		{"lost keeps its bound", workflow.InvocationLost, workflow.Usage{}, 8000, workflow.Totals{Calls: 1, UnknownTokens: 1, UnknownCost: 1}},
		{"failed gives it back", workflow.InvocationFailed, usage(0, 0), 10_000, workflow.Totals{Calls: 1, UnknownCost: 1}},
		{"failed and unknown gives it back", workflow.InvocationFailed, workflow.Usage{}, 10_000, workflow.Totals{Calls: 1, UnknownTokens: 1, UnknownCost: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, budget(workflow.Budget{MaxTokens: 10_000}, 1))
			d.call("v", 1, &workflow.InvocationReserved{Tokens: 2000})
			if d.g.Reserved() != 2000 {
				t.Errorf("%d are reserved", d.g.Reserved())
			}
			d.call("v", 1, &workflow.InvocationSettled{Status: tt.status, Usage: tt.usage})
			if got := d.g.Spent(); got != tt.spent || d.g.Reserved() != 0 {
				t.Errorf("spent %+v, reserved %d", got, d.g.Reserved())
			}
			if o := d.reserve("v", 0, 1_000_000); o.tokens != tt.left {
				t.Errorf("%d are left, want %d", o.tokens, tt.left)
			}
		})
	}
}

func TestBudgetsRefuseVisits(t *testing.T) {
	t.Parallel()
	spend := func(tokens int64, cost float64) func(*desk) {
		return func(d *desk) {
			u := usage(tokens, 0)
			u.CostUSD = &cost
			d.call("x", 1, &workflow.InvocationReserved{Tokens: tokens, CostUSD: cost})
			d.call("x", 1, &workflow.InvocationSettled{Status: workflow.InvocationOK, Usage: u})
		}
	}
	tests := []struct {
		name   string
		budget workflow.Budget
		before func(*desk)
		want   string
	}{
		{"enough", workflow.Budget{MaxTokens: 1000}, spend(744, 0), "+s, +r, +a"},
		{"tokens", workflow.Budget{MaxTokens: 1000}, spend(745, 0), "+s, +r, -a budget_exhausted"},
		{"money", workflow.Budget{MaxCostUSD: 1}, spend(1, 1), "+s, +r, -a budget_exhausted"},
		{"money is left", workflow.Budget{MaxCostUSD: 1}, spend(1, 0.99), "+s, +r, +a"},
		{"a child spent it", workflow.Budget{MaxTokens: 1000}, func(d *desk) {
			d.apply("k", &workflow.ChildEnded{Usage: workflow.Totals{Calls: 3, Input: 900, Output: 50}})
		}, "+s, +r, -a budget_exhausted"},
		{"money nobody knows", workflow.Budget{MaxCostUSD: 1}, func(d *desk) {
			d.call("x", 1, &workflow.InvocationReserved{CostUSD: 1})
			d.call("x", 1, &workflow.InvocationSettled{Status: workflow.InvocationLost})
		}, "+s, +r, -a budget_exhausted"},
		{"calls that may give something back", workflow.Budget{MaxTokens: 1000}, func(d *desk) {
			d.call("x", 1, &workflow.InvocationReserved{Tokens: 900})
		}, "+s, +r"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, budget(tt.budget, 4))
			tt.before(d)
			d.want("s:s", "r:r", "ra:a")
			d.is(tt.want)
		})
	}
}

func TestRaises(t *testing.T) {
	t.Parallel()
	d := open(t, budget(workflow.Budget{MaxTokens: 300, MaxCostUSD: 1, MaxDurationMs: 1000}, 1))
	d.call("x", 1, &workflow.InvocationReserved{Tokens: 300})
	d.call("x", 1, &workflow.InvocationSettled{Status: workflow.InvocationOK, Usage: usage(300, 0)})
	d.want("ra:a")
	d.is("-a budget_exhausted")
	d.want("ra:a")
	d.is("-a budget_exhausted")
	d.apply("", &workflow.LimitRaised{Tokens: 2000})
	d.want("ra:a")
	d.is("+a")
	d.apply("", &workflow.LimitRaised{CostUSD: 2, DurationMs: 3000})
	if got := d.g.Options().Budget; got != (workflow.Budget{MaxTokens: 2000, MaxCostUSD: 2, MaxDurationMs: 3000}) {
		t.Errorf("budget %+v", got)
	}
}

func TestUnlimitedVisits(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{Budget: workflow.Budget{MaxTokens: 100}, Transitions: 0, Policies: workflow.Policies{FailFast: 1, Concurrency: 1}})
	d.want("ra:a")
	d.is("-a budget_exhausted")
	c := wish("ra:last")
	c.Unlimited = true
	d.g.Want(c)
	d.is("+last")
	if o := d.reserve("last", 300, 500); o != (offer{output: 500, tokens: 600}) {
		t.Errorf("offer %+v", o)
	}
}

// A fork shows what it inherited, and begins with an empty account.
func TestForksInherit(t *testing.T) {
	t.Parallel()
	d := open(t, budget(workflow.Budget{MaxTokens: 1000}, 1))
	d.call("x", 1, &workflow.InvocationReserved{Tokens: 900})
	d.call("x", 1, &workflow.InvocationSettled{Status: workflow.InvocationOK, Usage: usage(600, 100)})
	d.call("x", 2, &workflow.InvocationReserved{Tokens: 200})
	d.call("x", 2, &workflow.InvocationSettled{Status: workflow.InvocationLost})
	d.call("x", 3, &workflow.InvocationReserved{Tokens: 50})
	d.apply("", &workflow.Forked{Parent: "r", Cut: 6})
	if got := d.g.Spent(); got != (workflow.Totals{}) || d.g.Reserved() != 0 {
		t.Errorf("the fork has spent %+v and reserved %d", got, d.g.Reserved())
	}
	if got := d.g.Inherited(); got.Input != 600 || got.Output != 100 || got.Calls != 2 {
		t.Errorf("it inherited %+v", got)
	}
	if o := d.reserve("v", 0, 5000); o.tokens != 1000 {
		t.Errorf("offer %+v", o)
	}
	d.call("x", 4, &workflow.InvocationReserved{Tokens: 10})
	d.call("x", 4, &workflow.InvocationSettled{Status: workflow.InvocationOK, Usage: usage(5, 5)})
	d.apply("", &workflow.Forked{Parent: "f", Cut: 9})
	if got := d.g.Inherited(); got.Input != 605 || got.Calls != 3 {
		t.Errorf("a fork of it inherited %+v", got)
	}
}

// Active time is that in which attempts of pieces run, once however many do.
func TestDuration(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	start := func(t *testing.T) *desk {
		t.Helper()
		d := open(t, budget(workflow.Budget{MaxDurationMs: limit.Milliseconds()}, 9))
		d.want("r:a", "r:b", "s:s")
		d.is("+a, +b, +s")
		return d
	}
	// left finds out how much time is left, with a visit that is not admitted.
	left := func(d *desk) time.Duration {
		d.want("r:probe")
		for n := time.Duration(0); ; n += time.Second {
			v, ok := d.g.Next(d.now)
			if !ok || n > time.Minute {
				d.t.Fatalf("the time does not run out")
			}
			if v.Refused != nil {
				d.g.Drop("probe")
				return n
			}
			d.wait(time.Second)
		}
	}
	t.Run("running", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.wait(4 * time.Second)
		d.done("a")
		d.wait(2 * time.Second)
		if got := left(d); got != 4*time.Second {
			t.Errorf("%s are left, want 4s", got)
		}
		if o := d.reserve("b", 30, 100); o.other != "budget_exhausted" {
			t.Errorf("a call after it: %+v", o)
		}
		d.want("s:t") // the graph's own visits may lead to an end
		d.is("+t")
	})
	idle := func(d *desk) { // an attempt to measure with
		d.want("r:m")
		d.is("+m")
	}
	t.Run("a person thinks", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.wait(time.Second)
		d.done("b")
		d.wait(time.Second)
		d.apply("a", &workflow.QuestionOpened{})
		d.wait(72 * time.Hour)
		idle(d)
		if got := left(d); got != 8*time.Second {
			t.Errorf("%s are left, want 8s", got)
		}
	})
	t.Run("the process died", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.wait(3 * time.Second)
		d.apply("a", &workflow.Progress{Kind: "note"}) // its last sign of life
		d.wait(72 * time.Hour)
		d.apply("", &workflow.Resumed{})
		d.apply("a", &workflow.Lost{Code: workflow.CodeOwnerLost})
		d.apply("b", &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true})
		idle(d)
		if got := left(d); got != 7*time.Second {
			t.Errorf("%s are left, want 7s", got)
		}
	})
	t.Run("the process was stopped", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.wait(3 * time.Second)
		d.apply("a", &workflow.Lost{Code: workflow.CodeInterrupted})
		d.apply("b", &workflow.Lost{Code: workflow.CodeInterrupted})
		d.wait(72 * time.Hour)
		d.apply("", &workflow.Resumed{})
		idle(d)
		if got := left(d); got != 7*time.Second {
			t.Errorf("%s are left, want 7s", got)
		}
	})
	t.Run("it goes on by itself after a quota", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.wait(3 * time.Second)
		d.apply("", &workflow.Resumed{By: "wait-quota"}) // a and b run all the while
		d.wait(time.Second)
		d.done("a", "b")
		idle(d)
		if got := left(d); got != 6*time.Second {
			t.Errorf("%s are left, want 6s", got)
		}
	})
	t.Run("a fork", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.wait(3 * time.Second)
		d.apply("", &workflow.Forked{})
		d.wait(time.Hour)
		d.apply("", &workflow.Resumed{})
		d.apply("a", &workflow.Lost{Code: workflow.CodeOwnerLost})
		d.apply("b", &workflow.Lost{Code: workflow.CodeOwnerLost})
		if n := d.g.Running(); n != 0 {
			t.Errorf("%d attempts run", n)
		}
		idle(d)
		if got := left(d); got != limit {
			t.Errorf("%s are left, want all of it", got)
		}
	})
}

// Snapshots that do not fit are refused.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{`, `[]`, `{"wanted":["nobody"]}`} {
		if g, err := admission.Restore([]byte(raw)); err == nil {
			t.Errorf("%s becomes %+v", raw, g)
		}
	}
}
