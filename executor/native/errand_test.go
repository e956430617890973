package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// errands are what the tool launch begins; each ends when it is let go.
type errands struct {
	mu     sync.Mutex
	waited map[string]int
	gone   map[string]chan struct{}
	fail   error
}

func newErrands(names ...string) *errands {
	e := &errands{waited: map[string]int{}, gone: map[string]chan struct{}{}}
	for _, n := range names {
		e.gone[n] = make(chan struct{})
	}
	return e
}

func (e *errands) launch(_ context.Context, c tool.Call) (tool.Result, error) {
	a, err := read(c)
	return tool.Result{Text: a.Text + " has begun", Begun: a.Text}, err
}

func (e *errands) await(ctx context.Context, c tool.Call, begun string) (string, error) {
	e.mu.Lock()
	e.waited[begun+" of "+c.Step]++
	over, fail := e.gone[begun], e.fail
	e.mu.Unlock()
	if fail != nil {
		return "", fail
	}
	select {
	case <-over:
		return begun + " gave 7", nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// executor is one whose turns have the tool launch beside the others.
func (e *errands) executor(t *testing.T, h *hands, v provider.Provider) *native.Executor {
	t.Helper()
	launch := tool.Tool{Name: "launch", Description: "begins something", Schema: json.RawMessage(argsSchema), Effect: workflow.EffectRead, Alone: true, Run: e.launch}
	set, err := tool.NewSet(append(h.set(t).Tools(), launch)...)
	if err != nil {
		t.Fatal(err)
	}
	cfg := h.config(t, v)
	old := cfg.Equip
	cfg.Equip = func(turn executor.Turn) (native.Gear, error) {
		g, err := old(turn)
		g.Tools, g.Await = set, e.await
		return g, err
	}
	return native.New(cfg)
}

// letGo is an answer that lets something end first.
func (e *errands) letGo(name string, then say) say {
	var once sync.Once
	return func(ctx context.Context, r provider.Request) (provider.Response, error) {
		once.Do(func() { close(e.gone[name]) })
		return then(ctx, r)
	}
}

// said are the ends that a request tells, in order.
func said(r provider.Request) (list []string) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if _, what, ok := strings.Cut(p.Text, "This is told once.]\n"); ok && m.Role == provider.RoleUser {
				list = append(list, what)
			}
		}
	}
	return list
}

// TestErrandsAreToldOnce: a turn goes on beside what it has begun, and is not over
// before it has been told the end of each. However often its process dies, it is
// the same conversation, and nothing is told twice.
func TestErrandsAreToldOnce(t *testing.T) {
	t.Parallel()
	play := func(left int) (executor.Reply, *journal, *errands, *voice) {
		h, j, e := newHands(t), newJournal(), newErrands("first", "second")
		v := &voice{says: []say{
			calls("launch", `{"text":"first"}`, "launch", `{"text":"second"}`), // 1
			calls("shell", `{"text":"meanwhile"}`),                             // 2
			e.letGo("second", words("I wait")),                                 // 3: waits for one
			e.letGo("first", words("I wait for the first")),                    // 4: waits for the other
			words("all done"), // 5
		}}
		j.left = left
		for range 50 {
			reply, err := e.executor(t, h, byRound(v)).Execute(t.Context(), h.turn(), j)
			if err == nil {
				return reply, j, e, v
			}
			if !errors.Is(err, errDead) && !errors.Is(err, errParked) {
				t.Fatalf("after record %d: %v", j.records, err)
			}
			for _, q := range j.questions {
				j.say(q.Key, "redo")
			}
			j.reopen(-1)
		}
		t.Fatal("the turn does not end")
		return executor.Reply{}, nil, nil, nil
	}
	whole, journal, e, v := play(-1)
	if whole.Text != "all done" || whole.Rounds != 5 || len(e.waited) != 2 {
		t.Fatalf("%+v, waited for %v", whole, e.waited)
	}
	if got := said(v.got[len(v.got)-1]); fmt.Sprint(got) != "[second gave 7 first gave 7]" {
		t.Errorf("the model is told %v", got)
	}
	if got := said(v.got[2]); len(got) != 0 {
		t.Errorf("before anything has ended it is told %v", got)
	}
	for n := 1; n <= journal.records; n++ {
		got, j, _, v := play(n)
		if got.Text != whole.Text || got.Rounds != whole.Rounds || len(j.changed) > 0 {
			t.Errorf("dead after record %d: %+v, the requests of %v are others than before", n, got, j.changed)
		}
		if got := said(v.got[len(v.got)-1]); len(got) != 2 || got[0] == got[1] {
			t.Errorf("dead after record %d: the model is told %v", n, got)
		}
	}
}

// byRound has a voice say what belongs to a round, also to the next process.
func byRound(v *voice) provider.Provider { return rounds{v} }

type rounds struct{ *voice }

// Stream implements provider.Provider.
func (r rounds) Stream(ctx context.Context, q provider.Request, _ func(provider.Delta)) (provider.Response, error) {
	n := 0
	for _, m := range q.Messages {
		if m.Role == provider.RoleAssistant {
			n++
		}
	}
	r.mu.Lock()
	r.got = append(r.got, q)
	r.mu.Unlock()
	return r.says[min(n, len(r.says)-1)](ctx, q)
}

// TestErrandThatCannotBeWaitedFor ends the turn: a resume goes on with it.
func TestErrandThatCannotBeWaitedFor(t *testing.T) {
	t.Parallel()
	h, j, e := newHands(t), newJournal(), newErrands("first")
	e.fail = workflow.Errorf(workflow.CodeInterrupted, "tenon was stopped")
	v := &voice{says: []say{calls("launch", `{"text":"first"}`), words("done")}}
	_, err := e.executor(t, h, v).Execute(t.Context(), h.turn(), j)
	if workflow.CodeOf(err) != workflow.CodeInterrupted || !strings.Contains(err.Error(), "waiting for first") {
		t.Fatalf("%v", err)
	}
	e.fail = nil
	close(e.gone["first"])
	r, err := e.executor(t, h, v).Execute(t.Context(), h.turn(), j)
	if err != nil || r.Text != "done" || j.sent["t/1"] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestErrandsOutliveTheRounds: a turn without responses left still hears the end of
// what it has begun, and may only answer then.
func TestErrandsOutliveTheRounds(t *testing.T) {
	t.Parallel()
	h, j, e := newHands(t), newJournal(), newErrands("first", "second")
	v := &voice{says: []say{
		calls("launch", `{"text":"first"}`, "launch", `{"text":"second"}`), e.letGo("first", words("I have no calls left")),
		e.letGo("second", words("one is over")), words("done"),
	}}
	turn := h.turn()
	turn.MaxTurns = 2
	r, err := e.executor(t, h, v).Execute(t.Context(), turn, j)
	if err != nil || r.Text != "done" || r.Rounds != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	for n, q := range v.got {
		if only := q.ToolChoice == provider.ChoiceNone; only != (n > 0) {
			t.Errorf("response %d may only answer: %v", n+1, only)
		}
	}
}
