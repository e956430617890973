package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// play runs the turn of h with what a provider says.
func play(t *testing.T, h *hands, j *journal, in executor.Turn, says ...say) (executor.Reply, *voice, error) {
	t.Helper()
	v := &voice{says: says}
	r, err := native.New(h.config(t, v)).Execute(t.Context(), in, j)
	return r, v, err
}

func TestAnswerWithoutTools(t *testing.T) {
	t.Parallel()
	v := &voice{says: []say{words("hello")}}
	r, err := native.New(native.Config{Provider: v, Model: "m"}).Execute(t.Context(), executor.Turn{Key: "t", Instructions: "be kind", Prompt: "hi"}, newJournal())
	if err != nil || r.Text != "hello" || r.Rounds != 1 || *r.Usage.Input != 10 || r.Usage.CostUSD != nil || r.Model != "m-real" {
		t.Fatalf("%+v, %v", r, err)
	}
	if q := v.got[0]; q.System != "be kind" || q.Messages[0].Text() != "hi" || q.Tools != nil || q.Cache || q.ToolChoice != "" {
		t.Errorf("request %+v", q)
	}
}

func TestToolsAreOffered(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	in := h.turn()
	in.Instructions, in.Access, in.Roots = "be kind", workflow.EffectRead, []string{"/a", "/b"}
	_, v, err := play(t, h, newJournal(), in, words("done"))
	if err != nil {
		t.Fatal(err)
	}
	q := v.got[0]
	if len(q.Tools) != 11 || q.Tools[0].Name != "get" || string(q.Tools[0].Schema) != argsSchema || !q.Cache {
		t.Errorf("a turn that may only read keeps its tools: %+v", q.Tools)
	}
	for _, want := range []string{"be kind\n\nYou work", "in the directory " + h.fence.Root + ". The work is in: /a, /b. This turn may only read", "answer in text"} {
		if !strings.Contains(q.System, want) {
			t.Errorf("the system text lacks %q:\n%s", want, q.System)
		}
	}
	if strings.ContainsAny(q.System, "{}") {
		t.Errorf("the system text has holes:\n%s", q.System)
	}
}

func TestResultsInOrder(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	h.fence.Put(t, "a", "A")
	h.fence.Put(t, "b", "B")
	h.meet = make(chan struct{}) // each get waits for another one
	r, v, err := play(t, h, j, h.turn(),
		calls("get", `{"path":"a"}`, "get", `{"path":"b"}`, "put", `{"path":"c","text":"C"}`, "put", `{"path":"a","text":"A2"}`, "get", `{"path":"c"}`, "get", `{"path":"a"}`),
		words("done"))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.results(); !slices.Equal(got, []string{"A", "B", "put c", "put a", "C", "A2"}) {
		t.Errorf("results %q", got)
	}
	if got := h.ran[2:4]; !slices.Equal(got, []string{"put c", "put a"}) {
		t.Errorf("ran %q", h.ran)
	}
	if !slices.Equal(r.Files, []string{"c", "a"}) || r.ToolCalls != 6 || r.Rounds != 2 || *r.Usage.Input != 20 || *r.Usage.Output != 4 {
		t.Errorf("reply %+v", r)
	}
	last := v.got[1].Messages
	if len(last) != 3 || last[2].Role != provider.RoleTool || last[2].Parts[0].ID != "vendor-0" || last[2].Parts[2].ID != "vendor-4" {
		t.Errorf("messages %+v", last)
	}
	if n := len(h.ran); h.ran[n-1] != "closed" {
		t.Errorf("the tools are not closed: %q", h.ran)
	}
	if _, ok := j.memos["t/1/6"]; !ok || !j.saw("get b") || !j.saw("put c", "1 bytes written") {
		t.Errorf("memos %v, shown %v", j.memos, j.shown)
	}
}

func TestUsageStaysUnknown(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	unknown := func(context.Context, provider.Request) (provider.Response, error) {
		return provider.Response{Parts: []provider.Part{{Kind: provider.PartText, Text: "x"}}, Usage: provider.Usage{Output: number(1)}}, nil
	}
	r, _, err := play(t, h, newJournal(), h.turn(), calls("silent", `{}`), unknown)
	if err != nil || r.Usage.Input != nil || *r.Usage.Output != 3 {
		t.Errorf("%+v, %v", r.Usage, err)
	}
}

// What a model does wrong comes back as a result that says what to do.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	h.fence.Deny = []string{"secret"}
	h.fence.Put(t, "secret", "x")
	for name, tc := range map[string]struct {
		tool, args string
		want       []string
	}{
		"unknown":    {"gett", `{}`, []string{"no tool gett", "did you mean get?"}},
		"odd name":   {"\x00\n", `{}`, []string{`no tool "\x00\n"`}},
		"no object":  {"get", `[1]`, []string{"an array and not an object"}},
		"no JSON":    {"get", `{"path":`, []string{"not JSON"}},
		"wrong type": {"get", `{"path":{}}`, []string{"path", "string"}},
		"wrong key":  {"get", `{"pth":"a"}`, []string{"did you mean path?"}},
		"no file":    {"get", `{"path":"nowhere"}`, []string{"opening nowhere"}},
		"NUL":        {"get", `{"path":"a\u0000"}`, []string{"NUL"}},
		"outside":    {"get", `{"path":"../x"}`, []string{"denied", "get (read) ../x", "outside"}},
		"denied":     {"get", `{"path":"secret"}`, []string{"denied", "(rule secret", "do not try another way"}},
		"too big":    {"put", `{"path":"x","text":"` + strings.Repeat("x", 10<<20) + `"}`, []string{"10485", "bytes", "several smaller calls"}},
		"silent":     {"silent", `{}`, []string{"[no output]"}},
		"long":       {"big", `{}`, []string{"[cut: the result has 40000 bytes]"}},
	} {
		j, v := newJournal(), &voice{says: []say{calls(tc.tool, tc.args), words("done")}}
		cfg := h.config(t, v)
		cfg.Limits.Result = 30_000
		for range 2 {
			r, err := native.New(cfg).Execute(t.Context(), h.turn(), j)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if denied := strings.Contains(strings.Join(tc.want, " "), "denied"); denied != (r.Denials == 1) {
				t.Errorf("%s: %d denials", name, r.Denials)
			}
		}
		if len(v.got) != 2 {
			t.Fatalf("%s: %d calls", name, len(v.got))
		}
		got := v.results()[0]
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the result %.300q lacks %q", name, got, want)
			}
		}
		if size := len(got); size > 30_000 {
			t.Errorf("%s: the result has %d bytes", name, size)
		}
		if raw, _ := json.Marshal(v.got[1]); len(raw) > 100_000 {
			t.Errorf("%s: the next request has %d bytes", name, len(raw))
		}
	}
	if _, there := onDisk(h)["x"]; there {
		t.Error("the big call was done")
	}
}

func TestDenialIsLogged(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	h.fence.Deny = []string{"secret"}
	if _, _, err := play(t, h, j, h.turn(), calls("put", `{"path":"secret/x"}`), words("done")); err != nil {
		t.Fatal(err)
	}
	out := j.outcomes["t/1/1"]
	if d := out.Denied; d == nil || d.Tool != "put" || d.Op != "write" || d.Path != "secret/x" || d.Rule != "secret" || !strings.Contains(d.Message, "secret/x") || !out.Failed {
		t.Errorf("the journal was given %+v", out)
	}
	if !j.saw("put secret/x", "denied", "rule secret") {
		t.Errorf("shown %v", j.shown)
	}
}

func TestManyCallsOfOneResponse(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	var pairs []string
	for i := range 200 {
		pairs = append(pairs, "todo_write", fmt.Sprintf(`{"text":"%d"}`, i))
	}
	r, v, err := play(t, h, newJournal(), h.turn(), calls(pairs...), words("done"))
	if err != nil || r.ToolCalls != 64 {
		t.Fatalf("%+v, %v", r, err)
	}
	got := v.results()
	if len(got) != 200 || got[63] != "[>] 63" || !strings.Contains(got[64], "at most 64 calls") || !strings.Contains(got[199], "not done") {
		t.Errorf("%d results: %q, %q, %q", len(got), got[63], got[64], got[len(got)-1])
	}
}

func TestCircles(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	h.fence.Put(t, "a", "A")
	for name, tc := range map[string]struct {
		say    say
		calls  int
		told   string
		within int // result that says it first, from 1
	}{
		"failing": {calls("get", `{"path":"nowhere"}`), 10, "failed 3 times in a row", 3},
		"same":    {calls("get", `{"path":"a"}`), 10, "", 0},
		"spelled": {func(ctx context.Context, r provider.Request) (provider.Response, error) {
			return calls("get", []string{`{"path":"a"}`, `{ "path" : "a" }`}[len(r.Messages)/2%2])(ctx, r)
		}, 10, "", 0},
	} {
		_, v, err := play(t, h, newJournal(), h.turn(), tc.say)
		if workflow.CodeOf(err) != workflow.CodeNoProgress || len(v.got) != tc.calls || !strings.Contains(err.Error(), "10 times in a row") {
			t.Errorf("%s: %v after %d calls", name, err, len(v.got))
		}
		for i, text := range v.results() {
			if said := tc.told != "" && i+1 >= tc.within; said != strings.Contains(text, fmt.Sprintf("failed %d times in a row", i+1)) {
				t.Errorf("%s: result %d is %q", name, i+1, text)
			}
		}
	}
	n := 0
	others := func(ctx context.Context, r provider.Request) (provider.Response, error) {
		if n++; n > 20 {
			return words("done")(ctx, r)
		}
		return calls("nothing", fmt.Sprintf(`{"text":"%d"}`, n))(ctx, r)
	}
	if _, v, err := play(t, h, newJournal(), h.turn(), others); err != nil || strings.Contains(strings.Join(v.results(), " "), "in a row") {
		t.Errorf("other arguments are another call: %v", err)
	}
	// Other results, or other calls between, are no circle.
	alternate := func(ctx context.Context, r provider.Request) (provider.Response, error) {
		n := len(r.Messages)
		if n > 50 {
			return words("done")(ctx, r)
		}
		return calls("get", []string{`{"path":"a"}`, `{"path":"nowhere"}`}[n/2%2])(ctx, r)
	}
	if _, _, err := play(t, h, newJournal(), h.turn(), alternate); err != nil {
		t.Error(err)
	}
}

func TestLimitsOfResponses(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	in := h.turn()
	in.MaxTurns = 3
	next := 0
	more := func(ctx context.Context, r provider.Request) (provider.Response, error) {
		next++
		return calls("todo_write", fmt.Sprintf(`{"text":"%d"}`, next))(ctx, r)
	}
	j := newJournal()
	_, v, err := play(t, h, j, in, more)
	if workflow.CodeOf(err) != workflow.CodeRecursionLimit || len(v.got) != 3 || len(j.memos) != 4 {
		t.Errorf("%v after %d calls, %d memos", err, len(v.got), len(j.memos))
	}
	last := v.got[2]
	if last.ToolChoice != provider.ChoiceNone || !strings.Contains(last.Messages[len(last.Messages)-1].Text(), "no calls left") || v.got[1].ToolChoice != "" {
		t.Errorf("the last request: %q, %+v", last.ToolChoice, last.Messages)
	}
	// A retry asks for the last response again, and only for that.
	if r, v, err := play(t, h, j, in, words("partly done")); err != nil || r.Text != "partly done" || r.Rounds != 3 || len(v.got) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

const shape = `{"type":"object","required":["n"],"additionalProperties":false,"properties":{"n":{"type":"integer"}}}`

func TestStructured(t *testing.T) {
	t.Parallel()
	right, wrong := calls("submit", `{"answer":{"n":7}}`), calls("submit", `{"answer":{"n":"x"}}`)
	for name, tc := range map[string]struct {
		repairs int
		says    []say
		rounds  int
		fits    bool
	}{
		"at once":     {0, []say{right}, 1, true},
		"after work":  {0, []say{calls("silent", `{}`), right}, 2, true},
		"beside work": {0, []say{calls("put", `{"path":"a"}`, "submit", `{"answer":{"n":7}}`, "put", `{"path":"b"}`)}, 1, true},
		"text":        {0, []say{words("It is {\"n\": 7}.")}, 1, true},
		"mended":      {2, []say{wrong, words("none"), right}, 3, true},
		"never":       {1, []say{wrong, wrong}, 2, false},
		"words":       {1, []say{words("no"), words("no")}, 2, false},
		"not allowed": {0, []say{wrong}, 1, false},
	} {
		h, j := newHands(t), newJournal()
		in := h.turn()
		in.Schema, in.Repairs = json.RawMessage(shape), tc.repairs
		r, v, err := play(t, h, j, in, tc.says...)
		if len(v.got) != tc.rounds {
			t.Errorf("%s: %d calls, %v", name, len(v.got), err)
		}
		if q := v.got[0]; q.Schema != nil || q.Tools[len(q.Tools)-1].Name != "submit" || !strings.Contains(q.System, "`submit`") || q.Messages[0].Text() != "do it" {
			t.Errorf("%s: request %+v", name, q)
		}
		var misfit *executor.Misfit
		switch {
		case tc.fits && (err != nil || string(r.Structured) != `{"n":7}` || r.Text == ""):
			t.Errorf("%s: %+v, %v", name, r, err)
		case !tc.fits && (workflow.CodeOf(err) != workflow.CodeStructuredOutput || !errors.As(err, &misfit) || misfit.Text == "" || len(misfit.Problems) == 0):
			t.Errorf("%s: %v", name, err)
		}
		if _, there := onDisk(h)["b"]; there {
			t.Errorf("%s: a call after the answer was done", name)
		}
		if tc.fits {
			again, _, err := play(t, h, j, in, fails(provider.CodeAuth))
			if err != nil || !reflect.DeepEqual(again, r) {
				t.Errorf("%s: again %+v, %v", name, again, err)
			}
		}
	}
}

func TestStructuredAtTheLast(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	in := h.turn()
	in.Schema, in.MaxTurns, in.Repairs = json.RawMessage(shape), 2, 5
	_, v, err := play(t, h, newJournal(), in, calls("submit", `{"answer":1}`))
	if workflow.CodeOf(err) != workflow.CodeStructuredOutput || len(v.got) != 2 || v.got[1].ToolChoice != "submit" {
		t.Errorf("%v after %d calls", err, len(v.got))
	}
}

// A provider without tools is asked for the answer as text.
func TestStructuredWithoutTools(t *testing.T) {
	t.Parallel()
	v := &voice{says: []say{words("no"), words(`{"n":1}`)}}
	r, err := native.New(native.Config{Provider: v, Submit: submitTool}).Execute(t.Context(),
		executor.Turn{Key: "t", Prompt: "p", Schema: json.RawMessage(shape), Repairs: 1}, newJournal())
	if err != nil || string(r.Structured) != `{"n":1}` || string(v.got[0].Schema) != shape || !strings.Contains(v.got[0].Messages[0].Text(), shape) {
		t.Errorf("%+v, %v, %+v", r, err, v.got)
	}
}

func TestSteering(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	j.steer = map[string][]string{"t/2": {"mind the tests"}}
	_, v, err := play(t, h, j, h.turn(), calls("silent", `{}`), calls("silent", `{"text":"2"}`), words("done"))
	if err != nil {
		t.Fatal(err)
	}
	if m := v.got[1].Messages; !strings.HasSuffix(m[len(m)-1].Text(), "mind the tests") || len(v.got[2].Messages) != 6 {
		t.Errorf("%+v", v.got[2].Messages)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	refused := func(context.Context, provider.Request) (provider.Response, error) {
		return provider.Response{Stop: provider.StopRefusal}, nil
	}
	cut := func(context.Context, provider.Request) (provider.Response, error) {
		return provider.Response{Stop: provider.StopMaxTokens, Parts: []provider.Part{{Kind: provider.PartText, Text: "half"}}}, nil
	}
	for name, tc := range map[string]struct {
		turn func(*executor.Turn)
		say  say
		want workflow.Code
	}{
		"session":  {func(in *executor.Turn) { in.Session = "s" }, nil, workflow.CodeSessionNotFound},
		"schema":   {func(in *executor.Turn) { in.Schema = json.RawMessage(`{"typ":1}`) }, nil, workflow.CodeInvalidPieceParams},
		"native":   {func(in *executor.Turn) { in.Native = &executor.Native{ID: "x"} }, nil, workflow.CodeNativeCommand},
		"auth":     {nil, fails(provider.CodeAuth), workflow.CodeProviderAuth},
		"rate":     {nil, fails(provider.CodeRateLimited), workflow.CodeRateLimited},
		"refused":  {nil, refused, workflow.CodeProviderRefused},
		"empty":    {nil, words(" \n"), workflow.CodeIncompleteResponse},
		"cut":      {nil, cut, workflow.CodeIncompleteResponse},
		"panic":    {nil, calls("explode", `{}`), workflow.CodePanic},
		"together": {nil, calls("explode", `{}`, "explode", `{}`), workflow.CodePanic},
		"broken":   {nil, calls("broken", `{}`), workflow.CodeInternal},
		"too long": {nil, fails(provider.CodeContextLength), workflow.CodeContextLength},
	} {
		j, in := newJournal(), h.turn()
		if tc.turn != nil {
			tc.turn(&in)
		}
		_, _, err := play(t, h, j, in, tc.say)
		if workflow.CodeOf(err) != tc.want || !strings.HasPrefix(err.Error(), "work: ") {
			t.Errorf("%s: %v (%s)", name, err, workflow.CodeOf(err))
		}
		if _, settled := j.memos["t/1/1"]; settled {
			t.Errorf("%s: the step is settled", name)
		}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	spent := workflow.Errorf(workflow.CodeBudgetExhausted, "the budget is spent")
	j.refuse = func(c executor.Call) error {
		if c.Key == "t/2" {
			return spent
		}
		return nil
	}
	if _, _, err := play(t, h, j, h.turn(), calls("put", `{"path":"a"}`)); !errors.Is(err, error(spent)) {
		t.Errorf("got %v", err)
	}
	j.refuse = nil
	if r, v, err := play(t, h, j, h.turn(), words("done")); err != nil || r.Rounds != 2 || len(v.got) != 1 || h.wrote["a="] != 1 {
		t.Errorf("%+v, %v: it goes on where it was", r, err)
	}
}

func TestHostWithoutJournal(t *testing.T) {
	t.Parallel()
	h := newHands(t)
	_, err := native.New(h.config(t, &voice{})).Execute(t.Context(), h.turn(), struct{ executor.Host }{newJournal()})
	if workflow.CodeOf(err) != workflow.CodeInternal || !strings.Contains(err.Error(), "no journal") {
		t.Errorf("got %v", err)
	}
}

// Tools and calls end with their turn, and nothing of them is left.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]say{
		"model": func(ctx context.Context, _ provider.Request) (provider.Response, error) {
			<-ctx.Done()
			return provider.Response{}, &provider.Error{Code: provider.CodeCanceled, Err: ctx.Err()}
		},
		"tools": calls("slow", `{}`, "slow", `{}`, "slow", `{}`),
		"tool":  calls("slow", `{}`),
	} {
		h, j := newHands(t), newJournal()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		begun := time.Now()
		_, err := native.New(h.config(t, &voice{says: []say{says}})).Execute(ctx, h.turn(), j)
		cancel()
		if took := time.Since(begun); workflow.CodeOf(err) != workflow.CodeAborted || !errors.Is(err, context.DeadlineExceeded) || took > time.Second {
			t.Errorf("%s: %v after %s", name, err, took)
		}
	}
}

func TestTimeLimits(t *testing.T) {
	t.Parallel()
	silent := func(ctx context.Context, _ provider.Request) (provider.Response, error) {
		<-ctx.Done()
		return provider.Response{}, &provider.Error{Code: provider.CodeCanceled, Err: ctx.Err()}
	}
	for name, tc := range map[string]struct {
		timeout, idle time.Duration
		say           say
		want          workflow.Code
	}{
		"tools": {20 * time.Millisecond, 0, calls("slow", `{}`, "slow", `{}`), workflow.CodeTimeout},
		"model": {20 * time.Millisecond, 0, silent, workflow.CodeTimeout},
		"idle":  {time.Minute, 20 * time.Millisecond, silent, workflow.CodeIdleTimeout},
	} {
		h := newHands(t)
		in := h.turn()
		in.Timeout, in.Idle = tc.timeout, tc.idle
		if _, _, err := play(t, h, newJournal(), in, tc.say); workflow.CodeOf(err) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files that come with a scripted answer are written once, as by plain turns.
func TestScriptedFiles(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	p := script(t, "version: 1\nreplies:\n  - turn: 1\n    tool_calls: [{name: silent, args: {}}]\n    files: [{path: made, content: x}]\n  - {turn: 2, json: {n: 3}}\n")
	in := h.turn()
	in.Schema = json.RawMessage(shape)
	for range 2 {
		r, err := native.New(h.config(t, p)).Execute(t.Context(), in, j)
		if err != nil || string(r.Structured) != `{"n":3}` || !slices.Equal(r.Files, []string{"made"}) || h.fence.Get(t, "made") != "x" {
			t.Fatalf("%+v, %v", r, err)
		}
		h.fence.Put(t, "made", "x")
	}
}

// Arguments that a journal keeps without their secret are never used.
func TestRedactedArguments(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	j.redact = func(raw json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(string(raw), "hunter2", "[redacted]"))
	}
	say := calls("put", `{"path":"a","text":"hunter2"}`, "put", `{"path":"b","text":"<&>"}`)
	if _, _, err := play(t, h, j, h.turn(), say, words("done")); err != nil || h.fence.Get(t, "a") != "hunter2" {
		t.Fatalf("%v: %v", err, onDisk(h))
	}
	// The same, but the process dies with the response.
	h, j = newHands(t), newJournal()
	j.redact = func(raw json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(string(raw), "hunter2", "[redacted]"))
	}
	j.left = 1
	if _, _, err := play(t, h, j, h.turn(), say); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	j.reopen(-1)
	_, v, err := play(t, h, j, h.turn(), words("done"))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.results(); !strings.Contains(got[0], "held a secret") || got[1] != "put b" || len(onDisk(h)) != 1 {
		t.Errorf("%q, %v", got, onDisk(h))
	}
}
