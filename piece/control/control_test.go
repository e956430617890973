package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/control"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

func get(t *testing.T, kind string) piece.Piece {
	t.Helper()
	r, err := piece.NewRegistry(control.Pieces()...)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := r.Get(kind)
	if !ok {
		t.Fatalf("no piece %q", kind)
	}
	return p
}

func TestKinds(t *testing.T) {
	t.Parallel()
	r, err := piece.NewRegistry(control.Pieces()...)
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[int]string{
		1: "condition end approval question gate assign component map join",
		2: "condition end approval question gate assign component map join parallel wait workflow",
	} {
		if got := strings.Join(r.Kinds(level), " "); got != want {
			t.Errorf("level %d: kinds %q, want %q", level, got, want)
		}
	}
	for _, p := range control.Pieces() {
		for level := 1; level <= 2; level++ {
			if raw := p.Schema(level); raw != nil {
				if _, err := schema.Compile(raw); err != nil {
					t.Errorf("schema of %s, level %d: %v", p.Kind, level, err)
				}
			}
		}
	}
}

// TestParams has, for each case, outcomes when the params are good, and a word
// of the first problem when they are not.
func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind, params string
		level        int
		outcomes     string
		problem      string
	}{
		{"condition", `{"expr":"$vars.a == 1"}`, 1, "true false", ""},
		{"condition", `{"expr":""}`, 1, "", "/expr"},
		{"condition", `{"expr":"&&"}`, 1, "true false", "/expr"},
		{"condition", `{"expr":"true","else":1}`, 1, "", "/else"},
		{"assign", `{"set":{"a":{"b":[1]}},"increment":{"n":-2}}`, 1, "next failed", ""},
		{"assign", `{}`, 1, "", "alternatives"},
		{"assign", `{"set":{}}`, 1, "", "/set"},
		{"assign", `{"set":{"__proto__":1}}`, 1, "", "__proto__"},
		{"assign", `{"increment":{"a":1.5}}`, 1, "", "/increment/a"},
		{"assign", `{"set":{"a":1},"increment":{"a":1}}`, 1, "next failed", "/increment/a"},
		{"end", `{"outcome":"success","requiresVerified":true,"reason":"r","exit":"done","blockerFrom":"X_1"}`, 1, "", ""},
		{"end", `{"outcome":"maybe"}`, 1, "", "/outcome"},
		{"component", `{"ref":"work","inputs":{"a":"$vars.b"}}`, 1, "next failed", ""},
		{"component", `{"ref":"9work"}`, 1, "next failed", ""},
		{"component", `{"ref":"work","inputs":{"a":1}}`, 1, "", "/inputs/a"},
		{"component", `{"ref":"work","inputs":{"a":[1]}}`, 2, "next failed", ""},
		{"map", `{"over":"tickets","body":"work","concurrency":8}`, 1, "next", ""},
		{"map", `{"over":"tickets","body":"work","concurrency":9}`, 1, "", "/concurrency"},
		{"map", `{"over":"tickets","body":"work","concurrency":256}`, 2, "next", ""},
		{"map", `{"over":{"outputsOf":"Plan_1","path":"structured.items"},"body":"work"}`, 1, "next", ""},
		{"map", `{"over":{"items":[1]},"body":"work"}`, 1, "", "/over"},
		{"map", `{"over":{"items":[1,"a"]},"body":{"entry":"x","nodes":{}}}`, 2, "next", ""},
		{"map", `{"over":{"expr":"$inputs.items"},"body":"work"}`, 2, "next", ""},
		{"map", `{"over":{"expr":"&&"},"body":"work"}`, 2, "next", "/over/expr"},
		{"join", `{"reduce":"all-ok"}`, 1, "next fail", ""},
		{"join", `{}`, 1, "", "reduce"},
		{"parallel", `{"branches":{"left":"a","right":{"entry":"x","nodes":{}}},"concurrency":2,"reduce":"any-ok"}`, 2, "next fail", ""},
		{"parallel", `{"branches":{}}`, 2, "", "/branches"},
		{"wait", `{"for":"90s"}`, 2, "next", ""},
		{"wait", `{"for":"{{inputs.pause}}"}`, 2, "next", ""},
		{"wait", `{"for":"soon"}`, 2, "next", "/for"},
		{"wait", `{"for":"-1s"}`, 2, "next", "/for"},
		{"wait", `{"until":"2026-12-24T18:00:00Z"}`, 2, "next", ""},
		{"wait", `{"until":"tomorrow"}`, 2, "next", "/until"},
		{"wait", `{"signal":"go","timeout":"36h"}`, 2, "next expired", ""},
		{"wait", `{"for":"1s","timeout":"2s"}`, 2, "", "signal"},
		{"wait", `{"for":"1s","signal":"go"}`, 2, "", "alternatives"},
		{"workflow", `{"name":"child","inputs":{"a":1}}`, 2, "next failed", ""},
		{"workflow", `{"name":"a","file":"b"}`, 2, "", "alternatives"},
		{"approval", `{"reason":"ok?","enabled":false,"bindCandidate":true}`, 1, "next", ""},
		{"approval", `{"text":"ok?"}`, 1, "", "/text"},
		{"approval", `{"text":"ok?","schema":{"type":"string"},"timeout":"1h"}`, 2, "approved denied expired", ""},
		{"gate", `{"reason":"ok?"}`, 2, "approved denied", ""},
		{"gate", `{"reason":"ok?","enabled":false}`, 1, "next", "/enabled"},
		{"question", `{"text":"which?"}`, 1, "next", ""},
		{"question", `{"text":"which?","options":["a","b"],"timeout":"1h"}`, 2, "next expired", ""},
		{"question", `{"text":"which?","options":["a"],"schema":{}}`, 2, "", "not allowed"},
		{"question", `{"text":"which?","schema":{"typ":"string"}}`, 2, "next", "/schema"},
		{"question", `{"text":"which?","timeout":"later"}`, 2, "next expired", "/timeout"},
	} {
		outcomes, problem := examine(t, get(t, tc.kind), tc.level, tc.params)
		if problem == "" && tc.problem != "" || !strings.Contains(problem, tc.problem) || tc.problem == "" && problem != "" {
			t.Errorf("%s %s, level %d: problem %q, want %q", tc.kind, tc.params, tc.level, problem, tc.problem)
		}
		if outcomes != tc.outcomes {
			t.Errorf("%s %s, level %d: outcomes %q, want %q", tc.kind, tc.params, tc.level, outcomes, tc.outcomes)
		}
	}
}

// examine returns the outcomes and the first problem, as the loader finds them.
func examine(t *testing.T, p piece.Piece, level int, params string) (outcomes, problem string) {
	t.Helper()
	s, err := schema.Compile(p.Schema(level))
	if err != nil {
		t.Fatal(err)
	}
	if ps := s.Validate(json.RawMessage(params)); ps != nil {
		return "", ps.Error()
	}
	traits, problems := p.Describe(json.RawMessage(params), piece.Env{Level: level})
	if len(problems) > 0 {
		problem = problems[0].Pointer + ": " + problems[0].Message
	}
	return strings.Join(traits.Outcomes, " "), problem
}

func contextOf(t *testing.T, kind string, level int, params string) (*piecetest.Context, func() (workflow.Settled, error)) {
	t.Helper()
	p := get(t, kind)
	traits, _ := p.Describe(json.RawMessage(params), piece.Env{Level: level})
	c := &piecetest.Context{F: piece.Frame{
		Run: "r", Visit: "ask#1", Node: "ask", Number: 1, Kind: kind, Level: level, Params: json.RawMessage(params), Traits: traits,
	}}
	return c, func() (workflow.Settled, error) { return p.Run(context.Background(), c) }
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind, params string
		level        int
		answer       workflow.Answer
		outcome      string
		output       string
		code         workflow.Code
		answers      int
	}{
		"question 1":        {"question", `{"text":"x?"}`, 1, workflow.Answer{Value: workflow.Text("yes"), By: "ann"}, "next", `{"response":{"answer":"yes"}}`, "", 1},
		"question 2":        {"question", `{"text":"x?","schema":{"type":"integer"}}`, 2, workflow.Answer{Value: workflow.Inline([]byte(`7`))}, "next", `{"response":7}`, "", 1},
		"question denied":   {"question", `{"text":"x?"}`, 2, workflow.Answer{Denied: true, Reason: "no", By: "ann"}, "", `{"response":{"approved":false,"reason":"no"}}`, workflow.CodeApprovalDenied, 0},
		"question expired":  {"question", `{"text":"x?","timeout":"1h"}`, 2, workflow.Answer{Expired: true}, "expired", `{"expired":true}`, "", 0},
		"approval 1":        {"approval", `{"reason":"x?"}`, 1, workflow.Answer{Value: workflow.Inline([]byte(`true`))}, "next", `{"response":{"approved":true}}`, "", 0},
		"approval 1 denied": {"approval", `{"reason":"x?"}`, 1, workflow.Answer{Denied: true}, "", `{"response":{"approved":false}}`, workflow.CodeApprovalDenied, 0},
		"gate 1":            {"gate", `{"reason":"x?"}`, 1, workflow.Answer{}, "next", `{"response":{"approved":true}}`, "", 0},
		"gate 2":            {"gate", `{"text":"x?"}`, 2, workflow.Answer{Reason: "fine"}, "approved", `{"response":{"approved":true,"reason":"fine"}}`, "", 0},
		"gate 2 denied":     {"gate", `{"text":"x?"}`, 2, workflow.Answer{Denied: true, Reason: "late"}, "denied", `{"response":{"approved":false,"reason":"late"}}`, "", 0},
		"approval 2 typed":  {"approval", `{"text":"x?","schema":{"type":"object"}}`, 2, workflow.Answer{Value: workflow.Inline([]byte(`{"n":1}`))}, "approved", `{"response":{"approved":true,"value":{"n":1}}}`, "", 1},
		"approval 2 late":   {"approval", `{"text":"x?","timeout":"2h"}`, 2, workflow.Answer{Expired: true}, "expired", `{"expired":true}`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, run := contextOf(t, tc.kind, tc.level, tc.params)
			if _, err := run(); !errors.Is(err, piece.ErrPaused) {
				t.Fatalf("first run: %v, want ErrPaused", err)
			}
			if q := c.Open(); q == nil || q.Kind != tc.kind || q.Text != "x?" || q.Round != 1 {
				t.Fatalf("asked %+v", q)
			}
			if err := c.Answer(tc.answer); err != nil {
				t.Fatal(err)
			}
			s, err := run()
			if err != nil {
				t.Fatal(err)
			}
			if s.Outcome != tc.outcome || string(s.Output.JSON) != tc.output || len(s.Answers) != tc.answers {
				t.Errorf("got outcome %q, output %s, answers %+v", s.Outcome, s.Output.JSON, s.Answers)
			}
			if tc.outcome != "" && !slices.Contains(c.F.Traits.Outcomes, s.Outcome) {
				t.Errorf("outcome %q is not one of %q", s.Outcome, c.F.Traits.Outcomes)
			}
			if code := codeOf(s); code != tc.code {
				t.Errorf("code %q, want %q", code, tc.code)
			}
			if tc.answers > 0 && (s.Answers[0].Node != "ask" || s.Answers[0].Question != "q1" || s.Answers[0].By != tc.answer.By) {
				t.Errorf("recorded answer %+v", s.Answers[0])
			}
		})
	}
}

func codeOf(s workflow.Settled) workflow.Code {
	if s.Error == nil {
		return ""
	}
	return s.Error.Code
}

func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind  string
		level int
		want  string
	}{{"approval", 1, "next"}, {"approval", 2, "approved"}, {"gate", 2, "approved"}} {
		c, run := contextOf(t, tc.kind, tc.level, `{"reason":"x?","enabled":false,"bindCandidate":true}`)
		c.Digest = "c1:a"
		s, err := run()
		if err != nil || s.Outcome != tc.want || c.Open() != nil || string(s.Output.JSON) != `{"candidateHash":"c1:a","response":{"approved":true}}` {
			t.Errorf("%s, level %d: %+v, %v", tc.kind, tc.level, s, err)
		}
	}
	_, run := contextOf(t, "gate", 1, `{"reason":"x?","enabled":false}`)
	if _, err := run(); !errors.Is(err, piece.ErrPaused) {
		t.Errorf("a gate of format 1 did not ask: %v", err)
	}
}

func TestBlankAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`"  "`, `true`, `null`} {
		c, run := contextOf(t, "question", 1, `{"text":"x?"}`)
		pause(t, run)
		answer(t, c, workflow.Answer{Value: workflow.Inline([]byte(value))})
		pause(t, run)
		if q := c.Open(); q == nil || q.Round != 2 || !strings.HasSuffix(q.Text, "\n\nx?") {
			t.Fatalf("%s: second question %+v", value, q)
		}
		answer(t, c, workflow.Answer{Value: workflow.Text("words")})
		if s, err := run(); err != nil || s.Outcome != "next" {
			t.Errorf("%s: %+v, %v", value, s, err)
		}
	}
}

func TestBoundAnswer(t *testing.T) {
	t.Parallel()
	c, run := contextOf(t, "approval", 2, `{"text":"ship?","bindCandidate":true}`)
	c.Digest = "c1:a"
	pause(t, run)
	if q := c.Open(); q.Bound != "c1:a" {
		t.Fatalf("bound to %q", q.Bound)
	}
	answer(t, c, workflow.Answer{Value: workflow.Inline([]byte(`true`))})
	c.Digest = "c1:b"
	pause(t, run)
	q := c.Open()
	if q.Round != 2 || q.Bound != "c1:b" || !strings.Contains(q.Text, "c1:a") || !strings.HasSuffix(q.Text, "\n\nship?") {
		t.Fatalf("asked again: %+v", q)
	}
	answer(t, c, workflow.Answer{Value: workflow.Inline([]byte(`true`))})
	s, err := run()
	if err != nil || s.Outcome != "approved" || string(s.Output.JSON) != `{"candidateHash":"c1:b","response":{"approved":true}}` {
		t.Errorf("%s, %+v, %v", s.Output.JSON, s, err)
	}
	c.Digest = ""
	if _, err := run(); err == nil || errors.Is(err, piece.ErrPaused) {
		t.Errorf("without a work tree: %v, want an error", err)
	}
}

func TestDenialHoldsForAnyCandidate(t *testing.T) {
	t.Parallel()
	c, run := contextOf(t, "gate", 2, `{"text":"ship?","bindCandidate":true}`)
	c.Digest = "c1:a"
	pause(t, run)
	answer(t, c, workflow.Answer{Denied: true})
	c.Digest = "c1:b"
	if s, err := run(); err != nil || s.Outcome != "denied" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	c, run := contextOf(t, "question", 2, `{"text":"x?","options":["a","b"],"timeout":"90s"}`)
	pause(t, run)
	if q := c.Open(); q.Deadline != 90_000_000 || !slices.Equal(q.Options, []string{"a", "b"}) {
		t.Errorf("asked %+v", q)
	}
	_, run = contextOf(t, "question", 2, `{"text":"x?","timeout":"whenever"}`)
	if _, err := run(); workflow.CodeOf(err) != workflow.CodeInvalidPieceParams {
		t.Errorf("bad timeout: %v", err)
	}
}

func TestEndsThatMustBeVerified(t *testing.T) {
	t.Parallel()
	const must = `{"outcome":"success","requiresVerified":true}`
	broken := func() (string, error) { return "", errors.New("index is broken") }
	for name, tc := range map[string]struct {
		params, proven, now string
		hash                func() (string, error)
		want                workflow.Completion
	}{
		"verified":   {params: must, proven: "c1:a", now: "c1:a", want: workflow.Completion{OK: true, Verified: true}},
		"no proof":   {params: must, now: "c1:a", want: workflow.Completion{Status: workflow.StatusUnproven, Reasons: []string{"unverified"}}},
		"changed":    {params: must, proven: "c1:a", now: "c1:b", want: workflow.Completion{Status: workflow.StatusUnproven, Reasons: []string{"unverified"}}},
		"with more":  {params: `{"outcome":"success","requiresVerified":true,"reason":"r","exit":"x"}`, want: workflow.Completion{Status: workflow.StatusUnproven, Reasons: []string{"r", "unverified"}, Exit: "x"}},
		"failure":    {params: `{"outcome":"failure","requiresVerified":true,"reason":"r"}`, hash: broken, want: workflow.Completion{Reasons: []string{"r"}}},
		"unreadable": {params: must, proven: "c1:a", hash: broken},
	} {
		c, run := contextOf(t, "end", 1, tc.params)
		c.Digest, c.Hash, c.State = tc.now, tc.hash, map[string]any{"$verified": nil}
		if tc.proven != "" {
			c.State["$verified"] = map[string]any{"receiptId": "x", "candidateHash": tc.proven}
		}
		s, err := run()
		if name == "unreadable" {
			if err == nil || !strings.Contains(err.Error(), "index is broken") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || s.Completion == nil {
			t.Fatalf("%s: %+v, %v", name, s, err)
		}
		if got := *s.Completion; !reflect.DeepEqual(got, tc.want) || len(s.Warnings) > 0 != (got.Status == workflow.StatusUnproven) {
			t.Errorf("%s: %+v, want %+v; %q", name, got, tc.want, s.Warnings)
		}
	}
	c, run := contextOf(t, "end", 1, `{"outcome":"failure","blockerFrom":"check"}`)
	c.State = map[string]any{"$outputs": map[string]any{"check": map[string]any{"blocker": map[string]any{"kind": "network"}}}}
	if s, err := run(); err != nil || string(s.Output.JSON) != `{"blocker":{"kind":"network"}}` {
		t.Errorf("blocker: %s, %v", s.Output.JSON, err)
	}
}

func pause(t *testing.T, run func() (workflow.Settled, error)) {
	t.Helper()
	if _, err := run(); !errors.Is(err, piece.ErrPaused) {
		t.Fatalf("got %v, want ErrPaused", err)
	}
}

func answer(t *testing.T, c *piecetest.Context, a workflow.Answer) {
	t.Helper()
	if err := c.Answer(a); err != nil {
		t.Fatal(err)
	}
}
