package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// A write is retried where its piece says that it can be judged or repeated.
func TestRetryOfAWrite(t *testing.T) {
	t.Parallel()
	doc := func(uncertain string) string {
		return def2("w", `"w":{"kind":"step","params":{"name":"w","effect":"write","once":"timeout"`+uncertain+`},"retry":{"maxAttempts":2,"backoffMs":0,"retryOn":["timeout"]},"ends":{"next":"done","failed":"bad"}},`+ends)
	}
	r := newRig(t)
	wantStatus(t, r.run(doc("")), workflow.StatusSucceeded)
	r = newRig(t)
	wantStatus(t, r.run(doc(`,"uncertain":true`)), workflow.StatusFailed)
}

// Conditions see history, answers, usage and candidate.
func TestConditionsSeeTheWholeState(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *engine.Config) {
		c.Candidate = func(context.Context, piece.Frame) (string, error) { return "c1:abc", nil }
	})
	res := r.run(def2("ai", step("ai", `,"model":"A","effect":"write"`, "q")+`,`+
		`"q":{"kind":"question","params":{"text":"?"},"ends":{"next":"see"}},`+
		`"see":{"kind":"condition","params":{"expr":"$answers.q == \"yes\" && $usage.tokens == 400 && contains($history.text, \"ai done\") && $candidate == \"c1:abc\""},"ends":{"true":"done","false":"bad"}},`+ends))
	r.answer(res.Questions[0], "yes")
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
}

// The work tree is hashed only for runs that look at the hash.
func TestNodesThatChangeNothingHashNothing(t *testing.T) {
	t.Parallel()
	var hashed atomic.Int64
	r := newRig(t, func(c *engine.Config) {
		c.Candidate = func(context.Context, piece.Frame) (string, error) { hashed.Add(1); return "c1:abc", nil }
	})
	wantStatus(t, r.run(def2("a", step("a", `,"effect":"write"`, "b")+","+step("b", "", "done")+","+ends)), workflow.StatusSucceeded)
	if n := hashed.Load(); n != 0 {
		t.Errorf("the work tree was hashed %d times", n)
	}
}

// A component's own maxTransitions holds, and can be routed.
func TestComponentCountsItsVisits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("c", `"c":{"kind":"component","params":{"ref":"spin"},"ends":{"next":"bad","failed":"done"}},`+ends,
		`"components":{"spin":{"entry":"s","maxTransitions":3,"onExhausted":"out","nodes":{`+
			`"s":{"kind":"step","params":{"name":"s","repeat":99},"ends":{"again":"s","next":null,"failed":null}},`+
			`"out":{"kind":"end","params":{"outcome":"failure","reason":"spun"},"ends":{}}}}}`))
	wantStatus(t, res, workflow.StatusSucceeded)
	if n := r.w.count("s"); n != 3 {
		t.Errorf("the node ran %d times, its body allows 3", n)
	}
}

// Fail-fast stops AI work and not the way out; a resume starts the count afresh.
func TestFailFastLetsGoOnResume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var broken atomic.Bool
	broken.Store(true)
	r.w.model = func(_ context.Context, prompt string, _ executor.Grant) (executor.Done, error) {
		if broken.Load() {
			return executor.Done{}, workflow.Errorf(workflow.CodeProviderRefused, "no")
		}
		return said("ok", 1, 1), nil
	}
	res := r.run(def2("a", `"a":{"kind":"step","params":{"name":"a","model":"A"},"ends":{"next":"b","failed":"b"}},`+
		`"b":{"kind":"step","params":{"name":"b","model":"B"},"ends":{"next":"c","failed":"c"}},`+
		`"c":{"kind":"step","params":{"name":"c","model":"C"},"ends":{"next":"done","failed":"bad"}},`+ends, `"policies":{"failFast":2,"concurrency":1}`))
	wantStatus(t, res, workflow.StatusExhausted)
	if r.w.calls.Load() != 2 || res.Unfinished[0].Code != workflow.CodeFailFast {
		t.Fatalf("%d calls, unfinished %+v", r.w.calls.Load(), res.Unfinished)
	}
	broken.Store(false)
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
}

// A component that was under way when the process died goes on with a plain
// resume.
func TestComponentSurvivesAnInterruption(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := launch(t, def2("c", `"c":{"kind":"component","params":{"ref":"in"},"ends":{"next":"done","failed":"bad"}},`+ends,
		`"components":{"in":{"entry":"a","nodes":{"a":{"kind":"step","params":{"name":"a"},"ends":{"next":"h","failed":null}},`+
			`"h":{"kind":"step","params":{"name":"h","hang":true},"ends":{"next":null,"failed":null}}}}}`))
	l.ID = "rtest"
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-r.w.begun; cancel() }()
	if _, err := r.engine.Start(ctx, l); err != nil {
		t.Fatal(err)
	}
	close(r.w.block)
	wantStatus(t, r.drive("rtest"), workflow.StatusSucceeded)
	if r.w.count("a") != 1 {
		t.Errorf("a settled step inside the component ran %d times", r.w.count("a"))
	}
}

// A provider that says when to come back is not called before; a quota ends the
// calls of that provider and nothing else.
func TestRateLimitAndQuota(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var first atomic.Bool
	var early atomic.Bool
	var notBefore atomic.Int64
	r.w.model = func(_ context.Context, prompt string, _ executor.Grant) (executor.Done, error) {
		if first.CompareAndSwap(false, true) {
			notBefore.Store(time.Now().Add(30 * time.Millisecond).UnixNano())
			return executor.Done{}, &provider.Error{Code: provider.CodeRateLimited, Status: 429, RetryAfter: 30 * time.Millisecond, Message: "slow down"}
		}
		if time.Now().UnixNano() < notBefore.Load() {
			early.Store(true)
		}
		return said("ok", 1, 1), nil
	}
	res := r.run(def2("a", step("a", `,"model":"A"`, "done")+","+ends))
	wantStatus(t, res, workflow.StatusSucceeded)
	if early.Load() || r.w.calls.Load() != 2 || r.w.count("a") != 1 {
		t.Errorf("early %v, %d calls, %d attempts", early.Load(), r.w.calls.Load(), r.w.count("a"))
	}
	if res.Usage.UnknownTokens != 0 || res.Usage.Input != 1 {
		t.Errorf("usage %+v", res.Usage)
	}

	reset := time.Now().Add(time.Hour)
	r = newRig(t)
	var open atomic.Bool
	r.w.model = func(_ context.Context, prompt string, _ executor.Grant) (executor.Done, error) {
		if r.w.calls.Load() > 2 && !open.Load() {
			return executor.Done{}, &provider.Error{Code: provider.CodeQuotaExhausted, Status: 429, ResetAt: reset, Message: "limit reached"}
		}
		return said("ok", 1, 1), nil
	}
	items, _ := json.Marshal(make([]int, 12))
	res = r.run(def2("each", `"each":{"kind":"map","params":{"over":{"items":`+string(items)+`},"concurrency":3,"body":"one"},"ends":{"next":"join"}},`+
		`"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"done","fail":"bad"}},`+ends,
		`"components":{"one":{"entry":"w","nodes":{"w":{"kind":"step","params":{"name":"w","model":"N{{item.index}}"},"ends":{"next":null,"failed":null}}}}}`,
		`"policies":{"concurrency":3}`))
	wantStatus(t, res, workflow.StatusUnavailable)
	made := r.w.calls.Load()
	if made > 2+3 || res.ResumeAfter.Std().Unix() != reset.Unix() {
		t.Errorf("%d calls, resume after %s, want %s", made, res.ResumeAfter.Std(), reset)
	}
	open.Store(true)
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
	if got := r.w.calls.Load(); got > made+12-2 {
		t.Errorf("%d calls for 12 items, 2 were finished before", got)
	}
}

// Steering reaches the next AI attempt, once.
func TestSteering(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("sig", `"sig":{"kind":"wait","params":{"signal":"go"},"ends":{"next":"a"}},`+
		step("a", `,"model":"A"`, "b")+","+step("b", `,"model":"B"`, "done")+","+ends))
	r.send(res.Run, engine.Control{Steer: "mind the tests"})
	r.send(res.Run, engine.Control{Signal: &workflow.Signal{Name: "go"}})
	res = r.drive(res.Run)
	wantStatus(t, res, workflow.StatusSucceeded)
	var a, b struct{ Steering []string }
	if err := json.Unmarshal(res.Outputs["a"], &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(res.Outputs["b"], &b); err != nil {
		t.Fatal(err)
	}
	if len(a.Steering) != 1 || a.Steering[0] != "mind the tests" || len(b.Steering) != 0 {
		t.Errorf("steering %v, then %v", a.Steering, b.Steering)
	}
}

// A pause starts nothing more; a resume goes on.
func TestPause(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := launch(t, def2("a", step("a", `,"hang":true`, "b")+","+step("b", "", "done")+","+ends))
	l.ID = "rtest"
	go func() {
		<-r.w.begun
		r.send("rtest", engine.Control{Pause: true})
		for r.w.types()[workflow.TypePaused] == 0 {
			time.Sleep(time.Millisecond)
		}
		close(r.w.block)
	}()
	wantStatus(t, r.start(l), workflow.StatusWaiting)
	if r.w.count("b") != 0 {
		t.Error("a paused run started a node")
	}
	wantStatus(t, r.drive("rtest"), workflow.StatusSucceeded)
	if r.w.count("a") != 1 || r.w.count("b") != 1 {
		t.Errorf("did %v", r.w.did)
	}
}

// A fork can run only the failed branches of a map again.
func TestForkRetriesFailedBranches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var mended atomic.Bool
	r.w.model = func(_ context.Context, prompt string, _ executor.Grant) (executor.Done, error) {
		if prompt == "x" && !mended.Load() {
			return executor.Done{}, workflow.Errorf(workflow.CodeStructuredOutput, "no object")
		}
		return said("ok "+prompt, 1, 1), nil
	}
	res := r.run(def2("each", `"each":{"kind":"map","params":{"over":{"items":["x","y","z"]},"concurrency":3,"body":"one"},"ends":{"next":"join"}},`+
		`"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"report","fail":"bad"}},`+step("report", "", "done")+","+ends,
		`"components":{"one":{"entry":"w","nodes":{"w":{"kind":"step","params":{"name":"w","model":"{{item.value}}"},"ends":{"next":null,"failed":null}}}}}`))
	wantStatus(t, res, workflow.StatusFailed)
	if len(res.Dead) != 1 || len(res.Warnings) != 1 || r.w.count("report") != 0 {
		t.Fatalf("dead %+v, warnings %v, reported %d times", res.Dead, res.Warnings, r.w.count("report"))
	}
	mended.Store(true)
	id, err := r.engine.Fork(t.Context(), engine.ForkRequest{Run: res.Run, Failed: true})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, r.drive(id), workflow.StatusSucceeded)
	if r.w.count("call:x") != 2 || r.w.count("call:y") != 1 || r.w.count("call:z") != 1 {
		t.Errorf("calls %v", r.w.did)
	}
}

// An edited workflow keeps the results before the first change of each body.
func TestContinueWithAnEditedWorkflow(t *testing.T) {
	t.Parallel()
	doc := func(b, effect string) string {
		return def2("a", step("a", `,"model":"A"`, "pick")+`,"pick":{"kind":"condition","params":{"expr":"true"},"ends":{"true":"b","false":"bad"}},`+
			step("b", `,"model":"`+b+`"`+effect, "q")+`,"q":{"kind":"question","params":{"text":"?"},"ends":{"next":"done"}},`+ends)
	}
	r := newRig(t)
	res := r.run(doc("B", ""))
	wantStatus(t, res, workflow.StatusWaiting)
	edit, err := r.engine.Compare(t.Context(), res.Run, launch(t, doc("B2", "")))
	if err != nil {
		t.Fatal(err)
	}
	if len(edit.Reused) != 1 || edit.Reused[0] != "a#1" || len(edit.Live) != 1 || edit.Live[0] != "b#1" || len(edit.Writes) != 0 {
		t.Fatalf("edit %+v", edit)
	}
	id, err := r.engine.Continue(t.Context(), res.Run, launch(t, doc("B2", "")), false)
	if err != nil {
		t.Fatal(err)
	}
	res = r.drive(id)
	wantStatus(t, res, workflow.StatusWaiting)
	r.answer(res.Questions[0], "ok")
	wantStatus(t, r.drive(id), workflow.StatusSucceeded)
	if r.w.count("call:A") != 1 || r.w.count("call:B2") != 1 {
		t.Errorf("did %v", r.w.did)
	}

	r = newRig(t)
	res = r.run(doc("B", `,"effect":"write"`))
	if _, err = r.engine.Continue(t.Context(), res.Run, launch(t, doc("B2", `,"effect":"write"`)), false); err == nil {
		t.Fatal("a write that happened would happen again, and nobody was asked")
	}
	wantCode(t, err, workflow.CodeResumeIncompatible)
	if _, err = r.engine.Continue(t.Context(), res.Run, launch(t, doc("B2", `,"effect":"write"`)), true); err != nil {
		t.Fatal(err)
	}
}

// A secret that a model streams in two pieces is not shown.
func TestStreamedSecretIsNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2-hunter2"
	var mu sync.Mutex
	var shown strings.Builder
	r := newRig(t)
	r.reopen(func(c *engine.Config) {
		c.Redact = text.NewRedactor(nil, secret)
		c.Observe = func(n engine.Notice) {
			if n.Progress != nil {
				mu.Lock()
				defer mu.Unlock()
				shown.WriteString(n.Progress.Text)
			}
		}
		c.Executor = func(string) (executor.Executor, error) { return streaming{r.w, secret}, nil }
	})
	wantStatus(t, r.run(def2("a", step("a", `,"model":"A"`, "done")+","+ends)), workflow.StatusSucceeded)
	if got := shown.String(); !strings.Contains(got, "the key is") || strings.Contains(got, "hunter2") {
		t.Errorf("shown: %q", got)
	}
}

// streaming is an executor that streams a secret in pieces.
type streaming struct {
	*world
	secret string
}

func (s streaming) Execute(ctx context.Context, t executor.Turn, h executor.Host) (executor.Reply, error) {
	for _, piece := range []string{"the key ", "is " + s.secret[:9], s.secret[9:], " they say "} {
		h.Progress(executor.Progress{Kind: "text", Text: piece})
	}
	return s.world.Execute(ctx, t, h)
}

// The budgets of child runs lie within their parent's, together; a raise reaches
// the children that are under way.
func TestChildrenShareTheBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.model = func(_ context.Context, _ string, g executor.Grant) (executor.Done, error) {
		return said("ok", 300, int64(min(g.MaxOutput, 100))), nil
	}
	child := def2("a", step("a", `,"model":"one {{inputs.n}}"`, "b")+","+step("b", `,"model":"two {{inputs.n}}"`, "done")+","+ends)
	l := launch(t, def2("each", `"each":{"kind":"map","params":{"over":{"items":[1,2,3,4]},"concurrency":2,"body":"one"},"ends":{"next":"join"}},`+
		`"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"done","fail":"bad"}},`+ends,
		`"components":{"one":{"entry":"w","nodes":{"w":{"kind":"workflow","params":{"name":"child","inputs":{"n":"$item.value"}},"ends":{"next":null,"failed":null}}}}}`,
		`"budget":{"maxTokens":1500}`, `"policies":{"concurrency":2}`))
	l.Blobs = [][]byte{[]byte(child)}
	l.Started.Children = map[string]workflow.Ref{"child": launch(t, child).Started.Workflow}
	res := r.start(l)
	wantStatus(t, res, workflow.StatusExhausted)
	calls := r.w.calls.Load()
	if calls == 0 || calls*400 > 1500+2*400 {
		t.Fatalf("%d calls of 400 tokens under a budget of 1500", calls)
	}
	wantStatus(t, r.drive(res.Run), workflow.StatusExhausted)
	if got := r.w.calls.Load(); got != calls {
		t.Fatalf("a resume without a raise made %d calls", got-calls)
	}
	for _, tokens := range []int64{4000, 10_000, 40_000} {
		r.send(res.Run, engine.Control{Raise: &workflow.LimitRaised{Tokens: tokens}})
		if res = r.drive(res.Run); res.Status == workflow.StatusSucceeded {
			break
		}
	}
	wantStatus(t, res, workflow.StatusSucceeded)
	if got := r.w.calls.Load(); got != 8 {
		t.Errorf("%d calls for 4 children of 2", got)
	}
	if sum := res.Usage.Input + res.Usage.Output; sum != 8*400 {
		t.Errorf("the parent shows %d tokens, its children used %d", sum, 8*400)
	}
}

// A fork of a child run stands alone.
func TestForkOfAChild(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	child := def2("ask", `"ask":{"kind":"question","params":{"text":"?"},"ends":{"next":"done"}},`+ends)
	l := launch(t, def2("sub", `"sub":{"kind":"workflow","params":{"name":"child"},"ends":{"next":"done","failed":"bad"}},`+ends))
	l.Blobs = [][]byte{[]byte(child)}
	l.Started.Children = map[string]workflow.Ref{"child": launch(t, child).Started.Workflow}
	res := r.start(l)
	id, err := r.engine.Fork(t.Context(), engine.ForkRequest{Run: res.Questions[0].Run, Node: "ask"})
	if err != nil {
		t.Fatal(err)
	}
	fork := r.drive(id)
	wantStatus(t, fork, workflow.StatusWaiting)
	heads, err := r.store.Runs(t.Context(), store.Query{Run: id})
	if err != nil || heads[0].Root != id || heads[0].ChildOf != "" {
		t.Fatalf("head of the fork %+v: %v", heads, err)
	}
	r.answer(fork.Questions[0], "yes")
	wantStatus(t, r.drive(id), workflow.StatusSucceeded)
}

// One id is one fork: the same request again gives it, another one is refused;
// a patch of a scope that is not open is refused too, and leaves no run.
func TestForkIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("a", step("a", "", "b")+","+step("b", `,"output":"{{vars.v}}"`, "done")+","+ends))
	fork := func(id workflow.RunID, value, scope string) error {
		got, err := r.engine.Fork(t.Context(), engine.ForkRequest{
			Run: res.Run, ID: id, Node: "b",
			Patch: workflow.Patch{Scope: scope, Vars: map[string]workflow.Value{"v": workflow.Text(value)}},
		})
		if err == nil && got != id {
			t.Errorf("the fork is %s, want %s", got, id)
		}
		return err
	}
	for range 2 {
		if err := fork("rfork", "one", "."); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, fork("rfork", "two", "."), workflow.CodeRunExists)
	wantCode(t, fork("rother", "one", "nope#1"), workflow.CodeForkNotFound)
	if _, err := r.engine.Inspect(t.Context(), "rother"); workflow.CodeOf(err) != workflow.CodeRunNotFound {
		t.Errorf("a refused fork left a run: %v", err)
	}
	forked := r.drive("rfork")
	wantStatus(t, forked, workflow.StatusSucceeded)
	if got := string(forked.Outputs["b"]); got != `"one"` {
		t.Errorf("the fork's variable came as %s", got)
	}
}

// A cancellation reaches the children, also those that have hardly begun.
func TestCancelReachesChildren(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	child := def2("h", step("h", `,"hang":true`, "k")+","+step("k", `,"model":"K"`, "done")+","+ends)
	l := launch(t, def2("sub", `"sub":{"kind":"workflow","params":{"name":"child"},"ends":{"next":"done","failed":"bad"}},`+ends))
	l.ID = "rtest"
	l.Blobs = [][]byte{[]byte(child)}
	l.Started.Children = map[string]workflow.Ref{"child": launch(t, child).Started.Workflow}
	go func() {
		<-r.w.begun
		r.send("rtest", engine.Control{Cancel: &workflow.CancelRequested{}})
	}()
	wantStatus(t, r.start(l), workflow.StatusCancelled)
	heads, err := r.store.Runs(t.Context(), store.Query{ChildOf: "rtest"})
	if err != nil || len(heads) != 1 || heads[0].Status != workflow.StatusCancelled {
		t.Errorf("children %+v: %v", heads, err)
	}
	if r.w.calls.Load() != 0 {
		t.Error("a cancelled child made a model call")
	}
}
