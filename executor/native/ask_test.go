package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// granting is a fence that can let through what was allowed.
type granting struct {
	tool.Fence
	let map[string]bool
}

func (g granting) Grant(a native.Allowance) tool.Fence {
	n := granting{g.Fence, map[string]bool{a.Canonical: true, a.Command: true}}
	for k := range g.let {
		n.let[k] = true
	}
	return n
}

func (g granting) Judge(ctx context.Context, r tool.Request) (tool.Place, error) {
	p, err := g.Fence.Judge(ctx, r)
	var asked *tool.Asked
	if errors.As(err, &asked) && g.let[asked.Canonical] {
		return p, nil
	}
	return p, err
}

func (g granting) JudgeShell(ctx context.Context, r tool.ShellRequest) error {
	if g.let[r.Text] {
		return nil
	}
	return g.Fence.JudgeShell(ctx, r)
}

// link makes a fence that asks about the directory real, reached by a link.
func link(t *testing.T) *hands {
	t.Helper()
	h := newHands(t)
	h.fence.Put(t, "real/a", "A")
	h.fence.Put(t, "real/b", "B")
	h.fence.Ask = []string{"real"}
	if err := os.Symlink(h.fence.Path("real"), h.fence.Path("way")); err != nil {
		t.Fatal(err)
	}
	return h
}

// allowed runs the turn until nobody is asked any more, with one answer to all.
func allowed(t *testing.T, e *native.Executor, h *hands, j *journal, answer workflow.Answer) (executor.Reply, error) {
	t.Helper()
	for range 10 {
		r, err := e.Execute(t.Context(), h.turn(), j)
		if !errors.Is(err, errParked) {
			return r, err
		}
		for _, q := range j.questions {
			j.answers[q.Key] = answer
		}
	}
	t.Fatal("it asks again and again")
	return executor.Reply{}, nil
}

func TestAskedCalls(t *testing.T) {
	t.Parallel()
	three := calls("get", `{"path":"way/a"}`, "get", `{"path":"way/a"}`, "get", `{"path":"way/b"}`)
	for name, tc := range map[string]struct {
		answer    workflow.Answer
		grants    bool
		questions int
		want      []string
		denials   int
	}{
		"once":          {workflow.Answer{Value: workflow.Text("once")}, false, 3, []string{"A", "A", "B"}, 0},
		"once, granted": {workflow.Answer{Value: workflow.Text("once")}, true, 3, []string{"A", "A", "B"}, 0},
		"turn":          {workflow.Answer{Value: workflow.Text("for this turn")}, true, 2, []string{"A", "A", "B"}, 0},
		"deny":          {workflow.Answer{Value: workflow.Text("deny")}, false, 3, []string{"error: denied", "error: denied", "error: denied"}, 3},
		"denied":        {workflow.Answer{Denied: true, Reason: "not yours"}, true, 3, []string{"denied it: not yours", "not yours", "not yours"}, 3},
		"expired":       {workflow.Answer{Expired: true}, false, 3, []string{"denied", "denied", "denied"}, 3},
	} {
		h, j := link(t), newJournal()
		v := &voice{says: []say{three, words("done")}}
		if tc.questions == 2 { // a grant counts from the next group on
			v.says = []say{calls("get", `{"path":"way/a"}`), calls("get", `{"path":"way/a"}`, "get", `{"path":"way/b"}`), words("done")}
		}
		cfg := h.config(t, v)
		if tc.grants {
			cfg.Equip = h.equip(t, granting{Fence: h.fence})
		}
		r, err := allowed(t, native.New(cfg), h, j, tc.answer)
		if err != nil || r.Denials != tc.denials || len(j.questions) != tc.questions {
			t.Errorf("%s: %+v, %v, %d questions", name, r, err, len(j.questions))
			continue
		}
		for i, got := range v.results() {
			if !strings.Contains(got, tc.want[i]) {
				t.Errorf("%s: result %d is %q", name, i, got)
			}
		}
		options := []string{"once", "deny"}
		if tc.grants {
			options = []string{"once", "for this turn", "deny"}
		}
		q := j.questions[0]
		if !slices.Equal(q.Options, options) || q.Kind != workflow.AskQuestion {
			t.Errorf("%s: %+v", name, q)
		}
		for _, want := range []string{"tool get", "path: way/a -> " + h.fence.Path("real/a"), "operation: read", "rule: real, reached by the canonical path", `{"path":"way/a"}`, "work"} {
			if !strings.Contains(q.Text, want) {
				t.Errorf("%s: the question lacks %q:\n%s", name, want, q.Text)
			}
		}
	}
}

// A command line is allowed as a whole: what is denied in it, the fence has denied
// before anybody was asked.
func TestAskedCommands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		grants    bool
		answer    string
		questions int
	}{{true, "for this turn", 1}, {true, "once", 2}, {false, "once", 2}, {true, "deny", 2}} {
		h, j := link(t), newJournal()
		h.fence.Put(t, "real/b", "B")
		run := calls("shell", `{"text":"cat way/a way/b","path":"way/a","from":"way/b"}`)
		v := &voice{says: []say{run, run, words("done")}}
		cfg := h.config(t, v)
		if tc.grants {
			cfg.Equip = h.equip(t, granting{Fence: h.fence})
		}
		r, err := allowed(t, native.New(cfg), h, j, workflow.Answer{Value: workflow.Text(tc.answer)})
		ran := h.commands()
		if len(j.questions) > 0 && !strings.Contains(j.questions[0].Text, "command: cat way/a way/b\nThe answer counts for the whole command line") {
			t.Errorf("the question is %q", j.questions[0].Text)
		}
		if denied := tc.answer == "deny"; err != nil || len(j.questions) != tc.questions || denied != (ran == 0) || !denied && ran != 2 || r.Rounds != 3 {
			t.Errorf("%+v: %v, %d questions, ran %v", tc, err, len(j.questions), h.ran)
		}
	}
}

func TestAskedWithoutPerson(t *testing.T) {
	t.Parallel()
	h := link(t)
	v := &voice{says: []say{calls("get", `{"path":"way/a"}`), words("done")}}
	j := newJournal()
	r, err := native.New(h.config(t, v)).Execute(t.Context(), h.turn(), struct {
		executor.Host
		executor.Journal
	}{j, j})
	if err != nil || r.Denials != 1 || !strings.Contains(v.results()[0], "nobody can be asked") {
		t.Errorf("%+v, %v, %q", r, err, v.results())
	}
}

// An answer that does not help is no endless question.
func TestAllowedButStillStopped(t *testing.T) {
	t.Parallel()
	h := link(t)
	v := &voice{says: []say{calls("get", `{"path":"way/a"}`), words("done")}}
	cfg, j := h.config(t, v), newJournal()
	cfg.Equip = h.equip(t, deaf{h.fence})
	r, err := allowed(t, native.New(cfg), h, j, workflow.Answer{Value: workflow.Text("once")})
	if err != nil || r.Denials != 1 || !strings.Contains(v.results()[0], "cannot be let through") {
		t.Errorf("%+v, %v, %q", r, err, v.results())
	}
}

// deaf grants nothing.
type deaf struct{ tool.Fence }

func (d deaf) Grant(native.Allowance) tool.Fence { return d }

func TestQuestionsOfTheModel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args          string
		answer        workflow.Answer
		want          string
		options, form string
	}{
		"free":     {`{"text":"which?"}`, workflow.Answer{Value: workflow.Text("blue")}, `[] "blue"`, "", ""},
		"choice":   {`{"text":"which?","from":"red blue"}`, workflow.Answer{Value: workflow.Text("red")}, `[red] ""`, "red blue", ""},
		"many":     {`{"text":"which?","from":"red blue","to":"many"}`, workflow.Answer{Value: workflow.Inline([]byte(`["red","blue"]`))}, `[red blue] ""`, "", `"enum":["red","blue"]`},
		"declined": {`{"text":"which?"}`, workflow.Answer{Denied: true, Reason: "later"}, "did not answer: later", "", ""},
	} {
		h, j := newHands(t), newJournal()
		v := &voice{says: []say{calls("silent", `{}`, "ask", tc.args), words("done")}}
		r, err := allowed(t, native.New(h.config(t, v)), h, j, tc.answer)
		if err != nil || len(j.questions) != 1 || r.Rounds != 2 {
			t.Fatalf("%s: %+v, %v, %v", name, r, err, j.questions)
		}
		q := j.questions[0]
		if got := v.results()[1]; !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
		if strings.Join(q.Options, " ") != tc.options || !strings.Contains(string(q.Schema), tc.form) || !strings.HasPrefix(q.Text, "which?") || q.Key != "t/1/2/question/1" {
			t.Errorf("%s: %+v", name, q)
		}
		if j.begun["t/1/1"] != 1 {
			t.Errorf("%s: the tool beside it ran %d times", name, j.begun["t/1/1"])
		}
	}
}

// interrupted is a turn that died in the one call of its first response, after
// the call had done its work or before.
func interrupted(t *testing.T, h *hands, after bool, what say) *journal {
	t.Helper()
	j := newJournal()
	j.left, j.lazy = 2, after // the response, the intent
	_, _, err := play(t, h, j, h.turn(), what)
	if !errors.Is(err, errDead) {
		t.Fatalf("it did not die: %v", err)
	}
	j.reopen(-1)
	return j
}

func TestInterruptedWrites(t *testing.T) {
	t.Parallel()
	put := calls("put", `{"path":"a","text":"new"}`)
	for name, tc := range map[string]struct {
		after    bool
		since    string // what somebody wrote meanwhile
		answer   string
		result   string
		content  string
		writes   int
		question bool
		code     workflow.Code
	}{
		"done":         {true, "", "", "has 3 bytes", "new", 1, false, ""},
		"not done":     {false, "", "", "put a", "new", 1, false, ""},
		"neither redo": {true, "mine", "redo", "put a", "new", 2, true, ""},
		"neither keep": {true, "mine", "keep", "everything stays as it is", "mine", 1, true, ""},
		"neither fail": {true, "mine", "fail", "", "mine", 1, true, workflow.CodeRecoveredFailed},
		"before, then": {false, "mine", "keep", "everything stays as it is", "mine", 0, true, ""},
	} {
		h := newHands(t)
		h.fence.Put(t, "a", "old")
		j := interrupted(t, h, tc.after, put)
		if tc.since != "" {
			h.fence.Put(t, "a", tc.since)
		}
		v := &voice{says: []say{words("done")}}
		r, err := allowed(t, native.New(h.config(t, v)), h, j, workflow.Answer{Value: workflow.Text(tc.answer)})
		if workflow.CodeOf(err) != tc.code || (len(j.questions) == 1) != tc.question {
			t.Errorf("%s: %v, questions %v", name, err, j.questions)
			continue
		}
		if got := h.fence.Get(t, "a"); got != tc.content || h.wrote["a=new"] != tc.writes {
			t.Errorf("%s: the file is %q, written %d times", name, got, h.wrote["a=new"])
		}
		if err == nil && (!strings.Contains(v.results()[0], tc.result) || r.Rounds != 2) {
			t.Errorf("%s: %q, %+v", name, v.results(), r)
		}
		if tc.question {
			q := j.questions[0]
			for _, want := range []string{"put", h.fence.Path("a"), canon.Sum([]byte("old")), canon.Sum([]byte("new")), canon.Sum([]byte("mine")), "redo", "keep", "fail"} {
				if !strings.Contains(q.Text, want) {
					t.Errorf("%s: the question lacks %q:\n%s", name, want, q.Text)
				}
			}
		}
	}
}

func TestInterruptedCommands(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct {
		ran    int
		result string
		code   workflow.Code
	}{
		"redo": {2, "ran x", ""},
		"keep": {1, "nobody knows whether it was done", ""},
		"fail": {1, "", workflow.CodeRecoveredFailed},
	} {
		h := newHands(t)
		j := interrupted(t, h, true, calls("shell", `{"text":"x \u003e\u003E y \u0026 \\u0026"}`))
		v := &voice{says: []say{words("done")}}
		_, err := allowed(t, native.New(h.config(t, v)), h, j, workflow.Answer{Value: workflow.Text(answer)})
		if workflow.CodeOf(err) != want.code || h.commands() != want.ran || len(j.questions) != 1 || !strings.Contains(j.questions[0].Text, `{"text":"x >> y & \\u0026"}`) {
			t.Errorf("%s: %v, ran %v, questions %v", answer, err, h.ran, j.questions)
			continue
		}
		if err == nil && !strings.Contains(v.results()[0], want.result) {
			t.Errorf("%s: %q", answer, v.results())
		}
	}
}

// A call that is done again and interrupted again is asked about again.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	j := interrupted(t, h, true, calls("shell", `{"text":"x"}`))
	j.say("t/1/1/left/1", "redo")
	j.left = 1 // the second intent
	if _, _, err := play(t, h, j, h.turn(), words("done")); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	j.reopen(-1)
	if _, _, err := play(t, h, j, h.turn(), words("done")); !errors.Is(err, errParked) || j.questions[0].Key != "t/1/1/left/2" || h.commands() != 2 {
		t.Errorf("%v, %v, ran %v", err, j.questions, h.ran)
	}
}

func TestInterruptedWithoutPerson(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	j := interrupted(t, h, true, calls("shell", `{"text":"x"}`))
	_, err := native.New(h.config(t, &voice{says: []say{words("done")}})).Execute(t.Context(), h.turn(), struct {
		executor.Host
		executor.Journal
	}{j, j})
	if workflow.CodeOf(err) != workflow.CodeRecoveredFailed || h.commands() != 1 {
		t.Errorf("%v, ran %v", err, h.ran)
	}
}

// What a turn knows about files comes back with its journal.
func TestSessionIsRebuilt(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	h.fence.Put(t, "a", "one")
	j.left = 3 // two responses and the result between
	first := []say{calls("get", `{"path":"a"}`), calls("swap", `{"path":"a","from":"one","to":"two"}`)}
	if _, _, err := play(t, h, j, h.turn(), first...); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	j.reopen(-1)
	_, v, err := play(t, h, j, h.turn(), words("done"))
	if err != nil || h.fence.Get(t, "a") != "two" {
		t.Errorf("%v: %q", err, v.results())
	}
}

// A command line is shown whole, because it is allowed whole; one that nobody would
// read is denied. A sub-agent is named.
func TestAskedLongCommands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		size  int
		asked bool
	}{"long": {9000, true}, "too long": {17_000, false}} {
		h, j := newHands(t), newJournal()
		h.fence.Put(t, "secret", "")
		h.fence.Ask = []string{"secret"}
		line := "cat secret " + strings.Repeat("#", tc.size) + " end"
		v := &voice{says: []say{calls("shell", fmt.Sprintf(`{"path":"secret","from":"secret","text":%q}`, line)), words("done")}}
		turn := h.turn()
		turn.Label = "auditor"
		r, err := native.New(h.config(t, v)).Execute(t.Context(), turn, j)
		if !tc.asked {
			if err != nil || r.Denials != 1 || len(j.questions) != 0 || !strings.Contains(v.results()[0], "too long for a person") {
				t.Errorf("%s: %+v, %v, %q", name, r, err, v.results())
			}
			continue
		}
		if !errors.Is(err, errParked) || len(j.questions) != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		if q := j.questions[0].Text; !strings.Contains(q, line) || !strings.HasPrefix(q, "The agent auditor at ") {
			t.Errorf("%s: the question is %.300q", name, q)
		}
	}
}
