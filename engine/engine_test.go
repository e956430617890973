package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
)

func TestChainOfControlAndWork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("init", `"init":{"kind":"assign","params":{"set":{"n":1}},"ends":{"next":"work","failed":"bad"}},`+
		step("work", `,"output":{"v":"{{vars.n}}"},"set":{"seen":"{{vars.n}}"}`, "more")+`,`+
		`"more":{"kind":"condition","params":{"expr":"$vars.seen == 1 && $outputs.work.v == 1"},"ends":{"true":"count","false":"bad"}},`+
		`"count":{"kind":"assign","params":{"increment":{"n":1}},"ends":{"next":"loop","failed":"bad"}},`+
		`"loop":{"kind":"condition","params":{"expr":"$vars.n < 4"},"ends":{"true":"again","false":"done"}},`+
		`"again":{"kind":"step","params":{"name":"again","output":"{{vars.n}}"},"ends":{"next":"count","failed":"bad"}},`+ends))
	wantStatus(t, res, workflow.StatusSucceeded)
	if got := r.w.count("again"); got != 2 {
		t.Errorf("the loop's body ran %d times, want 2", got)
	}
	if got := string(res.Outputs["again"]); got != "3" {
		t.Errorf("output of the last turn is %s, want the number 3", got)
	}
	if again := r.drive(res.Run); again.Status != workflow.StatusSucceeded || r.w.count("work") != 1 {
		t.Errorf("driving an ended run gave %s and ran work %d times", again.Status, r.w.count("work"))
	}
}

func TestMapJoin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("each", `"each":{"kind":"map","params":{"over":{"items":[1,2,3,4,5]},"concurrency":2,"body":"one"},"ends":{"next":"join"}},`+
		`"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"done","fail":"bad"}},`+ends,
		`"components":{"one":{"entry":"w","nodes":{"w":{"kind":"step","params":{"name":"w","output":{"i":"{{item.value}}"}},"ends":{"next":null,"failed":null}}}}}`))
	wantStatus(t, res, workflow.StatusSucceeded)
	var out struct {
		Total, OK int
		Results   []struct{ Output struct{ I int } }
	}
	if err := json.Unmarshal(res.Outputs["join"], &out); err != nil {
		t.Fatal(err)
	}
	if out.Total != 5 || out.OK != 5 || out.Results[4].Output.I != 5 {
		t.Errorf("join output %s", res.Outputs["join"])
	}
}

func TestTwoQuestionsAnsweredInReverse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	branch := func(name, ask string) string {
		return `"` + name + `":{"entry":"q","nodes":{"q":{"kind":"question","params":{` + ask + `},"ends":{"next":"w"}},` +
			`"w":{"kind":"step","params":{"name":"` + name + `","output":"{{answers.q}}"},"ends":{"next":null,"failed":null}}}}`
	}
	res := r.run(def2("both", `"both":{"kind":"parallel","params":{"branches":{`+branch("region", `"text":"Region?"`)+`,`+
		branch("wipe", `"text":"Delete?","options":["yes","no"]`)+`}},"ends":{"next":"done","fail":"bad"}},`+ends))
	wantStatus(t, res, workflow.StatusWaiting)
	if len(res.Questions) != 2 {
		t.Fatalf("%d questions are open, want 2", len(res.Questions))
	}
	region, wipe := res.Questions[0], res.Questions[1]
	if region.Node != "both/region/q" {
		region, wipe = wipe, region
	}
	maybe := "maybe"
	err := r.engine.Send(t.Context(), res.Run, engine.Control{Answer: &engine.AnswerControl{Question: wipe.ID, Text: &maybe}})
	wantCode(t, err, workflow.CodeInvalidAnswer)
	r.answer(wipe, "no")
	yes := "yes"
	err = r.engine.Send(t.Context(), res.Run, engine.Control{Answer: &engine.AnswerControl{Question: wipe.ID, Text: &yes}})
	wantCode(t, err, workflow.CodeQuestionClosed)
	res = r.drive(res.Run)
	wantStatus(t, res, workflow.StatusWaiting)
	if len(res.Questions) != 1 || res.Questions[0].ID != region.ID {
		t.Fatalf("open questions after one answer: %+v", res.Questions)
	}
	r.reopen()
	r.answer(region, "eu-1")
	res = r.drive(res.Run)
	wantStatus(t, res, workflow.StatusSucceeded)
	if r.w.count("region") != 1 || r.w.count("wipe") != 1 {
		t.Errorf("branches ran %d and %d times", r.w.count("region"), r.w.count("wipe"))
	}
}

func TestForkBeforeAQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("draft", step("draft", `,"model":"DRAFT"`, "choice")+`,`+
		`"choice":{"kind":"question","params":{"text":"Tone?","options":["formal","casual"]},"ends":{"next":"final"}},`+
		step("final", `,"model":"tone={{answers.choice}}"`, "done")+`,`+ends))
	r.answer(res.Questions[0], "formal")
	parent := r.drive(res.Run)
	wantStatus(t, parent, workflow.StatusSucceeded)
	before, _ := json.Marshal(parent)

	id, err := r.engine.Fork(t.Context(), engine.ForkRequest{Run: parent.Run, Node: "choice"})
	if err != nil {
		t.Fatal(err)
	}
	fork := r.drive(id)
	wantStatus(t, fork, workflow.StatusWaiting)
	if fork.ForkOf != parent.Run || fork.Questions[0].ID == res.Questions[0].ID {
		t.Fatalf("fork %+v", fork)
	}
	r.answer(fork.Questions[0], "casual")
	fork = r.drive(id)
	wantStatus(t, fork, workflow.StatusSucceeded)
	if r.w.count("call:DRAFT") != 1 || r.w.count("call:tone=formal") != 1 || r.w.count("call:tone=casual") != 1 {
		t.Errorf("calls: %v", r.w.did)
	}
	if fork.Usage.Calls != 1 || fork.Usage.Inherited == nil || fork.Usage.Inherited.Calls != 1 {
		t.Errorf("usage of the fork: %+v", fork.Usage)
	}
	again, err := r.engine.Inspect(t.Context(), parent.Run)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(again); string(after) != string(before) {
		t.Errorf("the parent changed:\n%s\n%s", before, after)
	}
}

func TestInterruptedReadRunsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := launch(t, def2("a", step("a", "", "b")+","+step("b", `,"hang":true`, "done")+","+ends))
	l.ID = "rtest"
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-r.w.begun; cancel() }()
	res, err := r.engine.Start(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res, workflow.StatusInterrupted)
	close(r.w.block)
	res = r.drive("rtest")
	wantStatus(t, res, workflow.StatusSucceeded)
	if r.w.count("a") != 1 || r.w.count("b") != 2 {
		t.Errorf("a ran %d times, b %d", r.w.count("a"), r.w.count("b"))
	}
}

func TestUncertainWriteWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]workflow.Status{
		workflow.RecoverRerun: workflow.StatusSucceeded,
		workflow.RecoverDone:  workflow.StatusSucceeded,
		workflow.RecoverFail:  workflow.StatusFailed,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			l := launch(t, def2("w", step("w", `,"hang":true,"effect":"write","uncertain":true`, "done")+","+ends))
			l.ID = "rtest"
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-r.w.begun; cancel() }()
			if _, err := r.engine.Start(ctx, l); err != nil {
				t.Fatal(err)
			}
			close(r.w.block)
			res := r.drive("rtest")
			wantStatus(t, res, workflow.StatusWaiting)
			if len(res.Uncertain) != 1 || r.w.count("w") != 1 {
				t.Fatalf("uncertain %+v, ran %d times", res.Uncertain, r.w.count("w"))
			}
			r.send("rtest", engine.Control{Recover: &engine.RecoverControl{How: how}})
			wantStatus(t, r.drive("rtest"), want)
		})
	}
}

func TestBudgetStopsAndARaiseGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("each", `"each":{"kind":"map","params":{"over":{"items":[1,2,3,4,5]},"concurrency":2,"body":"one"},"ends":{"next":"join"}},`+
		`"join":{"kind":"join","params":{"reduce":"all-ok"},"ends":{"next":"done","fail":"bad"}},`+ends,
		`"components":{"one":{"entry":"w","nodes":{"w":{"kind":"step","params":{"name":"w","model":"N{{item.value}}"},"ends":{"next":null,"failed":null}}}}}`,
		`"budget":{"maxTokens":1000}`, `"policies":{"concurrency":2}`))
	wantStatus(t, res, workflow.StatusExhausted)
	first := r.w.calls.Load()
	if first > 4 || first == 0 {
		t.Fatalf("%d calls under a budget for two", first)
	}
	if got := res.Usage.Input + res.Usage.Output; got != 400*first {
		t.Errorf("%d tokens shown for %d calls", got, first)
	}
	if len(res.Unfinished) == 0 {
		t.Error("unfinished visits are not listed")
	}
	wantStatus(t, r.drive(res.Run), workflow.StatusExhausted)
	if got := r.w.calls.Load(); got != first {
		t.Errorf("a resume without a raise made %d calls", got-first)
	}
	r.send(res.Run, engine.Control{Raise: &workflow.LimitRaised{Tokens: 3000}})
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		if got := r.w.count("call:N" + n); got != 1 {
			t.Errorf("item %s was called %d times", n, got)
		}
	}
}

func TestOnExhaustedTakesALastWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	doc := def2("loop", `"loop":{"kind":"step","params":{"name":"loop","repeat":50},"ends":{"again":"loop","next":"done","failed":"bad"}},`+
		step("rescue", "", "sorry")+`,"sorry":{"kind":"end","params":{"outcome":"failure","reason":"out_of_visits"},"ends":{}},`+ends, `"onExhausted":"rescue"`)
	l := launch(t, doc)
	l.Started.Options.Transitions = 5
	res := r.start(l)
	wantStatus(t, res, workflow.StatusExhausted)
	if r.w.count("rescue") != 1 || res.Reasons[0] != "out_of_visits" {
		t.Fatalf("rescue ran %d times, reasons %v", r.w.count("rescue"), res.Reasons)
	}
	r.send(res.Run, engine.Control{Raise: &workflow.LimitRaised{Transitions: 100}})
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
	if got := r.w.count("loop"); got != 51 {
		t.Errorf("loop ran %d times, want 51", got)
	}
}

func TestRetryThenRoute(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("a", `"a":{"kind":"step","params":{"name":"a","once":"provider_request_error","model":"A"},"retry":{"backoffMs":0},"ends":{"next":"b","failed":"bad"}},`+
		`"b":{"kind":"step","params":{"name":"b","fail":"timeout"},"ends":{"next":"bad","failed":"done"}},`+ends))
	wantStatus(t, res, workflow.StatusSucceeded)
	if r.w.count("a") != 2 || r.w.count("b") != 1 {
		t.Errorf("a ran %d times, b %d", r.w.count("a"), r.w.count("b"))
	}
}

func TestCancelEndsARunThatHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := launch(t, def2("a", step("a", `,"hang":true`, "done")+","+ends))
	l.ID = "rtest"
	go func() {
		<-r.w.begun
		r.send("rtest", engine.Control{Cancel: &workflow.CancelRequested{Reason: "enough"}})
	}()
	wantStatus(t, r.start(l), workflow.StatusCancelled)
	wantStatus(t, r.drive("rtest"), workflow.StatusCancelled)
}

func TestWaitForATimerAndASignal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("nap", `"nap":{"kind":"wait","params":{"for":"10ms"},"ends":{"next":"sig"}},`+
		`"sig":{"kind":"wait","params":{"signal":"go"},"ends":{"next":"use"}},`+step("use", `,"output":"{{outputs.sig.value}}"`, "done")+","+ends))
	wantStatus(t, res, workflow.StatusWaiting)
	r.send(res.Run, engine.Control{Signal: &workflow.Signal{Name: "go", Value: workflow.Text("now")}})
	res = r.drive(res.Run)
	wantStatus(t, res, workflow.StatusSucceeded)
	if got := string(res.Outputs["use"]); got != `"now"` {
		t.Errorf("the signal's value came as %s", got)
	}
}

func TestChildRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	child := def2("ask", `"ask":{"kind":"question","params":{"text":"{{inputs.what}}?"},"ends":{"next":"w"}},`+step("w", `,"output":"{{answers.ask}}"`, "done")+","+ends)
	l := launch(t, def2("sub", `"sub":{"kind":"workflow","params":{"name":"child","inputs":{"what":"Which"}},"ends":{"next":"use","failed":"bad"}},`+
		step("use", `,"output":"{{outputs.sub.outputs.w}}"`, "done")+","+ends))
	l.Blobs = [][]byte{[]byte(child)}
	l.Started.Children = map[string]workflow.Ref{"child": launch(t, child).Started.Workflow}
	res := r.start(l)
	wantStatus(t, res, workflow.StatusWaiting)
	if len(res.Questions) != 1 || res.Questions[0].Run == res.Run || res.Questions[0].Text != "Which?" {
		t.Fatalf("questions %+v", res.Questions)
	}
	r.reopen()
	r.answer(res.Questions[0], "that")
	res = r.drive(res.Run)
	wantStatus(t, res, workflow.StatusSucceeded)
	if got := string(res.Outputs["use"]); got != `"that"` {
		t.Errorf("the child's output came as %s", got)
	}
}

func TestComponentExitAndSteering(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	l := launch(t, def2("hold", `"hold":{"kind":"wait","params":{"for":"1ms"},"ends":{"next":"work"}},`+
		`"work":{"kind":"component","params":{"ref":"c","inputs":{"who":"you"}},"ends":{"next":"bad","failed":"bad","custom":"done"}},`+ends,
		`"components":{"c":{"entry":"s","outputs":["next","failed","custom"],"nodes":{`+
			`"s":{"kind":"step","params":{"name":"s","model":"hi {{vars.who}}"},"ends":{"next":"out","failed":"out"}},`+
			`"out":{"kind":"end","params":{"outcome":"success","exit":"custom"},"ends":{}}}}}`))
	l.ID = "rtest"
	res := r.start(l)
	wantStatus(t, res, workflow.StatusSucceeded)
	if r.w.count("call:hi you") != 1 {
		t.Errorf("did %v", r.w.did)
	}
	var out struct {
		Outputs struct{ S struct{ Text string } }
	}
	if err := json.Unmarshal(res.Outputs["work"], &out); err != nil || out.Outputs.S.Text != "reply to hi you" {
		t.Errorf("output of the component %s: %v", res.Outputs["work"], err)
	}
}

func TestExpiredQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("q", `"q":{"kind":"question","params":{"text":"Now?","timeout":"1ms"},"ends":{"next":"bad","expired":"done"}},`+ends))
	if res.Status == workflow.StatusWaiting {
		time.Sleep(5 * time.Millisecond)
		res = r.drive(res.Run)
	}
	wantStatus(t, res, workflow.StatusSucceeded)
}
