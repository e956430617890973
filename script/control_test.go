package script_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/tenonrun/tenon/script"
	"github.com/tenonrun/tenon/workflow"
)

// until plays until an agent with the text in its prompt runs.
func (p *play) until(prompt string) workflow.VisitID {
	p.f.Helper()
	if len(p.events) == 0 {
		p.record("", &p.start)
	}
	for range 1000 {
		for id, c := range p.running {
			if strings.Contains(string(c.Params), prompt) {
				return id
			}
		}
		if !p.step() {
			break
		}
	}
	p.f.Fatalf("no agent is asked %q", prompt)
	return ""
}

func (p *play) notes(kind string) []string {
	var out []string
	for _, e := range p.events {
		if n, ok := e.Payload.(*workflow.Progress); ok && n.Kind == kind {
			out = append(out, n.Message)
		}
	}
	return out
}

// TestHalt: a person who stops a run does not wait for the code of its script, and
// the run is as it was before that code.
func TestHalt(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"loop":         `for (;;);`,
		"caught":       `for (;;) { try { for (;;); } catch (e) {} }`,
		"regex":        `return /^(a+)+$/.test("a".repeat(40) + "b")`,
		"sort":         `return Array.from({length: 100}, (_, i) => i).sort(() => { for (;;); })`,
		"after a call": `await agent("One => 1"); for (;;);`,
		"in a branch":  `return parallel([() => agent("One => 1"), async () => { await null; for (;;); }])`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, named("halted", body), 1)
			left := make(chan struct{})
			done := make(chan struct{})
			events := []workflow.Event{{Seq: 1, Payload: &p.start}}
			if name == "after a call" {
				events = append(events, workflow.Event{Seq: 2, ID: "agent#1", Payload: &workflow.Admitted{Kind: "agent", AI: true}},
					workflow.Event{Seq: 3, ID: "agent#1", Payload: &workflow.Settled{Output: workflow.Text("1")}})
			}
			last := len(events) - 1
			for _, e := range events[:last] {
				if err := p.prog.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.prog.Apply(events[last]); err != nil {
				t.Fatal(err)
			}
			go func() { defer close(done); p.factory.Halt("rtest", left) }()
			_, err := p.prog.Decide(nil)
			close(left)
			<-done
			if workflow.CodeOf(err) != workflow.CodeInterrupted || !strings.Contains(err.Error(), "halted.js: the script was stopped in the middle of its code") {
				t.Errorf("%v", err)
			}
			if err := p.prog.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHaltedCodeWaits: code that a person stopped is not done by looking at the run,
// nor when the run is cancelled; it is done when somebody goes on.
func TestHaltedCodeWaits(t *testing.T) {
	t.Parallel()
	p := begin(t, named("halted", `await agent("One => 1"); for (;;);`), 1, func(p *play) {
		p.factory = script.New(script.Config{Time: time.Second / 2})
	})
	history := []workflow.Payload{&p.start, &workflow.Admitted{Kind: "agent", AI: true}, &workflow.Settled{Output: workflow.Text("1")}, &workflow.Progress{Kind: workflow.ProgressHalted}}
	for name, tc := range map[string]struct {
		then []workflow.Payload
		want workflow.Status // "" is no end
	}{
		"looked at": {nil, ""},
		"cancelled": {[]workflow.Payload{&workflow.Resumed{}, &workflow.CancelRequested{}}, workflow.StatusCancelled},
		"goes on":   {[]workflow.Payload{&workflow.Resumed{}}, workflow.StatusFailed},
	} {
		prog, err := p.factory.New("r", p.start, p.values)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range append(slices.Clone(history), tc.then...) {
			id := ""
			if i == 1 || i == 2 {
				id = "agent#1"
			}
			if err := prog.Apply(workflow.Event{Seq: int64(i + 1), ID: id, Payload: f}); err != nil {
				t.Fatalf("%s, event %d: %v", name, i+1, err)
			}
		}
		wishes, err := prog.Decide(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got workflow.Status
		for _, c := range wishes {
			if end, ok := c.(workflow.Complete); ok {
				got = end.Ended.Status
			}
		}
		if got != tc.want {
			t.Errorf("%s: the run ends %q, want %q", name, got, tc.want)
		}
		if err := prog.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestVisits(t *testing.T) {
	t.Parallel()
	p := begin(t, named("visits", `phase("Find");
await pipeline(["a"], () => agent("One", {label: "first", model: "m", timeout: "90s"}), async () => { const x = async () => shell(["ls"]); await x(); return agent("Two", {phase: "Own"}) });`), 1,
		func(p *play) { p.start.Options.Script.Concurrency = 3 })
	var got []workflow.StartVisit
	p.answer = func(c workflow.StartVisit) workflow.Settled {
		got = append(got, c)
		return workflow.Settled{Output: workflow.Text("x")}
	}
	p.finish()
	if len(got) != 3 {
		t.Fatalf("visits %v", got)
	}
	one := got[0]
	want := workflow.StartVisit{Visit: "pipeline#1[0]/stage#1/agent#1", Node: "pipeline#1[0]/stage#1/agent#1", Number: 1, Scope: "pipeline#1[0]/stage#1",
		Kind: "agent", Effect: workflow.EffectRead, AI: true, Steerable: true}
	if one.Visit != want.Visit || one.Node != want.Node || one.Scope != want.Scope || one.Number != 1 || !one.AI || !one.Steerable || one.Effect != want.Effect {
		t.Errorf("visit %+v", one)
	}
	if string(one.Params) != `{"prompt":"One","model":"m","timeoutMs":90000}` || one.Context.Group != "Find" || one.Context.Label != "first" {
		t.Errorf("params %s, context %+v", one.Params, one.Context)
	}
	if len(one.Limits) != 1 || one.Limits[0] != (workflow.Limit{ID: "agents", Max: 3}) {
		t.Errorf("limits %v", one.Limits)
	}
	if s := got[1]; s.Visit != "pipeline#1[0]/stage#2/f#1/f#1/shell#1" || s.Kind != "shell" || s.Effect != workflow.EffectWrite || len(s.Limits) != 0 {
		t.Errorf("shell %+v", s)
	}
	if a := got[2]; a.Visit != "pipeline#1[0]/stage#2/f#1/agent#1" || a.Context.Group != "Own" {
		t.Errorf("second agent %+v", a)
	}
	if path := one.Visit.Path(); path != "pipeline/stage/agent" {
		t.Errorf("path %s", path)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	p := begin(t, named("notes", `phase("A"); log("x", {a: 1}, [2]); console.warn(new Error("bad")); await parallel([() => { throw new Error("thunk") }]);
await parallel(Array.from({length: 30}, (_, i) => () => agent("Do " + i + " => " + i)))`), 1)
	p.finish()
	if got := strings.Join(p.notes(workflow.NoteLog), "|"); got != `x {"a":1} [2]|Error: bad` {
		t.Errorf("log %q", got)
	}
	if got := strings.Join(p.notes(workflow.NotePhase), "|"); got != "A" {
		t.Errorf("phases %q", got)
	}
	if got := strings.Join(p.notes(workflow.NoteWarning), "|"); got != "parallel() item 0: Error: thunk|the script starts more than 25 agents; it may start 1000" {
		t.Errorf("warnings %q", got)
	}
	if len(p.ended.Warnings) != 1 {
		t.Errorf("warnings of the end %v", p.ended.Warnings)
	}
}

func TestDeadAgents(t *testing.T) {
	t.Parallel()
	p := begin(t, named("dead", `return (await parallel([() => agent("A => !die", {label: "a"}), () => agent("B => b")])).map(x => x ?? "-")`), 1)
	end := p.finish()
	if end.Status != workflow.StatusUnproven || string(end.Outputs["result"].JSON) != `["-","b"]` {
		t.Errorf("end %+v", end)
	}
	if len(end.Completion.Reasons) != 1 || end.Completion.Reasons[0] != script.ReasonDead || len(end.Warnings) != 1 || !strings.Contains(end.Warnings[0], "1 agent died") {
		t.Errorf("reasons %v, warnings %v", end.Completion.Reasons, end.Warnings)
	}
	if f := end.Failures; len(f) != 1 || f[0].Code != workflow.CodeProviderAuth || f[0].Node != "parallel#1[0]/agent#1" || f[0].Message != "a: as asked" {
		t.Errorf("failures %v", f)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	p := begin(t, named("cancel", `await agent("One => 1"); await Promise.all([agent("Two"), agent("Three"), ask("Four?")])`), 1)
	p.until("Two")
	p.record("", &workflow.CancelRequested{})
	end := p.finish()
	if end.Status != workflow.StatusCancelled {
		t.Fatalf("ended %s", end.Status)
	}
	for id, n := range p.started {
		if n > 1 {
			t.Errorf("%s was started %d times", id, n)
		}
	}
}

func TestRefusedGoesOnAfterARaise(t *testing.T) {
	t.Parallel()
	p := begin(t, named("raise", `return [await agent("One => 1"), budget.total]`), 1, func(p *play) { p.start.Options.Budget.MaxTokens = 10 })
	p.record("", &p.start)
	p.wishes = nil
	p.record("agent#1", &workflow.Refused{Code: workflow.CodeBudgetExhausted})
	if p.step() {
		t.Fatal("a refused call was wanted again")
	}
	p.record("", &workflow.LimitRaised{Tokens: 500})
	if end := p.finish(); string(end.Outputs["result"].JSON) != `["1",500]` {
		t.Errorf("end %+v", end)
	}
}

func TestUncertainWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for _, how := range []string{workflow.RecoverRerun, workflow.RecoverDone} {
		p := begin(t, named("unsure", `return (await shell(["make"])).exitCode`), 1)
		p.record("", &p.start)
		p.step()
		p.record("shell#1", &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true})
		if p.step() {
			t.Fatal("an uncertain write was wanted again")
		}
		p.record("shell#1", &workflow.Recovered{How: how})
		if how == workflow.RecoverDone {
			p.record("shell#1", &workflow.Settled{Outcome: "ok", Output: workflow.Inline(json.RawMessage(`{"exitCode":0}`))})
		}
		if end := p.finish(); string(end.Outputs["result"].JSON) != "0" {
			t.Errorf("%s: end %+v", how, end)
		}
	}
}

func TestQuestionIsAskedOnce(t *testing.T) {
	t.Parallel()
	p := begin(t, named("ask", `return ask("Ship it?", {schema: {type: "boolean"}})`), 1)
	p.record("", &p.start)
	p.step()
	p.record("question#1", &workflow.QuestionOpened{})
	p.running = map[workflow.VisitID]workflow.StartVisit{}
	p.order = nil
	if p.step() {
		t.Fatal("a question that waits was wanted again")
	}
	p.record("question#1", &workflow.QuestionAnswered{})
	p.answer = func(workflow.StartVisit) workflow.Settled {
		return workflow.Settled{Outcome: "next", Output: workflow.Inline(json.RawMessage(`{"response":{"answer":true}}`))}
	}
	if end := p.finish(); string(end.Outputs["result"].JSON) != "true" {
		t.Errorf("end %+v", end)
	}
}

func TestShellFailures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ output, want string }{
		{`{"exitCode":2}`, `2`}, {``, `"shell_execution_error"`},
	} {
		p := begin(t, named("shell", `try { return (await shell(["make"])).exitCode } catch (e) { return e.code }`), 1)
		p.answer = func(workflow.StartVisit) workflow.Settled {
			s := workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed, Error: &workflow.Failure{Code: workflow.CodeShellFailed, Message: "no such command"}}
			if tc.output != "" {
				s.Output = workflow.Inline(json.RawMessage(tc.output))
			}
			return s
		}
		if end := p.finish(); string(end.Outputs["result"].JSON) != tc.want {
			t.Errorf("output %q gives %s, want %s", tc.output, end.Outputs["result"].JSON, tc.want)
		}
	}
}

func TestDivergence(t *testing.T) {
	t.Parallel()
	body := "const a = await agent('One => 1');\nreturn agent(`Two ${args.x} => 2`);"
	p := begin(t, named("diverge", body), 1, func(p *play) { p.start.Inputs = workflow.Inline(json.RawMessage(`{"x":1}`)) })
	p.finish()
	for _, tc := range []struct {
		name string
		edit func(*play)
		want []string
	}{
		{"another prompt", func(q *play) { q.start.Inputs = workflow.Inline(json.RawMessage(`{"x":2}`)) }, []string{"agent#2", "diverge.js:3:", "Two 2", "another prompt"}},
		{"another call", func(q *play) {
			q.start.Workflow.Digest = q.values.put(named("diverge", "await agent('One => 1');\nreturn (async () => agent('Two'))()").text)
		}, []string{"f#1/agent#1", "diverge.js:3:", "agent of agent#2"}},
		{"no call", func(q *play) {
			q.start.Workflow.Digest = q.values.put(named("diverge", "await new Promise(() => agent('One => 1'))").text)
		}, nil},
	} {
		q := begin(t, named("diverge", body), 1, func(q *play) { q.start = p.start })
		tc.edit(q)
		q.renew()
		var err error
		for _, e := range p.events {
			if err = q.prog.Apply(e); err != nil {
				break
			}
		}
		var d *workflow.Divergence
		if tc.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if !errors.As(err, &d) {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for _, w := range tc.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q", tc.name, err, w)
			}
		}
		if err := q.prog.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestEndless(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		body string
		code workflow.Code
	}{
		{"await agent('A => a'); for (;;);", workflow.CodeScriptEndless},
		{"for (;;) await null;", workflow.CodeScriptEndless},
		{"const all = []; for (;;) all.push(new Array(1e5).fill(7))", workflow.CodeScriptFailed},
		{"return [1n]", workflow.CodeScriptFailed},
	} {
		if raced && tc.code == workflow.CodeScriptFailed && strings.Contains(tc.body, "1e5") {
			continue // filling memory takes minutes
		}
		p := begin(t, named("endless", tc.body), 1, func(p *play) { p.factory = script.New(script.Config{Time: 1e9, Memory: 32 << 20}) })
		if end := p.finish(); end.Status != workflow.StatusFailed || len(end.Failures) != 1 || end.Failures[0].Code != tc.code {
			t.Errorf("%s: %+v", tc.body, end)
		}
		if tc.code != workflow.CodeScriptEndless {
			continue
		}
		one := p.commands(p.events, func(int) bool { return true })
		p.factory = script.New(script.Config{Time: time.Hour}) // to look at it again does not run the code again
		if got := p.commands(p.events, func(int) bool { return false }); !slices.Equal(got, one) {
			t.Errorf("%s: the commands are\n%v, and in one batch\n%v", tc.body, one, got)
		}
	}
}

func TestTraitsMayRefuse(t *testing.T) {
	t.Parallel()
	p := begin(t, named("traits", `try { await agent("x", {model: "none"}) } catch (e) { return [e.code, e.message] }`), 1, func(p *play) {
		p.factory = script.New(script.Config{Traits: func(string, json.RawMessage, workflow.Options) (script.Traits, error) {
			return script.Traits{}, workflow.Errorf(workflow.CodeModelUnknown, "there is no model none")
		}})
	})
	if end := p.finish(); string(end.Outputs["result"].JSON) != `["model_unknown","there is no model none"]` {
		t.Errorf("end %+v", end)
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{`export const meta = {description: "d"}`, "name is missing"},
		{`export const meta = {name: "n"}`, "description is missing"},
		{`export const meta = {name: 5, description: "d"}`, "name must not be a number"},
		{`export const meta = {name: "n", description: "d", phases: [{}]}`, "phases[0] has no title"},
		{`export const meta = {name: "n", description: "d", args: {type: "objekt"}}`, "args is not a JSON Schema"},
		{`export const meta = {name: "n", description: "d"}; import x from "y"`, "cannot load modules"},
	} {
		_, err := script.Check("x.js", []byte(tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) || workflow.CodeOf(err) != workflow.CodeInvalidDefinition {
			t.Errorf("%s: %v, want %q", tc.text, err, tc.want)
		}
	}
	m, err := script.Read("x.js", []byte(`export const meta = {name: "n", description: "d", whenToUse: "w", phases: [{title: "t", model: "m"}]}; import x from "y"`))
	if err != nil || m.Name != "n" || m.WhenToUse != "w" || len(m.Phases) != 1 || m.Phases[0].Model != "m" {
		t.Errorf("meta %+v, %v", m, err)
	}
	built := api.Transform(script.Types(), api.TransformOptions{Loader: api.LoaderTS})
	if len(built.Errors) > 0 {
		t.Errorf("the types are not TypeScript: %v", built.Errors[0].Text)
	}
	for _, name := range []string{"agent", "parallel", "pipeline", "phase", "log", "args", "budget", "workflow", "ask", "shell", "verify", "artifact"} {
		if !regexp.MustCompile(`declare (function|const) ` + name + `\b`).MatchString(script.Types()) {
			t.Errorf("the types do not declare %s", name)
		}
	}
}
