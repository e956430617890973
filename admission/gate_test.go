package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

func TestReadersTogetherWritersAlone(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{})
	d.want("r:a", "r:b", "w:c", "r:d", ":e", "w:f", "s:g")
	d.is("+a, +b, +e, +g") // a reader does not pass the writer in front of it
	d.done("a")
	d.is("")
	d.done("b")
	d.is("+c")
	d.done("c", "e", "g")
	d.is("+d")
	d.done("d")
	d.is("+f")
	d.want("r:h")
	d.is("")
	d.done("f")
	d.is("+h")
}

// Readers that come all the time do not starve a writer.
func TestWriterIsNotStarved(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{})
	d.want("r:0")
	d.is("+0")
	d.want("w:w")
	for i := 1; i < 20; i++ {
		d.want(fmt.Sprintf("r:%d", i))
		d.is("")
	}
	d.done("0")
	d.is("+w")
	d.done("w")
	if got := d.all(); strings.Count(got, "+") != 19 {
		t.Errorf("after the writer: %s", got)
	}
}

// A writer that cannot run for another reason is not next in line.
func TestHeldWriterBlocksNobody(t *testing.T) {
	t.Parallel()
	d := open(t, policies(workflow.Policies{Concurrency: 4}))
	d.apply("", &workflow.BreakerOpened{Provider: "fake", Code: workflow.CodeQuotaExhausted})
	d.want("wa:w", "r:r", "w:v")
	d.is("+r")
	d.done("r")
	d.is("+v")
}

func TestLimitsOfMaps(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{})
	in := func(name string, limits ...workflow.Limit) {
		c := wish("r:" + name)
		c.Limits = limits
		d.g.Want(c)
	}
	outer, left, right := workflow.Limit{ID: "m", Max: 3}, workflow.Limit{ID: "m[0]/n", Max: 2}, workflow.Limit{ID: "m[1]/n", Max: 2}
	in("a", outer, left)
	in("b", outer, left)
	in("c", outer, left) // over the inner limit
	in("d", outer, right)
	in("e", outer, right) // over the outer one
	in("f")
	d.is("+a, +b, +d, +f")
	d.done("f")
	d.is("")
	d.done("d")
	d.is("+e")
	d.done("a")
	d.is("+c")
	own := wish("s:s") // the graph's own visits take no place
	own.Limits = []workflow.Limit{outer, left}
	d.g.Want(own)
	d.is("+s")
}

func TestAIConcurrency(t *testing.T) {
	t.Parallel()
	d := open(t, policies(workflow.Policies{Concurrency: 2}))
	d.want("ra:a", "ra:b", "ra:c", "r:d")
	d.is("+a, +b, +d")
	d.done("d")
	d.is("")
	d.done("b")
	d.is("+c")
	d = open(t, workflow.Options{}) // at least one
	d.want("ra:a", "ra:b")
	d.is("+a")
}

// A question gives everything back, and the attempt goes on after it.
func TestQuestions(t *testing.T) {
	t.Parallel()
	d := open(t, policies(workflow.Policies{Concurrency: 1}))
	d.want("wa:a", "wa:b")
	d.is("+a")
	d.apply("a", &workflow.QuestionOpened{})
	d.is("+b")
	if n := d.g.Running(); n != 1 {
		t.Errorf("%d attempts run", n)
	}
	d.want("wa:a") // answered
	d.want("wa:a") // wanted again by a fork: once in line all the same
	d.is("")
	d.done("b")
	v, ok := d.g.Next(d.now)
	if !ok || !v.Admitted.Continued || v.Attempt != 1 {
		t.Fatalf("verdict %+v", v)
	}
	d.is("+a")
	if n := d.g.Running(); n != 1 || d.g.Transitions() != 2 {
		t.Errorf("%d attempts run, %d visits were made", n, d.g.Transitions())
	}
}

func TestTransitions(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{Transitions: 2})
	d.want("s:a", ":b", ":c", "s:d")
	d.is("+a, +b, -c recursion_limit, -d recursion_limit")
	d.apply("b", &workflow.Retrying{Code: workflow.CodeTimeout})
	d.want(":b") // another attempt is no other visit
	d.is("+b")
	free := wish(":e")
	free.Unlimited = true
	d.g.Want(free)
	d.is("+e")
	d.apply("", &workflow.LimitRaised{Transitions: 5})
	d.want(":c", "s:d")
	d.is("+c, +d")
	if got := d.g.Options().Transitions; got != 5 || d.g.Transitions() != 5 {
		t.Errorf("limit %d, %d visits", got, d.g.Transitions())
	}
}

func TestTransitionsOfABody(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{})
	for n := 1; n <= 3; n++ {
		c := wish(fmt.Sprintf(":%d", n))
		c.BodyCount, c.BodyMax = n, 2
		d.g.Want(c)
	}
	d.is("+1, +2, -3 recursion_limit")
}

func TestFailFast(t *testing.T) {
	t.Parallel()
	d := open(t, policies(workflow.Policies{FailFast: 2, Concurrency: 8}))
	d.want("ra:a", "ra:b", "r:c")
	d.is("+a, +b, +c")
	d.apply("a", failed())
	d.apply("c", failed()) // no model, does not count
	d.want("ra:d")
	d.is("+d")
	d.apply("d", failed())
	d.want("ra:e", "r:f")
	d.is("-e fail_fast, +f")
	d.done("b") // a success ends the row
	d.want("ra:g")
	d.is("+g")
	d.apply("g", &workflow.Retrying{Code: workflow.CodeTimeout}) // a repeated attempt failed too
	d.apply("g", failed())
	d.want("ra:h")
	d.is("-h fail_fast")
	d.apply("", &workflow.Resumed{})
	d.want("ra:h")
	d.is("+h")
}

func TestRetry(t *testing.T) {
	t.Parallel()
	zero, long := int64(0), int64(60_000)
	tests := []struct {
		name     string
		wish     string
		retry    workflow.Retry
		failFast int
		code     workflow.Code
		times    int           // retries until it is given up
		after    time.Duration // backoff
	}{
		{"default of a model call", "ra:x", workflow.Retry{}, 0, workflow.CodeProviderRequest, 1, 5 * time.Second},
		{"idle", "ra:x", workflow.Retry{}, 0, workflow.CodeIdleTimeout, 1, 5 * time.Second},
		{"default of others", "r:x", workflow.Retry{}, 0, workflow.CodeProviderRequest, 0, 0},
		{"a code that is not listed", "ra:x", workflow.Retry{MaxAttempts: 5}, 0, workflow.CodeTimeout, 0, 0},
		{"a listed code", "r:x", workflow.Retry{MaxAttempts: 4, BackoffMs: &long, RetryOn: []workflow.Code{workflow.CodeTimeout}}, 0, workflow.CodeTimeout, 3, time.Minute},
		{"an empty list", "ra:x", workflow.Retry{MaxAttempts: 4, RetryOn: []workflow.Code{}}, 0, workflow.CodeProviderRequest, 0, 0},
		{"without a pause", "r:x", workflow.Retry{MaxAttempts: 2, BackoffMs: &zero, RetryOn: []workflow.Code{workflow.CodeTimeout}}, 0, workflow.CodeTimeout, 1, 0},
		{"one attempt", "ra:x", workflow.Retry{MaxAttempts: 1}, 0, workflow.CodeProviderRequest, 0, 0},
		{"a write that can be judged", "w:x", workflow.Retry{MaxAttempts: 3, RetryOn: []workflow.Code{workflow.CodeTimeout}}, 0, workflow.CodeTimeout, 2, 5 * time.Second},
		{"an uncertain write", "wu:x", workflow.Retry{MaxAttempts: 3, RetryOn: []workflow.Code{workflow.CodeTimeout}}, 0, workflow.CodeTimeout, 0, 0},
		{"up to fail-fast", "ra:x", workflow.Retry{MaxAttempts: 9}, 3, workflow.CodeProviderRequest, 2, 5 * time.Second},
		{"fail-fast is for models", "r:x", workflow.Retry{MaxAttempts: 4, RetryOn: []workflow.Code{workflow.CodeTimeout}}, 1, workflow.CodeTimeout, 3, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, policies(workflow.Policies{FailFast: tt.failFast}))
			c := wish(tt.wish)
			c.Retry, c.Uncertain = tt.retry, strings.HasPrefix(tt.wish, "wu")
			times := 0
			for {
				d.g.Want(c)
				d.is("+x")
				after, ok := d.g.Retry("x", tt.code, d.now)
				if !ok {
					break
				}
				if times++; times > 20 {
					t.Fatal("it is repeated for ever")
				}
				if got := time.Duration(after-d.now) * time.Microsecond; got != tt.after {
					t.Fatalf("again after %s, want %s", got, tt.after)
				}
				d.apply("x", &workflow.Retrying{Code: tt.code, After: after})
				d.g.Want(c)
				if tt.after > 0 {
					d.is("")
					if at, ok := d.g.Wake(d.now); !ok || at != after {
						t.Fatalf("it wakes at %d, want %d", at, after)
					}
				}
				d.now = after
			}
			if times != tt.times {
				t.Errorf("repeated %d times, want %d", times, tt.times)
			}
		})
	}
	if _, ok := admission.New(workflow.Options{}).Retry("nobody", workflow.CodeTimeout, 0); ok {
		t.Error("a visit that is not open is repeated")
	}
}

// A resume does not wait for what the last owner waited for.
func TestResumeEndsBackoff(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{})
	d.want("r:a")
	d.is("+a")
	d.apply("a", &workflow.Retrying{After: d.now.Add(time.Hour)})
	d.want("r:a")
	d.is("")
	d.apply("", &workflow.Resumed{})
	if _, ok := d.g.Wake(d.now); ok {
		t.Error("it still sleeps")
	}
	d.is("+a")
}

func TestPauseAndCancel(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{})
	d.want("r:a", "s:b")
	d.apply("", &workflow.Paused{})
	d.is("")
	if paused, cancelled := d.g.Halted(); !paused || cancelled {
		t.Error("it is not paused")
	}
	d.apply("", &workflow.Resumed{})
	d.is("+a, +b")
	d.want("r:c")
	d.apply("", &workflow.CancelRequested{})
	d.apply("", &workflow.Resumed{})
	d.is("")
	if _, cancelled := d.g.Halted(); !cancelled {
		t.Error("a resume takes the cancellation back")
	}
}

func TestLosses(t *testing.T) {
	t.Parallel()
	d := open(t, policies(workflow.Policies{Concurrency: 9}))
	d.want("w:a")
	d.is("+a")
	d.apply("a", &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true})
	if lost := d.g.InState(admission.Lost); len(lost) != 1 || lost[0].Command.Visit != "a" {
		t.Fatalf("lost are %+v", lost)
	}
	d.want("r:b")
	d.is("+b") // an uncertain write holds no permit
	d.done("b")
	d.apply("a", &workflow.Recovered{How: workflow.RecoverRerun})
	d.want("w:a")
	d.is("+a")
	if o, _ := d.g.Visit("a"); o.Attempt != 2 {
		t.Errorf("attempt %d", o.Attempt)
	}
	d.apply("a", &workflow.Lost{Code: workflow.CodeBudgetExhausted, Message: "no money"})
	if r := d.g.InState(admission.Refused); len(r) != 1 || r[0].Refusal.Message != "no money" {
		t.Fatalf("refused are %+v", r)
	}
	d.g.Drop("a")
	if _, ok := d.g.Visit("a"); ok {
		t.Error("a dropped visit is open")
	}
	d.want("r:c")
	d.is("+c")
	d.g.Drop("c")
	d.g.Drop("nobody")
	d.want("w:d")
	d.is("+d") // the dropped reader gave its permit back
}

func TestBreakersAndParkedVisits(t *testing.T) {
	t.Parallel()
	for _, code := range []workflow.Code{workflow.CodeQuotaExhausted, workflow.CodeRateLimited, workflow.CodeProviderOverloaded} {
		d := open(t, policies(workflow.Policies{Concurrency: 9}))
		other := wish("ra:o")
		other.Provider = "other"
		d.want("ra:a", "ra:b")
		d.is("+a, +b")
		until := d.now.Add(time.Hour)
		d.apply("", &workflow.BreakerOpened{Provider: "fake", Code: code, Message: "later", Until: until})
		d.apply("a", &workflow.Lost{Code: code, Until: until})
		d.want("ra:a", "ra:c")
		d.g.Want(other)
		d.want("r:d")
		d.is("+o, +d")
		d.done("o", "d")
		if o, _ := d.g.Visit("a"); !o.Parked || o.Until != until {
			t.Errorf("%s: %+v is not parked", code, o)
		}
		if b := d.g.Breakers()["fake"]; b.Code != code || b.Until != until || b.Message != "later" {
			t.Errorf("%s: breaker %+v", code, b)
		}
		if _, ok := d.g.Wake(d.now); ok {
			t.Errorf("%s: a parked visit wakes by itself", code)
		}
		d.wait(2 * time.Hour)
		d.is("")
		d.done("b") // what ran goes on
		d.apply("", &workflow.Resumed{})
		d.is("+a, +c")
	}
}

func TestSteering(t *testing.T) {
	t.Parallel()
	d := open(t, policies(workflow.Policies{Concurrency: 1}))
	steerable := func(name string) workflow.StartVisit {
		c := wish("ra:" + name)
		c.Steerable = true
		return c
	}
	d.apply("", &workflow.Steered{Text: "first"})
	d.apply("", &workflow.Steered{Text: "second"})
	d.want("ra:deaf")
	v, _ := d.g.Next(d.now)
	if len(v.Steering) > 0 || len(v.Admitted.Steered) > 0 {
		t.Errorf("a piece that takes none gets %v", v.Steering)
	}
	d.is("+deaf")
	d.done("deaf")
	d.g.Want(steerable("a"))
	v, _ = d.g.Next(d.now)
	if !slices.Equal(v.Steering, []string{"first", "second"}) || !slices.Equal(v.Admitted.Steered, []int64{1, 2}) {
		t.Fatalf("steering %v %v", v.Steering, v.Admitted.Steered)
	}
	d.is("+a")
	d.apply("", &workflow.Steered{Text: "third"})
	d.apply("a", &workflow.QuestionOpened{})
	d.g.Want(steerable("a"))
	v, _ = d.g.Next(d.now)
	if len(v.Steering) > 0 || !slices.Equal(v.Admitted.Steered, []int64{1, 2}) {
		t.Errorf("after an answer the attempt has %v, claimed %v", v.Steering, v.Admitted.Steered)
	}
	d.is("+a")
	d.done("a")
	d.g.Want(steerable("b"))
	v, _ = d.g.Next(d.now)
	if !slices.Equal(v.Steering, []string{"third"}) {
		t.Errorf("steering %v", v.Steering)
	}
}

func TestOrderOfStates(t *testing.T) {
	t.Parallel()
	d := open(t, workflow.Options{})
	d.want("w:c", "w:a", "w:b")
	var got []string
	for _, o := range d.g.InState(admission.Wanted) {
		got = append(got, string(o.Command.Visit))
	}
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("in the order %v", got)
	}
	d.is("+c") // and admitted as they came
}
