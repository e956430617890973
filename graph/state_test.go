package graph_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenonrun/tenon/workflow"
)

func TestRouting(t *testing.T) {
	t.Parallel()
	failure := &workflow.Failure{Code: workflow.CodeTimeout, Message: "late"}
	tests := []struct {
		name    string
		ends    []string
		result  workflow.Settled
		status  workflow.Status
		reasons []string
	}{
		{"an edge to nothing", []string{"next>", "failed>bad"}, workflow.Settled{Outcome: "next"}, workflow.StatusSucceeded, nil},
		{"a failure on an edge to nothing", []string{"next>done", "failed>"}, workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed, Error: failure}, workflow.StatusFailed, []string{"timeout"}},
		{"a failure without an error", []string{"failed>"}, workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed}, workflow.StatusFailed, []string{"failed"}},
		{"blocked", []string{"blocked>"}, workflow.Settled{Outcome: "blocked", Status: workflow.VisitBlocked}, workflow.StatusFailed, []string{"blocked"}},
		{"a failure that is routed", []string{"next>bad", "failed>done"}, workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed, Error: failure}, workflow.StatusSucceeded, nil},
		{"a failure without an edge", []string{"next>done"}, workflow.Settled{Status: workflow.VisitFailed, Error: failure}, workflow.StatusFailed, []string{"timeout"}},
		{"with reasons of its own", []string{"next>done"}, workflow.Settled{Outcome: "odd", Completion: &workflow.Completion{Reasons: []string{"no_progress"}}}, workflow.StatusFailed, []string{"no_progress"}},
		{"an outcome without an edge", []string{"next>done"}, workflow.Settled{Outcome: "odd"}, workflow.StatusFailed, []string{"odd"}},
		{"nothing at all", []string{"next>done"}, workflow.Settled{}, workflow.StatusFailed, []string{"failed"}},
		{"denied", []string{"next>done"}, workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Code: workflow.CodeApprovalDenied}}, workflow.StatusDenied, []string{"approval_denied"}},
		{"denied and routed", []string{"denied>bad"}, workflow.Settled{Outcome: "denied"}, workflow.StatusFailed, []string{"went_bad"}},
		{"a node that is not there", []string{"next>nowhere"}, workflow.Settled{Outcome: "next"}, workflow.StatusFailed, []string{"node_not_found:nowhere"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc2(graphOf("w", node("w", "work", "", tt.ends...))))
			p.settle("w", tt.result)
			p.wantEnd(tt.status, tt.reasons...)
			if tt.result.Error != nil && (len(p.ended.Failures) != 1 || p.ended.Failures[0] != *tt.result.Error) {
				t.Errorf("failures %s", text(p.ended.Failures))
			}
		})
	}
}

// A denial ends its body: inside a component that is a failure.
func TestDeniedInAComponent(t *testing.T) {
	t.Parallel()
	p := begin(t, doc1(graphOf("c", node("c", "component", `{"ref":"part"}`, "next>done", "failed>bad")), components("part", body("q", node("q", "work", "", "next>")))))
	p.settle("c/q", workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Code: workflow.CodeApprovalDenied}})
	if res := p.results["c"]; res.Outcome != "failed" || res.Status != workflow.VisitFailed {
		t.Errorf("result %s", text(res))
	}
	p.wantEnd(workflow.StatusFailed, "went_bad")
}

func TestFailuresAreTheNewest(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", node("w", "work", "", "next>done", "failed>w"))))
	for i := range 11 {
		p.settle("w", workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed, Error: &workflow.Failure{Code: "timeout", Message: fmt.Sprint(i)}})
	}
	if got := p.prog.(workflow.Reporter).Failures(); len(got) != 8 || got[0].Message != "3" || got[7].Message != "10" {
		t.Errorf("failures %s", text(got))
	}
	p.next("w")
	p.wantEnd(workflow.StatusSucceeded)
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		most  int
		texts []string
		want  string
	}{
		{"all fit", 200, []string{"a", "b"}, "[w] a\n[w] b"},
		{"the oldest goes", 200, []string{"old", strings.Repeat("x", 100), strings.Repeat("y", 91)}, "[w] " + strings.Repeat("x", 100) + "\n[w] " + strings.Repeat("y", 91)},
		{"more of them", 200, []string{strings.Repeat("x", 100), strings.Repeat("y", 92)}, "[w] " + strings.Repeat("y", 92)},
		{"one is too long", 200, []string{"a", strings.Repeat("é", 300)}, "[w] " + strings.Repeat("é", 196)},
		{"default", 0, []string{strings.Repeat("x", 3000)}, "[w] " + strings.Repeat("x", 1496)},
		{"blank is no entry", 200, []string{"a", ""}, "[w] a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc2(graphOf("w", task("w", "w"))), func(p *play) { p.start.Options.Policies.HistoryMaxChars = tt.most })
			for _, s := range tt.texts {
				p.settle("w", workflow.Settled{Outcome: "next", History: s})
			}
			if got := p.find("w").Context.History; got != tt.want {
				t.Errorf("history %q (%d), want %q", got, utf8.RuneCountInString(got), tt.want)
			}
			p.wantLookup("w", text(tt.want), "$history", "text")
		})
	}
}

// Many short entries are no way around the bound.
func TestHistoryOfManyEntries(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", task("w", "w"))), func(p *play) { p.start.Options.Policies.HistoryMaxChars = 200 })
	for range 60 {
		p.settle("w", workflow.Settled{Outcome: "next", History: "x"})
	}
	if got := utf8.RuneCountInString(p.find("w").Context.History); got > 200 || got < 190 {
		t.Errorf("the history has %d characters, the bound is 200", got)
	}
}

func TestHistoryAsAList(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", task("w", "c"), node("c", "component", `{"ref":"part"}`, "next>v", "failed>bad"), task("v", "done")), components("part", body("i", task("i", "")))))
	p.settle("w", workflow.Settled{Outcome: "next", History: "first"})
	p.wantLookup("c/i", `[]`, "$history") // a body begins with an empty one
	p.settle("c/i", workflow.Settled{Outcome: "next", History: "inside"})
	p.wantLookup("v", `[{"node":"w","text":"first","visit":"w#1"}]`, "$history")
	p.wantLookup("v", `"first"`, "$history", "0", "text")
	p.wantLookup("v", `absent`, "$history", "1")
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("q", task("q", "r"), task("r", "q"))))
	p.wantLookup("q", "[]", "$answers")
	p.wantLookup("q", "absent", "$answers", "q")
	p.settle("q", workflow.Settled{Outcome: "next", Answers: []workflow.NamedAnswer{{Question: "q-1", Value: value("yes")}}})
	p.settle("r", workflow.Settled{Outcome: "next", Answers: []workflow.NamedAnswer{{Question: "q-2", Value: value(map[string]int{"n": 1})}}})
	p.settle("q", workflow.Settled{Outcome: "next", Answers: []workflow.NamedAnswer{{Question: "q-3", Value: value("no")}}})
	p.wantLookup("r", `"no"`, "$answers", "q")
	p.wantLookup("r", `"yes"`, "$answers", "q-1")
	p.wantLookup("r", `1`, "$answers", "r", "n")
	p.wantLookup("r", `[{"node":"q","question":"q-1","value":"yes"},{"node":"r","question":"q-2","value":{"n":1}},{"node":"q","question":"q-3","value":"no"}]`, "$answers")
}

// What a node keeps for itself comes back to it and to nobody else.
func TestPrivateStateAndSessions(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("a", task("a", "b"), task("b", "a"))))
	p.settle("a", workflow.Settled{Outcome: "next", Private: value("mine"), Session: &workflow.Session{ID: "s1", Identity: "i"}})
	if c := p.find("b").Context; !c.Private.Absent() || c.Session != nil {
		t.Errorf("b sees %s", text(c))
	}
	for _, root := range []string{"$private", "$sessions"} {
		p.wantLookup("b", "absent", root)
		p.wantLookup("b", "absent", root, "a")
	}
	p.next("b")
	if c := p.find("a").Context; string(c.Private.JSON) != `"mine"` || c.Session == nil || c.Session.ID != "s1" {
		t.Errorf("a sees %s", text(c))
	}
	p.next("a", "b")
	if c := p.find("a").Context; string(c.Private.JSON) != `"mine"` {
		t.Errorf("a result without private state took it away: %s", text(c))
	}
}

// $attempts holds the highest number of attempts that a visit of the node took.
func TestAttempts(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", task("w", "v"), task("v", "w"))))
	p.wantLookup("w", "1", "$attempts", "w")
	p.wantLookup("w", "absent", "$attempts", "v")
	p.say("w", &workflow.Retrying{Code: workflow.CodeTimeout})
	p.say("w", &workflow.Lost{Code: workflow.CodeInterrupted})
	p.next("w")
	p.wantLookup("v", `{"v":1,"w":3}`, "$attempts")
	p.next("v", "w")
	p.wantLookup("v", `{"v":1,"w":3}`, "$attempts")
}

func TestLookup(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("w", task("w", "x"), task("x", "done"))), func(p *play) {
		p.start.Inputs = value(map[string]any{"a": []int{5, 6}})
		p.start.Launch.Change = "my-change"
	})
	raw := []byte(`{"deep":[{"v":"found"}]}`)
	p.settle("w", workflow.Settled{
		Outcome: "next", Output: workflow.Value{Digest: p.values.put(raw), Size: len(raw)}, Candidate: "c1:x",
		Vars: map[string]workflow.Value{"gone": {Digest: "nowhere", Size: 9000}},
	})
	for _, tt := range []struct{ want, path string }{
		{`6`, "$inputs.a.1"}, {`absent`, "$inputs.a.2"}, {`absent`, "$inputs.b"}, {`{"a":[5,6]}`, "$inputs"},
		{`"my-change"`, "$vars.changeId"}, {`"found"`, "$outputs.w.deep.0.v"}, {`absent`, "$outputs.w.deep.01.v"},
		{`{"w":{"deep":[{"v":"found"}]}}`, "$outputs"}, {`"c1:x"`, "$candidate"}, {`absent`, "$candidate.x"},
		{`absent`, "$item"}, {`absent`, "$item.index"}, {`null`, "$verified"}, {`absent`, "$verified.receiptId"}, {`absent`, "$else"},
	} {
		path := strings.Split(tt.path, ".")
		p.wantLookup("x", tt.want, path[0], path[1:]...)
	}
	for _, path := range [][]string{{"gone"}, nil} {
		if got := p.lookup("x", "$vars", path...); !strings.Contains(got, "nowhere") {
			t.Errorf("a value that cannot be read gives %s", got)
		}
	}
	if _, _, err := p.prog.(workflow.Reader).Lookup("w#1", "$vars", nil); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("reading for a visit that is over gives %v", err)
	}
}

func TestInterpolation(t *testing.T) {
	t.Parallel()
	vars := map[string]workflow.Value{"n": value(3), "o": value(map[string]int{"k": 1}), "s": value("text")}
	tests := []struct {
		name   string
		level  int
		params string
		want   string // params, or the code of the failure
	}{
		{"typed", 2, `{"a":"{{vars.n}}","b":["{{vars.o}}"],"c":"n={{vars.n}}"}`, `{"a":3,"b":[{"k":1}],"c":"n=3"}`},
		{"always text", 1, `{"a":"{{run.n}}","b":"{{run.o}}","d":"{{{{run.n}}"}`, `{"a":"3","b":"{\"k\":1}","d":"{{run.n}}"}`},
		{"inputs, outputs, answers", 2, `{"a":"{{inputs.i}}","b":"{{outputs.w.x.0}}","c":"{{answers.w}}","d":"{{history.text}}"}`, `{"a":1,"b":7,"c":"yes","d":"[w] did"}`},
		{"keys stay", 2, `{"{{vars.n}}":"{{vars.s}}"}`, `{"{{vars.n}}":"text"}`},
		{"missing", 2, `{"a":"{{vars.nope}}"}`, "run_var_missing"},
		{"missing in a text", 1, `{"a":"x {{run.nope}}"}`, "run_var_missing"},
		{"missing input", 2, `{"a":{"b":["{{inputs.nope.x}}"]}}`, "run_var_missing"},
		{"code is not filled in", 2, `{"expr":"{{vars.n}}","captureVars":[{"name":"a","pattern":"{{vars.n}}"}],"schema":{"const":"{{vars.n}}"},"structuredOutput":{"const":"{{vars.n}}"},"a":"{{vars.n}}"}`,
			`{"a":3,"captureVars":[{"name":"a","pattern":"{{vars.n}}"}],"expr":"{{vars.n}}","schema":{"const":"{{vars.n}}"},"structuredOutput":{"const":"{{vars.n}}"}}`},
		{"code alone", 2, `{"schema":{"const":"{{vars.nope}}"}}`, `{"schema":{"const":"{{vars.nope}}"}}`},
		{"where a number is needed", 2, `{"number":"{{vars.n}}"}`, `{"number":3}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc(tt.level, graphOf("w", task("w", "x"), node("x", "work", tt.params, "next>done", "failed>bad"))), func(p *play) { p.start.Inputs = value(map[string]int{"i": 1}) })
			p.settle("w", workflow.Settled{Outcome: "next", Vars: vars, History: "did", Output: value(map[string]any{"x": []int{7}}), Answers: []workflow.NamedAnswer{{Value: value("yes")}}})
			if !strings.HasPrefix(tt.want, "{") {
				p.wantEnd(workflow.StatusFailed, "went_bad")
				if res := p.results["x"]; string(res.Error.Code) != tt.want || res.Outcome != "failed" || res.Error.Node != "x" {
					t.Errorf("result %s", text(res))
				}
				return
			}
			var got any
			if err := json.Unmarshal(p.find("x").Params, &got); err != nil || text(got) != tt.want {
				t.Errorf("params %s, want %s (%v)", text(got), tt.want, err)
			}
		})
	}
}

// Where a visit fails before it begins and nothing routes that, its body ends.
func TestInterpolationFailureWithoutAnEdge(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("c", node("c", "wait", `{"signal":"{{vars.nope}}"}`, "next>done"))))
	p.wantEnd(workflow.StatusFailed, "run_var_missing")
}

// Control kinds take params with tokens, and the text of a map's expression is
// code even where it looks like a token.
func TestControlParamsWithTokens(t *testing.T) {
	t.Parallel()
	p := begin(t, doc2(graphOf("a", node("a", "assign", `{"set":{"n":[1,2],"r":"any-ok"}}`, "next>b", "failed>bad"),
		node("b", "assign", `{"set":{"m":"{{vars.n}}"}}`, "next>m", "failed>bad"),
		node("m", "map", `{"over":{"items":["{{vars.m}}",5]},"body":"one"}`, "next>j"), node("j", "join", `{"reduce":"{{vars.r}}"}`, "next>k", "fail>bad"),
		node("k", "map", `{"over":{"expr":"$vars.n"},"body":`+body("w", node("w", "end", `{"outcome":"success","reason":"item {{item.index}}"}`))+`}`, "next>l"), node("l", "join", `{"reduce":"all-ok"}`, "next>done", "fail>bad")),
		components("one", body("w", task("w", "")))))
	p.wantLookup("m#1[0]/w#1", `[1,2]`, "$item", "value")
	p.next("m/w")
	p.settle("m/w", workflow.Settled{Status: workflow.VisitFailed})
	p.wantEnd(workflow.StatusSucceeded)
}

func TestHistoriesThatDoNotFit(t *testing.T) {
	t.Parallel()
	doc := doc2(graphOf("w", task("w", "c"), node("c", "condition", `{"expr":"true"}`, "true>x", "false>bad"), task("x", "done")))
	admitted := &workflow.Admitted{Kind: "work"}
	tests := []struct {
		name    string
		visit   workflow.VisitID
		payload workflow.Payload
	}{
		{"another node", "x#1", admitted},
		{"a visit too early", "w#2", admitted},
		{"another kind", "w#1", &workflow.Admitted{Kind: "shell"}},
		{"a result out of nothing", "x#1", &workflow.Settled{Outcome: "next"}},
		{"a loss out of nothing", "x#1", &workflow.Lost{Code: workflow.CodeOwnerLost}},
		{"a question out of nothing", "x#1", &workflow.QuestionOpened{}},
		{"a second start", "", &workflow.RunStarted{Kind: workflow.KindGraph}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, doc)
			err := p.apply(about(tt.visit, "", 1, 1), tt.payload)
			var d *workflow.Divergence
			if !errors.As(err, &d) || d.Seq != 2 || d.Want == "" || d.Got == "" {
				t.Errorf("it is taken: %v", err)
			}
		})
	}
}

func TestFactoryRefuses(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"unknown kind":      doc2(graphOf("w", node("w", "mystery", "", "next>done"))),
		"missing component": doc2(graphOf("c", node("c", "component", `{"ref":"nope"}`, "next>done", "failed>bad"))),
		"bad expression":    doc2(graphOf("c", node("c", "condition", `{"expr":"1 +"}`, "true>done", "false>bad"))),
		"bad params":        doc2(graphOf("c", node("c", "assign", `{"increment":"x"}`, "next>done", "failed>bad"))),
		"not a definition":  `[1]`,
	} {
		values := blobs{}
		start := workflow.RunStarted{Workflow: workflow.Ref{Name: "w", Digest: values.put([]byte(doc))}, Level: 2}
		if _, err := factory(t).New("r", start, values); err == nil {
			t.Errorf("%s: it compiles", name)
		}
	}
	if _, err := factory(t).New("r", workflow.RunStarted{Workflow: workflow.Ref{Name: "w", Digest: "gone"}}, blobs{}); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("a document that is not there gives %v", err)
	}
}

// A program that has not begun tells nothing, and does not fall over.
func TestBeforeTheStart(t *testing.T) {
	t.Parallel()
	p := prepare(t, doc2(graphOf("w", task("w", "done"))))
	prog := p.fresh()
	if r := prog.(workflow.Reporter); r.Outputs() != nil || r.Failures() != nil {
		t.Error("it reports something")
	}
	if err := errors.Join(prog.Close(), prog.Close()); err != nil {
		t.Error(err)
	}
}
