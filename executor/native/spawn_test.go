package native_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/ledger"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/plan"
	"github.com/tenonrun/tenon/workflow"
)

// house is a journal that keeps accounts of agents, and reserves 100 tokens for
// each call of one.
type house struct {
	*journal
	mu    sync.Mutex
	tree  ledger.Tree
	calls int
	stop  map[string]context.CancelCauseFunc
	begun chan string // keys of agents that were started
}

func newHouse() *house {
	return &house{journal: newJournal(), stop: map[string]context.CancelCauseFunc{}, begun: make(chan string, 100)}
}

func (h *house) fold(n int, p workflow.Payload) {
	h.tree.Apply(workflow.Event{Invocation: n, Payload: p}, 0)
}

func (h *house) Spawn(_ context.Context, a workflow.AgentStarted) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tree.Accounts[a.Key] != nil {
		return nil
	}
	if r := h.tree.Spawn(a.Parent); r != nil && a.Depth > 0 {
		return &executor.SpawnRefused{Limit: r.Limit, Max: r.Max, Used: r.Used, Agent: r.Agent}
	}
	h.fold(0, &a)
	h.begun <- a.Key
	return nil
}

func (h *house) Despawn(_ context.Context, e workflow.AgentEnded) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fold(0, &e)
	return nil
}

func (h *house) Scope(ctx context.Context, key string) (context.Context, func()) {
	scope, stop := context.WithCancelCause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stop[key] = stop
	return scope, func() { stop(nil) }
}

func (h *house) Left(_ context.Context, agent, call string) (workflow.Allowance, error) {
	if _, settled := h.memo(call); settled {
		return workflow.Allowance{}, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tree.Left(agent, 0), nil
}

func (h *house) Call(ctx context.Context, c executor.Call) (json.RawMessage, error) {
	if m, ok := h.memo(c.Key); ok {
		return m, nil
	}
	h.mu.Lock()
	h.calls++
	n := h.calls
	room := h.tree.Room(c.Agent, 0, c.Last)
	if room.Tokens >= 0 && room.Tokens < 100 {
		h.mu.Unlock()
		return nil, workflow.Errorf(workflow.CodeAgentBudget, "%d tokens are left", room.Tokens)
	}
	h.fold(n, &workflow.InvocationReserved{Agent: c.Agent, Tokens: 100})
	h.mu.Unlock()
	m, err := h.journal.Call(ctx, c)
	in, out := int64(90), int64(10)
	h.mu.Lock()
	h.fold(n, &workflow.InvocationSettled{Usage: workflow.Usage{Input: &in, Output: &out}})
	h.mu.Unlock()
	return m, err
}

// team plays a scripted tree of agents in which each has the tool task.
func team(t *testing.T, h *house, yaml string, tune func(*native.Config, *executor.Turn)) (executor.Reply, error) {
	t.Helper()
	hands := newHands(t)
	set, err := tool.NewSet(plan.Tools(nil)...)
	if err != nil {
		t.Fatal(err)
	}
	cfg := native.Config{Provider: script(t, yaml), Model: "m", Submit: plan.Submit, Equip: func(executor.Turn) (native.Gear, error) {
		return native.Gear{Tools: set, Open: func(context.Context) (tool.Fence, error) { return hands.fence, nil }}, nil
	}}
	in := hands.turn()
	in.Prompt = "lead"
	if tune != nil {
		tune(&cfg, &in)
	}
	var e *native.Executor
	cfg.Spawn = func(_ context.Context, parent executor.Turn, task tool.Task) (native.Child, error) {
		if task.Agent == "nobody" {
			return native.Child{}, &tool.Failed{What: "there is no agent nobody"}
		}
		return native.Child{Executor: e, Name: "kid", Version: "1.0.0", Turn: executor.Turn{Prompt: task.Prompt, Dir: parent.Dir, Access: parent.Access}}, nil
	}
	e = native.New(cfg)
	return e.Execute(t.Context(), in, h)
}

func limited(tokens int64, spawns int) func(*native.Config, *executor.Turn) {
	return func(_ *native.Config, in *executor.Turn) {
		in.Limits = &workflow.AgentLimits{MaxTokens: &tokens, MaxSpawns: &spawns}
	}
}

func TestAgentsStartAgents(t *testing.T) {
	t.Parallel()
	h := newHouse()
	r, err := team(t, h, `
version: 1
replies:
  - {match: lead, turn: 1, tool_calls: [{name: task, args: {prompt: one}}, {name: task, args: {prompt: two}}, {name: task, args: {prompt: x, agent: nobody}}]}
  - {match: lead, text: both are done}
  - {match: one, turn: 1, tool_calls: [{name: task, args: {prompt: deep}}]}
  - {text: "done by a kid"}
`, nil)
	if err != nil || r.Text != "both are done" || r.Agents != 3 || r.Drained {
		t.Fatalf("%+v, %v", r, err)
	}
	var labels []string
	for _, a := range h.tree.List() {
		labels = append(labels, a.Label)
		if a.Depth > 0 && (a.Ended == nil || a.Ended.Status != workflow.AgentSucceeded) {
			t.Errorf("agent %s ended as %+v", a.Label, a.Ended)
		}
	}
	if got := strings.Join(labels, " "); got != " kid kid kid/kid" {
		t.Errorf("the agents are %q", got)
	}
	if n := h.tree.Accounts["t"].Spent.Calls; n != 5 {
		t.Errorf("%d calls are charged to the first agent", n) // all but its own before it had an account
	}
	for _, m := range []string{"there is no agent nobody", "done by a kid", "[agent kid: it used"} {
		found := false
		for _, memo := range h.memos {
			found = found || strings.Contains(string(memo), m)
		}
		if !found {
			t.Errorf("no result holds %q", m)
		}
	}
}

// A turn that is run again starts no agent twice, and gives the same.
func TestAgentsAreReplayed(t *testing.T) {
	t.Parallel()
	const tale = `
version: 1
replies:
  - {match: lead, turn: 1, tool_calls: [{name: task, args: {prompt: one}}, {name: task, args: {prompt: two}}]}
  - {match: lead, text: both are done}
  - {text: "done by a kid"}
`
	h := newHouse()
	if _, err := team(t, h, tale, nil); err != nil {
		t.Fatal(err)
	}
	records, spent := h.records, h.tree.Accounts["t"].Spent
	r, err := team(t, h, tale, nil)
	if err != nil || r.Text != "both are done" || h.records != records || h.tree.Accounts["t"].Spent != spent {
		t.Errorf("%+v, %v; %d records were made again", r, err, h.records-records)
	}
}

func TestRefusedAgents(t *testing.T) {
	t.Parallel()
	h := newHouse()
	r, err := team(t, h, `
version: 1
replies:
  - {match: "two responses left", text: what I have}
  - {match: lead, tool_calls: [{name: task, args: {prompt: more}}]}
  - {text: done}
`, limited(1_000_000, 1))
	if err != nil || r.Text != "what I have" || r.Drained || r.Agents != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	refused := 0
	for _, memo := range h.memos {
		if strings.Contains(string(memo), "SPAWN_REFUSED") {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d refusals came before the end", refused)
	}
}

const toiler = `
version: 1
replies:
  - {match: "limit was raised", text: all of it}
  - {match: "two responses left", turn: 6, tool_calls: [{name: todo_write, args: {todos: [{id: a, content: save, status: pending}]}}]}
  - {match: "two responses left", text: half of it}
  - {match: "Come to an end", tool_calls: [{name: todo_write, args: {todos: [{id: a, content: hurry, status: pending}]}}]}
  - {match: lead, tool_calls: [{name: todo_write, args: {todos: [{id: a, content: work, status: pending}]}}]}
`

// An agent is told near its limit, saves its work with what is kept back, and goes
// on after a raise in the same conversation.
func TestALastWord(t *testing.T) {
	t.Parallel()
	h := newHouse()
	var offered [][]string
	tune := func(c *native.Config, in *executor.Turn) {
		limited(500, 9)(c, in)
		c.Provider = &spy{c.Provider, func(r provider.Request) {
			var names []string
			for _, s := range r.Tools {
				names = append(names, s.Name)
			}
			offered = append(offered, names)
		}}
	}
	r, err := team(t, h, toiler, tune)
	if err != nil || r.Text != "half of it" || !r.Drained || r.Rounds != 7 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := strings.Join(offered[len(offered)-1], " "); got != "todo_write" {
		t.Errorf("with its last words it may use %q", got)
	}
	if n := h.tree.Accounts["t"].Spent.Input + h.tree.Accounts["t"].Spent.Output; n != 700 {
		t.Errorf("it used %d tokens of 500 and what is kept back", n)
	}
	again, err := team(t, h, toiler, tune)
	if err != nil || again.Text != r.Text || h.calls != 7 {
		t.Errorf("run again without a raise, it gives %+v after %d calls, %v", again, h.calls, err)
	}
	h.fold(0, &workflow.LimitRaised{Tokens: 5000})
	if r, err = team(t, h, toiler, tune); err != nil || r.Text != "all of it" || r.Drained || h.calls != 8 {
		t.Errorf("after a raise, it gives %+v after %d calls, %v", r, h.calls, err)
	}
}

// An agent is told at its own mark, and a last word uses no more than was kept back
// for it.
func TestMarks(t *testing.T) {
	t.Parallel()
	soft := 0.4
	for grace, used := range map[float64]int64{0: 500, 0.2: 600, 0.4: 700, 1: 700} {
		h := newHouse()
		r, err := team(t, h, toiler, func(c *native.Config, in *executor.Turn) {
			limited(500, 9)(c, in)
			in.Limits.Soft, in.Limits.Grace = &soft, &grace
		})
		if err != nil || !r.Drained {
			t.Fatalf("%+v, %v", r, err)
		}
		if n := h.tree.Accounts["t"].Spent.Input + h.tree.Accounts["t"].Spent.Output; n != used {
			t.Errorf("grace %v: it used %d tokens of 500, want %d", grace, n, used)
		}
		if m := string(h.memos["t/3/limits"]); !strings.Contains(m, `"used":200`) {
			t.Errorf("before its third response it was told %s", m)
		}
	}
}

// spy sees requests.
type spy struct {
	provider.Provider
	see func(provider.Request)
}

func (s *spy) Stream(ctx context.Context, r provider.Request, show func(provider.Delta)) (provider.Response, error) {
	s.see(r)
	return s.Provider.Stream(ctx, r, show)
}

func (s *spy) Capabilities(model string) provider.Capabilities {
	return s.Provider.(provider.Capable).Capabilities(model)
}

func TestStrictLimitsEndEverything(t *testing.T) {
	t.Parallel()
	_, err := team(t, newHouse(), toiler, func(c *native.Config, in *executor.Turn) {
		limited(500, 9)(c, in)
		in.Limits.Strict = true
	})
	if workflow.CodeOf(err) != workflow.CodeCompositionBudget {
		t.Errorf("%v", err)
	}
}

// A person stops one agent: the one that started it is told, and goes on.
func TestStoppedAgent(t *testing.T) {
	t.Parallel()
	h := newHouse()
	go func() {
		for key := range h.begun {
			if strings.HasSuffix(key, "/agent") {
				for {
					h.mu.Lock()
					stop := h.stop[key]
					h.mu.Unlock()
					if stop != nil {
						stop(workflow.Errorf(workflow.CodeSkipped, "a person stopped the agent"))
						return
					}
				}
			}
		}
	}()
	r, err := team(t, h, `
version: 1
replies:
  - {match: lead, turn: 1, tool_calls: [{name: task, args: {prompt: never}}]}
  - {match: lead, text: went on}
  - {match: never, hang: true}
`, nil)
	if err != nil || r.Text != "went on" {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, a := range h.tree.List() {
		if a.Depth > 0 && (a.Ended == nil || a.Ended.Code != workflow.CodeSkipped) {
			t.Errorf("the agent ended as %+v", a.Ended)
		}
	}
}

// What is said after an answer goes on in the same conversation.
func TestThen(t *testing.T) {
	t.Parallel()
	h := newHouse()
	r, err := team(t, h, `
version: 1
replies:
  - {match: mend, text: mended}
  - {match: lead, text: first}
`, func(_ *native.Config, in *executor.Turn) { in.Then = []string{"mend it"} })
	if err != nil || r.Text != "mended" || r.Rounds != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
}
