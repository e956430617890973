package ledger_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/ledger"
	"github.com/tenonrun/tenon/workflow"
)

func ptr[T any](v T) *T { return &v }

// book is a tree with a short way to write to it.
type book struct {
	ledger.Tree
	calls int
}

func (b *book) start(key, parent string, depth int, l *workflow.AgentLimits) {
	b.Apply(workflow.Event{Payload: &workflow.AgentStarted{Key: key, Parent: parent, Depth: depth, Limits: l}}, 0)
}

func (b *book) end(key string) {
	b.Apply(workflow.Event{Payload: &workflow.AgentEnded{Key: key, Status: workflow.AgentSucceeded}}, 0)
}

// reserve begins a call and returns how to settle it.
func (b *book) reserve(agent string, tokens int64) func(in, out *int64) {
	b.calls++
	n := b.calls
	b.Apply(workflow.Event{Invocation: n, Payload: &workflow.InvocationReserved{Agent: agent, Tokens: tokens}}, 0)
	return func(in, out *int64) {
		b.Apply(workflow.Event{Invocation: n, Payload: &workflow.InvocationSettled{Usage: workflow.Usage{Input: in, Output: out}}}, 0)
	}
}

// A lead with two auditors, one of which has a delegate of its own.
func closing() *book {
	b := &book{}
	b.start("r", "", 0, &workflow.AgentLimits{MaxDepth: ptr(2), MaxFanout: ptr(2), MaxSpawns: ptr(5)})
	return b
}

func TestStructuralLimits(t *testing.T) {
	t.Parallel()
	b := closing()
	spawn := func(key, parent string, depth int, want string) {
		t.Helper()
		got := ""
		if r := b.Spawn(parent); r != nil {
			got = r.Limit
		} else {
			b.start(key, parent, depth, nil)
		}
		if got != want {
			t.Fatalf("%s below %s: refused by %q, want %q", key, parent, got, want)
		}
	}
	spawn("eu", "r", 1, "")
	spawn("us", "r", 1, "")
	spawn("jp", "r", 1, "maxFanout")
	spawn("eu/x", "eu", 2, "")
	spawn("eu/x/y", "eu/x", 3, "maxDepth")
	b.end("eu/x")
	b.end("eu")
	b.end("eu") // again, after a crash
	spawn("jp", "r", 1, "")
	spawn("br", "r", 1, "maxFanout")
	b.end("us")
	b.end("jp")
	spawn("br", "r", 1, "")
	b.end("br")
	b.start("br", "r", 1, nil) // the same key is not charged again
	spawn("ca", "r", 1, "maxSpawns")
	if r := b.Spawn("r"); r == nil || r.Max != 5 || r.Used != 5 || r.Agent != "r" {
		t.Errorf("the refusal says %+v", r)
	}
}

func TestNoLimitsNoRefusal(t *testing.T) {
	t.Parallel()
	b := &book{}
	b.start("0", "", 0, nil)
	for d := 1; d < 9; d++ {
		if r := b.Spawn(fmt.Sprint(d - 1)); r != nil {
			t.Fatalf("depth %d: %+v", d, r)
		}
		b.start(fmt.Sprint(d), fmt.Sprint(d-1), d, nil)
	}
	if room := b.Room("8", time.Hour, false); room.Tokens != -1 || room.CostUSD != -1 || room.Over {
		t.Errorf("%+v", room)
	}
	if got := b.Left("8", 0); got.Limit != "" || got.Near() || got.Over() {
		t.Errorf("%+v", got)
	}
}

// A child can only tighten: what it declares above its parent's limit is no right.
func TestChildrenOnlyTighten(t *testing.T) {
	t.Parallel()
	b := &book{}
	b.start("r", "", 0, &workflow.AgentLimits{MaxSpawns: ptr(2), MaxTokens: ptr(int64(1000))})
	b.start("c", "r", 1, &workflow.AgentLimits{MaxSpawns: ptr(50), MaxTokens: ptr(int64(9000)), MaxDepth: ptr(0)})
	if r := b.Spawn("c"); r == nil || r.Limit != "maxDepth" || r.Agent != "c" {
		t.Errorf("%+v", r)
	}
	if room := b.Room("c", 0, false); room.Tokens != 1000 || room.Agent != "r" {
		t.Errorf("%+v", room)
	}
	b.reserve("r", 800)(ptr(int64(700)), ptr(int64(100)))
	if room := b.Room("c", 0, false); room.Tokens != 200 {
		t.Errorf("what the parent used is not missing: %+v", room)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	b := &book{}
	b.start("r", "", 0, &workflow.AgentLimits{MaxTokens: ptr(int64(100_000)), MaxDurationMs: ptr(int64(1000))})
	b.start("c", "r", 1, nil)
	settle := b.reserve("c", 30_000)
	if room := b.Room("r", 0, false); room.Tokens != 70_000 {
		t.Errorf("a call on its way is not reserved: %+v", room)
	}
	settle(nil, nil)
	if room := b.Room("r", 0, false); room.Tokens != 70_000 {
		t.Errorf("usage that nobody knows counts as nothing: %+v", room)
	}
	b.reserve("c", 60_000)(ptr(int64(49_000)), ptr(int64(1_000)))
	near := b.Left("c", 0)
	if !near.Near() || near.Over() || near.Limit != "tokens" || near.Used != 80_000 {
		t.Errorf("%+v", near)
	}
	if room := b.Room("c", 0, true); room.Tokens != 25_000 {
		t.Errorf("a last word may use %+v", room)
	}
	if room := b.Room("c", 2*time.Second, false); !room.Over {
		t.Error("the time is up, and the account does not say so")
	}
	b.Apply(workflow.Event{Payload: &workflow.LimitRaised{Tokens: 200_000, DurationMs: 5000}}, 0)
	if room := b.Room("c", 2*time.Second, false); room.Over || room.Tokens != 120_000 {
		t.Errorf("after a raise: %+v", room)
	}
}

// Each account has marks of its own; what is over counts before what is near, and
// that before the largest part.
func TestMarks(t *testing.T) {
	t.Parallel()
	b := &book{}
	b.start("r", "", 0, &workflow.AgentLimits{MaxTokens: ptr(int64(10_000)), Soft: ptr(0.3), Grace: ptr(0.1)})
	b.start("c", "r", 1, &workflow.AgentLimits{MaxTokens: ptr(int64(8_000)), Grace: ptr(0.0)})
	near := func(used int64, limit string, soft, over bool, max float64) {
		t.Helper()
		if used > 0 {
			b.reserve("c", used)(ptr(used), ptr(int64(0)))
		}
		if got := b.Left("c", 0); got.Limit != limit || got.Near() != soft || got.Over() != over || got.Max != max {
			t.Errorf("%+v", got)
		}
	}
	near(2000, "tokens", false, false, 8000)
	near(1000, "tokens", true, false, 10_000)
	near(4000, "tokens", true, false, 8000)
	near(1000, "tokens", true, true, 8000)
	if room := b.Room("c", 0, true); room.Tokens != 0 || room.Agent != "c" {
		t.Errorf("without grace a last word may use %+v", room)
	}
	if room := b.Room("r", 0, true); room.Tokens != 3000 {
		t.Errorf("a tenth is kept back, and a last word may use %+v", room)
	}
}

// However many ask at once, what is granted and used never passes a limit, and a
// tree that went through a snapshot says the same.
func TestNeverPastALimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &book{}
		limits := map[string]int64{}
		keys := []string{"0"}
		b.start("0", "", 0, &workflow.AgentLimits{MaxTokens: ptr(int64(5000))})
		limits["0"] = 5000
		var open []func(in, out *int64)
		var granted []int64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at := rapid.SampledFrom(keys).Draw(t, "agent")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				key := at + "/" + fmt.Sprint(len(keys))
				var l *workflow.AgentLimits
				if rapid.Bool().Draw(t, "own") {
					own := rapid.Int64Range(0, 8000).Draw(t, "limit")
					l, limits[key] = &workflow.AgentLimits{MaxTokens: &own}, own
				}
				b.start(key, at, b.Accounts[at].Depth+1, l)
				keys = append(keys, key)
			case 1:
				if room := b.Room(at, 0, false).Tokens; room > 0 {
					n := rapid.Int64Range(1, room).Draw(t, "tokens")
					open, granted = append(open, b.reserve(at, n)), append(granted, n)
				}
			default:
				if len(open) == 0 {
					continue
				}
				used := rapid.Int64Range(0, granted[0]).Draw(t, "used")
				if rapid.Bool().Draw(t, "told") {
					open[0](&used, ptr(int64(0)))
				} else {
					open[0](nil, nil)
				}
				open, granted = open[1:], granted[1:]
			}
		}
		for key, limit := range limits {
			a := b.Accounts[key]
			if n := a.Spent.Input + a.Spent.Output + a.Unknown; n > limit {
				t.Fatalf("agent %s used %d of %d", key, n, limit)
			}
		}
		raw, err := json.Marshal(b.Tree)
		var again ledger.Tree
		if err == nil {
			err = json.Unmarshal(raw, &again)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if a, b := b.Room(key, 0, false), again.Room(key, 0, false); !reflect.DeepEqual(a, b) {
				t.Fatalf("agent %s: %+v, after a snapshot %+v", key, a, b)
			}
		}
	})
}
