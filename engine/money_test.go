package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/workflow"
)

// till watches what calls may cost and did cost.
type till struct {
	mu          sync.Mutex
	open, spent float64
	most        float64 // that might have been spent at any time
	atOnce, now int
}

func (c *till) take(bound float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.open += bound
	c.most, c.atOnce = max(c.most, c.open+c.spent), max(c.atOnce, c.now)
}

func (c *till) pay(bound, cost float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	c.open -= bound
	c.spent += cost
}

// TestMoneyIsReserved: however many calls run at once, what they can cost
// together is within the limit; the rest goes on after a raise.
func TestMoneyIsReserved(t *testing.T) {
	t.Parallel()
	const bound, cost, limit = 0.3, 0.1, 1.0
	r := newRig(t)
	r.w.most = &workflow.MaxCost{Sent: bound}
	var c till
	full := make(chan struct{})
	var once sync.Once
	r.w.model = func(ctx context.Context, _ string, _ executor.Grant) (executor.Done, error) {
		c.take(bound)
		c.mu.Lock()
		if c.atOnce == 3 {
			once.Do(func() { close(full) })
		}
		c.mu.Unlock()
		select { // the first ones overlap as far as they may
		case <-full:
		case <-ctx.Done():
			return executor.Done{}, ctx.Err()
		}
		d := said("yes", 10, 10)
		paid := cost
		d.Usage.CostUSD = &paid
		c.pay(bound, cost)
		return d, nil
	}
	res := r.run(def2("each", `"each":{"kind":"map","params":{"over":{"items":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]},"concurrency":8,"body":"one"},"ends":{"next":"join"}},`+
		`"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"done","fail":"bad"}},`+ends,
		`"components":{"one":{"entry":"w","nodes":{"w":{"kind":"step","params":{"name":"w","model":"N{{item.value}}"},"ends":{"next":null,"failed":null}}}}}`,
		`"budget":{"maxCostUsd":1}`, `"policies":{"concurrency":8}`))
	wantStatus(t, res, workflow.StatusExhausted)
	if c.most > limit+1e-9 || c.spent > limit || c.atOnce != 3 {
		t.Errorf("$%g might have been spent of $%g, $%g were, by %d calls at once", c.most, limit, c.spent, c.atOnce)
	}
	if left := limit - c.spent; left >= bound {
		t.Errorf("$%g were left, enough for a call", left)
	}
	if code := res.Unfinished[0].Code; code != workflow.CodeBudgetExhausted {
		t.Errorf("unfinished with %s", code)
	}
	for _, e := range r.w.events {
		if p, ok := e.Payload.(*workflow.InvocationReserved); ok && p.CostUSD != bound {
			t.Errorf("a call reserves $%g", p.CostUSD)
		}
	}
	before := r.w.calls.Load()
	wantStatus(t, r.drive(res.Run), workflow.StatusExhausted)
	if r.w.calls.Load() != before {
		t.Error("a resume without a raise makes calls")
	}
	r.send(res.Run, engine.Control{Raise: &workflow.LimitRaised{CostUSD: 2}})
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
	if c.most > 2+1e-9 || r.w.calls.Load() != 16 {
		t.Errorf("$%g might have been spent of $2, by %d calls for 16 items", c.most, r.w.calls.Load())
	}
}

// TestMoneyOfAnAgent: a call of an agent may say no more than the money of its
// agents can pay for, and is not sent when that is too little to be of use.
func TestMoneyOfAnAgent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		most   workflow.MaxCost
		limit  float64
		output int // that was granted; 0 is no call
	}{
		{"all of it", workflow.MaxCost{Sent: 0.1, Token: 0.001}, 9, 8192},
		{"less", workflow.MaxCost{Sent: 0.1, Token: 0.001}, 0.5, 400},
		{"just of use", workflow.MaxCost{Sent: 0.1, Token: 0.001}, 0.356, 256},
		{"of no use", workflow.MaxCost{Sent: 0.1, Token: 0.001}, 0.355, 0},
		{"not even what is sent", workflow.MaxCost{Sent: 0.1}, 0.09, 0},
		{"what is sent", workflow.MaxCost{Sent: 0.1}, 0.1, 8192},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.w.most, r.w.limits = &tc.most, &workflow.AgentLimits{MaxCostUSD: &tc.limit}
			got := 0
			r.w.model = func(_ context.Context, _ string, g executor.Grant) (executor.Done, error) {
				got = g.MaxOutput
				return said("yes", 10, 10), nil
			}
			r.run(def2("w", step("w", `,"model":"N"`, "done")+","+ends))
			if got != tc.output {
				t.Errorf("a call may answer %d tokens, want %d", got, tc.output)
			}
			for _, e := range r.w.events {
				if p, ok := e.Payload.(*workflow.InvocationReserved); ok && p.CostUSD > tc.limit+1e-6 {
					t.Errorf("$%g are reserved of $%g", p.CostUSD, tc.limit)
				}
			}
		})
	}
}
