package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// worker reads one file after the other and then says done. It refuses requests
// of more than most bytes, when that is not 0.
type worker struct {
	rounds, most int
	summaries    int
	refused      int
	biggest      int
	last         provider.Request
	short        bool // summaries are refused until they are asked for with less
}

func (w *worker) Name() string { return "worker" }

func (w *worker) Stream(ctx context.Context, r provider.Request, _ func(provider.Delta)) (provider.Response, error) {
	size := 0
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			size += len(p.Text)
		}
	}
	compaction := r.Tools == nil
	if w.most > 0 && size > w.most && (!compaction || w.short) {
		w.refused++
		return fails(provider.CodeContextLength)(ctx, r)
	}
	w.biggest = max(w.biggest, size)
	if compaction {
		w.summaries++
		return words(fmt.Sprintf("summary %d of %d", w.summaries, strings.Count(r.Messages[0].Text(), "agent calls")))(ctx, r)
	}
	w.last = r
	n := w.step(r)
	response, err := words("all read")(ctx, r)
	if n <= w.rounds {
		response, err = calls("get", fmt.Sprintf(`{"path":"f%d"}`, n), "todo_write", fmt.Sprintf(`{"text":"next %d"}`, n+1))(ctx, r)
	}
	response.Usage = provider.Usage{}
	return response, err
}

// step is which file is next: the list of tasks says it, in a result or in the
// first message.
func (w *worker) step(r provider.Request) int {
	n := 1
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if _, after, ok := strings.Cut(p.Text, "[>] next "); ok {
				if _, err := fmt.Sscanf(after, "%d", &n); err != nil {
					return 0
				}
			}
		}
	}
	return n
}

const fileSize = 3000

func shelf(t *testing.T, n int) *hands {
	t.Helper()
	h := newHands(t)
	for i := range n {
		h.fence.Put(t, fmt.Sprintf("f%d", i+1), strings.Repeat(fmt.Sprint((i+1)%10), fileSize))
	}
	return h
}

func (w *worker) config(t *testing.T, h *hands, limit int) native.Config {
	cfg := h.config(t, w)
	cfg.MaxOutput = 100
	cfg.ContextLimit = func(string) int { return limit }
	return cfg
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ limit, most int }{
		"known limit":         {8000, 0},
		"limit of the vendor": {0, 20_000},
		"both":                {8000, 9_000},
	} {
		h, j, w := shelf(t, 20), newJournal(), &worker{rounds: 20, most: tc.most}
		in := h.turn()
		in.Prompt = "read all of them"
		var first executor.Reply
		for again := range 2 {
			r, err := native.New(w.config(t, h, tc.limit)).Execute(t.Context(), in, j)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if again == 0 {
				first = r
			} else if !reflect.DeepEqual(first, r) {
				t.Errorf("%s: again %+v", name, r)
			}
		}
		if first.Text != "all read" || first.Compactions < 2 || first.Compactions != w.summaries || first.ToolCalls != 40 || first.Rounds != 21+w.summaries {
			t.Errorf("%s: %+v, %d summaries", name, first, w.summaries)
		}
		if tc.limit > 0 && w.biggest > 3*tc.limit {
			t.Errorf("%s: a request had %d bytes", name, w.biggest)
		}
		head := w.last.Messages[0].Text()
		for _, want := range []string{"read all of them", fmt.Sprintf("summary %d", w.summaries), "[Your list of tasks:]\n[>] next"} {
			if !strings.Contains(head, want) {
				t.Errorf("%s: the first message lacks %q: %s", name, want, head)
			}
		}
		if !strings.Contains(w.last.System, "work on your own") || w.last.Messages[1].Role != provider.RoleAssistant {
			t.Errorf("%s: the last request begins with %+v", name, w.last.Messages[:2])
		}
		if !j.saw("compacting the conversation") || !j.saw("compacted the conversation") || j.kinds[summaryKey(j)] != "compaction" {
			t.Errorf("%s: nothing of it is shown, kinds %v", name, j.kinds)
		}
		paired(t, name, w.last.Messages)
	}
}

func summaryKey(j *journal) string {
	for key := range j.kinds {
		if strings.Contains(key, "/compact/") {
			return key
		}
	}
	return ""
}

// paired makes sure that each call has its result behind it.
func paired(t *testing.T, name string, messages []provider.Message) {
	t.Helper()
	for i, m := range messages {
		uses := provider.Response{Parts: m.Parts}.ToolUses()
		if len(uses) == 0 {
			continue
		}
		if i+1 >= len(messages) || len(messages[i+1].Parts) != len(uses) || messages[i+1].Role != provider.RoleTool {
			t.Errorf("%s: message %d has %d calls without their results", name, i, len(uses))
		}
	}
}

// A turn that dies in or around a compaction goes on without a call sent twice,
// and what was decided stays decided.
func TestCompactionKilled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ limit, most int }{"known": {8000, 0}, "vendor": {0, 20_000}} {
		h, j, w := shelf(t, 12), newJournal(), &worker{rounds: 12, most: tc.most}
		whole, err := native.New(w.config(t, h, tc.limit)).Execute(t.Context(), h.turn(), j)
		if err != nil || whole.Compactions == 0 {
			t.Fatalf("%s: %+v, %v", name, whole, err)
		}
		for n := 1; n < j.records; n++ {
			k, w2 := newJournal(), &worker{rounds: 12, most: tc.most}
			k.left = n
			_, err := native.New(w2.config(t, h, tc.limit)).Execute(t.Context(), h.turn(), k)
			if !errors.Is(err, errDead) {
				t.Fatalf("%s %d: %v", name, n, err)
			}
			k.reopen(-1)
			r, err := native.New(w2.config(t, h, tc.limit)).Execute(t.Context(), h.turn(), k)
			if err != nil || !reflect.DeepEqual(r, whole) || !reflect.DeepEqual(k.asked, j.asked) {
				t.Fatalf("%s, killed after record %d: %+v, want %+v, %v", name, n, r, whole, err)
			}
			if w2.summaries != w.summaries || w2.refused > w.refused {
				t.Errorf("%s, killed after record %d: %d summaries of %d, %d refused of %d", name, n, w2.summaries, w.summaries, w2.refused, w.refused)
			}
		}
	}
}

// What the provider counted decides, not the size of the text.
func TestCompactionByUsage(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	much := func(say say) say {
		return func(ctx context.Context, r provider.Request) (provider.Response, error) {
			response, err := say(ctx, r)
			response.Usage.Input = number(7_900)
			return response, err
		}
	}
	v := &voice{says: []say{calls("silent", `{}`), much(calls("silent", `{"text":"2"}`)), words("a summary"), words("done")}}
	cfg := h.config(t, v)
	cfg.ContextLimit = func(string) int { return 8_192 }
	r, err := native.New(cfg).Execute(t.Context(), h.turn(), j)
	if err != nil || r.Compactions != 1 || r.Text != "done" || len(v.got) != 4 || !j.saw("about 79", "holds 8192") {
		t.Errorf("%+v, %v, %d calls", r, err, len(v.got))
	}
}

// A turn that was compacted stays so when the limit is another one later.
func TestCompactionIsDecidedOnce(t *testing.T) {
	t.Parallel()
	h, j, w := shelf(t, 12), newJournal(), &worker{rounds: 12}
	if _, err := native.New(w.config(t, h, 8000)).Execute(t.Context(), h.turn(), j); err != nil {
		t.Fatal(err)
	}
	r, err := native.New(w.config(t, h, 1_000_000)).Execute(t.Context(), h.turn(), j)
	if err != nil || r.Compactions != w.summaries {
		t.Errorf("%+v, %v", r, err)
	}
}

// The decision holds how much stays as it is; one of an old run, which does not,
// is still one.
func TestCompactionKeepsItsRoom(t *testing.T) {
	t.Parallel()
	h, j, w := shelf(t, 12), newJournal(), &worker{rounds: 12}
	whole, err := native.New(w.config(t, h, 8000)).Execute(t.Context(), h.turn(), j)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for key, raw := range j.memos {
		if !strings.Contains(key, "/long/") {
			continue
		}
		var memo struct {
			Why  string
			Room int
		}
		if err := json.Unmarshal(raw, &memo); err != nil || memo.Room <= 0 || memo.Room > 6000 || memo.Why == "" {
			t.Errorf("%s: %s, %v", key, raw, err)
		}
		if j.memos[key], err = json.Marshal(memo.Why); err != nil {
			t.Fatal(err)
		}
		found++
	}
	again, err := native.New(w.config(t, h, 8000)).Execute(t.Context(), h.turn(), j)
	if err != nil || !reflect.DeepEqual(again, whole) || found != whole.Compactions {
		t.Errorf("%+v, want %+v, %v; %d decisions", again, whole, err, found)
	}
}

func TestCompactionsAreBounded(t *testing.T) {
	t.Parallel()
	h, j, w := shelf(t, 20), newJournal(), &worker{rounds: 20, most: 9000}
	cfg := w.config(t, h, 0)
	cfg.Limits.Compactions = 2
	_, err := native.New(cfg).Execute(t.Context(), h.turn(), j)
	if workflow.CodeOf(err) != workflow.CodeContextLength || w.summaries != 2 {
		t.Errorf("%v after %d summaries", err, w.summaries)
	}
	if provider.AsError(err) == nil {
		t.Errorf("the provider's error is lost: %v", err)
	}
}

// A task that is too long by itself does not become shorter.
func TestCompactionDoesNotHelp(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	in := h.turn()
	in.Prompt = strings.Repeat("x", 50_000)
	w := &worker{rounds: 1, most: 60_000}
	h.fence.Put(t, "f1", strings.Repeat("y", 20_000))
	cfg := w.config(t, h, 0)
	w.most = 50_020
	if _, err := native.New(cfg).Execute(t.Context(), in, j); workflow.CodeOf(err) != workflow.CodeContextLength || w.refused > 6 {
		t.Errorf("%v, %d refused", err, w.refused)
	}
}

// A transcript that is too long for the model itself is shortened.
func TestCompactionOfALongTranscript(t *testing.T) {
	t.Parallel()
	h, w := shelf(t, 12), &worker{rounds: 12, most: 9_500, short: true}
	r, err := native.New(w.config(t, h, 0)).Execute(t.Context(), h.turn(), newJournal())
	if err != nil || r.Compactions == 0 || r.Text != "all read" {
		t.Errorf("%+v, %v", r, err)
	}
}

// The last results stay, cut where they alone are too much.
func TestCompactionOfBigResults(t *testing.T) {
	t.Parallel()
	h, j := newHands(t), newJournal()
	refused := 0
	v := &voice{says: []say{calls("big", `{}`, "big", `{}`, "silent", `{}`), func(ctx context.Context, r provider.Request) (provider.Response, error) {
		if raw, _ := json.Marshal(r.Messages); len(raw) > 40_000 {
			refused++
			return fails(provider.CodeContextLength)(ctx, r)
		}
		return words("done")(ctx, r)
	}}}
	r, err := native.New(h.config(t, v)).Execute(t.Context(), h.turn(), j)
	if err != nil || r.Compactions != 1 || refused != 1 || r.Rounds != 2 {
		t.Fatalf("%+v, %v, %d refused", r, err, refused)
	}
	got := v.results()
	if len(got) != 3 || !strings.Contains(got[0], "[cut: the result had 40000 bytes") || got[2] != "[no output]" {
		t.Errorf("%.200q", got)
	}
}

// summariser is another provider, for summaries.
type summariser struct{ worker }

func (s *summariser) Name() string { return "cheap" }

// A summary is asked from the model that its purpose has, is recorded as such, and
// is charged to the agent like every other call.
func TestCompactionElsewhere(t *testing.T) {
	t.Parallel()
	h, j, w, cheap := shelf(t, 20), newJournal(), &worker{rounds: 20}, &summariser{}
	in := h.turn()
	in.Agent = "a"
	var seen []executor.Call
	j.refuse = func(c executor.Call) error {
		if c.Kind == native.PurposeCompaction {
			seen = append(seen, c)
		}
		return nil
	}
	cfg := w.config(t, h, 8000)
	cfg.Elsewhere = func(_ context.Context, t executor.Turn, purpose string) (native.Where, bool) {
		return native.Where{Provider: cheap, Model: "small", Reason: "rule r", Rule: "r"}, purpose == native.PurposeCompaction && t.Key == in.Key
	}
	r, err := native.New(cfg).Execute(t.Context(), in, j)
	if err != nil || r.Compactions < 2 || w.summaries != 0 || cheap.summaries != r.Compactions || len(seen) != r.Compactions {
		t.Fatalf("%+v, %v; %d summaries there and %d here", r, err, cheap.summaries, w.summaries)
	}
	for _, c := range seen {
		if c.Provider != "cheap" || c.Model != "small" || c.Reason != "rule r" || c.Agent != "a" {
			t.Errorf("it is recorded as %+v", c)
		}
	}
}

// A model for summaries that cannot be had is left once, for that of the turn, also
// when the turn is run again.
func TestCompactionElsewhereIsLeft(t *testing.T) {
	t.Parallel()
	h, j, w, cheap := shelf(t, 20), newJournal(), &worker{rounds: 20}, &summariser{}
	tried := 0
	j.refuse = func(c executor.Call) error {
		if c.Provider == "cheap" {
			tried++
			return workflow.Errorf(workflow.CodeQuotaExhausted, "nothing is left of the quota")
		}
		return nil
	}
	cfg := w.config(t, h, 8000)
	cfg.Elsewhere = func(context.Context, executor.Turn, string) (native.Where, bool) {
		return native.Where{Provider: cheap, Model: "small"}, true
	}
	first, err := native.New(cfg).Execute(t.Context(), h.turn(), j)
	if err != nil || first.Compactions < 2 || w.summaries != first.Compactions || cheap.summaries != 0 || tried != first.Compactions {
		t.Fatalf("%+v, %v; %d summaries, %d tries", first, err, w.summaries, tried)
	}
	again, err := native.New(cfg).Execute(t.Context(), h.turn(), j)
	if err != nil || !reflect.DeepEqual(first, again) || tried != first.Compactions {
		t.Errorf("again %+v, %v, after %d tries", again, err, tried)
	}
}

// An agent whose limits leave nothing for a summary goes on without one.
func TestCompactionWithoutBudget(t *testing.T) {
	t.Parallel()
	h, j, w := shelf(t, 20), newJournal(), &worker{rounds: 20}
	in := h.turn()
	in.Agent = "a"
	j.refuse = func(c executor.Call) error {
		if c.Kind == native.PurposeCompaction {
			return workflow.Errorf(workflow.CodeAgentBudget, "nothing is left")
		}
		return nil
	}
	r, err := native.New(w.config(t, h, 8000)).Execute(t.Context(), in, j)
	if err != nil || r.Compactions < 2 || w.summaries != 0 || !strings.Contains(w.last.Messages[0].Text(), "The oldest part is left out: the limits") {
		t.Errorf("%+v, %v: %s", r, err, w.last.Messages[0].Text())
	}
}
