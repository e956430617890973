package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/provider/scripted"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/tooltest"
	"github.com/tenonrun/tenon/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errDead   = errors.New("the process is dead")
	errParked = errors.New("the run waits for an answer")
)

// journal is a Host whose records outlive a process. It can die after a record.
type journal struct {
	mu        sync.Mutex
	memos     map[string]json.RawMessage
	outcomes  map[string]executor.Outcome
	intents   map[string]json.RawMessage
	questions []executor.Question
	answers   map[string]workflow.Answer
	steer     map[string][]string
	redact    func(json.RawMessage) json.RawMessage

	left    int  // records until it dies; negative for never
	lazy    bool // what is at work when it dies goes on until it wants to record
	dead    bool
	records int
	sent    map[string]int             // physical calls
	asked   map[string]workflow.Digest // digest of the last request under a key
	changed []string                   // keys whose request was another one before
	kinds   map[string]string
	begun   map[string]int // steps that were begun
	shown   []executor.Progress
	refuse  func(executor.Call) error
}

func newJournal() *journal {
	return &journal{memos: map[string]json.RawMessage{}, outcomes: map[string]executor.Outcome{}, intents: map[string]json.RawMessage{}, answers: map[string]workflow.Answer{},
		left: -1, sent: map[string]int{}, asked: map[string]workflow.Digest{}, kinds: map[string]string{}, begun: map[string]int{}}
}

// record stores what put writes.
func (j *journal) record(put func()) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dead {
		return errDead
	}
	put()
	j.records++
	if j.left--; j.left == 0 {
		j.dead = true
		if !j.lazy {
			return errDead
		}
	}
	return nil
}

func (j *journal) alive() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dead {
		return errDead
	}
	return nil
}

func (j *journal) memo(key string) (json.RawMessage, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m, ok := j.memos[key]
	return m, ok
}

func (j *journal) Call(ctx context.Context, c executor.Call) (json.RawMessage, error) {
	if err := j.alive(); err != nil {
		return nil, err
	}
	j.mu.Lock()
	if was, ok := j.asked[c.Key]; ok && was != c.Request {
		j.changed = append(j.changed, c.Key)
	}
	j.asked[c.Key], j.kinds[c.Key] = c.Request, c.Kind
	j.mu.Unlock()
	if m, ok := j.memo(c.Key); ok {
		return m, nil
	}
	if j.refuse != nil {
		if err := j.refuse(c); err != nil {
			return nil, err
		}
	}
	j.mu.Lock()
	j.sent[c.Key]++
	n := j.sent[c.Key]
	j.mu.Unlock()
	done, err := c.Do(ctx, executor.Grant{MaxOutput: c.MaxOutput, Ordinal: n})
	if err != nil {
		return nil, err
	}
	if j.redact != nil {
		done.Memo = j.redact(done.Memo)
	}
	return done.Memo, j.record(func() { j.memos[c.Key] = done.Memo })
}

func (j *journal) Step(ctx context.Context, s executor.Step) (json.RawMessage, error) {
	if err := j.alive(); err != nil {
		return nil, err
	}
	if m, ok := j.memo(s.Key); ok {
		return m, nil
	}
	j.mu.Lock()
	left := j.intents[s.Key]
	j.begun[s.Key]++
	j.mu.Unlock()
	out, err := s.Do(ctx, left, func(raw json.RawMessage) error { return j.record(func() { j.intents[s.Key] = raw }) })
	if err != nil {
		return nil, err
	}
	return out.Memo, j.record(func() { j.memos[s.Key], j.outcomes[s.Key] = out.Memo, out })
}

func (j *journal) Consult(_ context.Context, q executor.Question) (workflow.Answer, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a, ok := j.answers[q.Key]; ok {
		return a, nil
	}
	for _, old := range j.questions {
		if old.Key == q.Key {
			return workflow.Answer{}, errParked
		}
	}
	j.questions = append(j.questions, q)
	return workflow.Answer{}, errParked
}

func (j *journal) Progress(p executor.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.shown = append(j.shown, p)
}

func (j *journal) Steer(_ context.Context, key, _ string) ([]string, error) { return j.steer[key], nil }

// saw reports whether somebody was shown a line with all the words.
func (j *journal) saw(words ...string) bool {
	for _, p := range j.shown {
		all := true
		for _, w := range words {
			all = all && strings.Contains(p.Text, w)
		}
		if all {
			return true
		}
	}
	return false
}

// reopen is the journal in the next process.
func (j *journal) reopen(left int) {
	j.dead, j.left = false, left
}

func (j *journal) say(key, value string) {
	j.answers[key] = workflow.Answer{Value: workflow.Text(value)}
}

// hands are tools over a real fence that count what they do.
type hands struct {
	fence *tooltest.Fence
	mu    sync.Mutex
	wrote map[string]int // content that was published
	ran   []string
	meet  chan struct{} // get waits here for another get, when not nil
}

func newHands(t *testing.T) *hands { return &hands{fence: tooltest.New(t), wrote: map[string]int{}} }

type args struct{ Path, Text, From, To string }

// commands is how many command lines ran.
func (h *hands) commands() int {
	n := 0
	for _, s := range h.ran {
		if strings.HasPrefix(s, "shell ") {
			n++
		}
	}
	return n
}

func (h *hands) note(words ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ran = append(h.ran, strings.Join(words, " "))
}

func read(c tool.Call) (args, error) {
	var a args
	err := json.Unmarshal(c.Args.Raw, &a)
	return a, err
}

func (h *hands) get(ctx context.Context, c tool.Call) (tool.Result, error) {
	a, err := read(c)
	if err != nil {
		return tool.Result{}, err
	}
	if h.meet != nil {
		select {
		case h.meet <- struct{}{}:
		case <-h.meet:
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}
	h.note("get", a.Path)
	f, err := c.Fence.Open(ctx, c.Place)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return tool.Result{}, err
	}
	digest, err := c.Fence.Digest(ctx, c.Place.Canonical)
	return tool.Result{Text: string(raw), Seen: []tool.Seen{{Path: c.Place.Canonical, Digest: digest}}}, err
}

func (h *hands) put(ctx context.Context, c tool.Call) (tool.Result, error) {
	a, err := read(c)
	if err != nil {
		return tool.Result{}, err
	}
	return h.publish(ctx, c, a.Text)
}

func (h *hands) publish(ctx context.Context, c tool.Call, content string) (tool.Result, error) {
	change, err := c.Fence.Write(ctx, c.Place, tool.Draft{Content: []byte(content), Announce: c.Host.Announce, MakeParents: true})
	if err != nil {
		return tool.Result{}, err
	}
	h.note("put", c.Place.Spelled)
	h.mu.Lock()
	h.wrote[c.Place.Spelled+"="+content]++
	h.mu.Unlock()
	return tool.Result{Text: "put " + c.Place.Spelled, Changes: []tool.Change{change}}, nil
}

// swap replaces a text, and knows only files that the session has seen.
func (h *hands) swap(ctx context.Context, c tool.Call) (tool.Result, error) {
	a, err := read(c)
	if err != nil {
		return tool.Result{}, err
	}
	now, err := c.Fence.Digest(ctx, c.Place.Canonical)
	if err != nil {
		return tool.Result{}, err
	}
	if seen, _ := c.Session.Seen(c.Place.Canonical); seen != now {
		return tool.Result{}, &tool.Changed{Path: a.Path, Expected: seen, Found: now}
	}
	old := h.content(c.Place.Canonical)
	if !strings.Contains(old, a.From) {
		return tool.Result{}, &tool.Failed{What: "there is no " + a.From}
	}
	return h.publish(ctx, c, strings.ReplaceAll(old, a.From, a.To))
}

func (h *hands) content(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// shell does something of which no file tells.
func (h *hands) shell(ctx context.Context, c tool.Call) (tool.Result, error) {
	a, err := read(c)
	if err != nil {
		return tool.Result{}, err
	}
	if a.Path != "" {
		r := tool.ShellRequest{Tool: c.Tool, Text: a.Text, Cwd: c.Cwd, Commands: []tool.ShellCommand{{
			Operands: []tool.Operand{{Spelled: a.Path, Op: tool.OpRead}, {Spelled: a.From, Op: tool.OpRead}}}}}
		if err := c.Fence.JudgeShell(ctx, r); err != nil {
			return tool.Result{}, err
		}
	}
	h.note("shell", a.Text)
	return tool.Result{Text: "ran " + a.Text, Cwd: h.fence.Root}, nil
}

func (h *hands) slow(ctx context.Context, _ tool.Call) (tool.Result, error) {
	h.note("slow")
	<-ctx.Done()
	return tool.Result{}, ctx.Err()
}

func (h *hands) todo(_ context.Context, c tool.Call) (tool.Result, error) {
	a, err := read(c)
	return tool.Result{Text: "[>] " + a.Text}, err
}

func (h *hands) question(ctx context.Context, c tool.Call) (tool.Result, error) {
	a, err := read(c)
	if err != nil {
		return tool.Result{}, err
	}
	q := tool.Question{Text: a.Text, Free: a.From == "", Many: a.To == "many"}
	for _, o := range strings.Fields(a.From) {
		q.Options = append(q.Options, tool.Option{Label: o, Detail: "as " + o})
	}
	answer, err := c.Host.Ask(ctx, q)
	return tool.Result{Text: fmt.Sprintf("%v %q", answer.Chosen, answer.Text)}, err
}

const argsSchema = `{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string"},"text":{"type":"string"},"from":{"type":"string"},"to":{"type":"string"}}}`

func (h *hands) set(t testing.TB) *tool.Set {
	t.Helper()
	at := func(op tool.Op) tool.Target {
		return tool.Target{Slot: "path", Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: op}
	}
	var list []tool.Tool
	for _, d := range []tool.Tool{
		{Name: "get", Effect: workflow.EffectRead, Target: at(tool.OpRead), Run: h.get},
		{Name: "put", Effect: workflow.EffectWrite, Target: at(tool.OpWrite), Run: h.put},
		{Name: "swap", Effect: workflow.EffectWrite, Target: at(tool.OpWrite), Run: h.swap},
		{Name: "shell", Effect: workflow.EffectWrite, Run: h.shell},
		{Name: "slow", Effect: workflow.EffectRead, Run: h.slow},
		{Name: "todo_write", Effect: workflow.EffectRead, Run: h.todo},
		{Name: "ask", Effect: workflow.EffectRead, Run: h.question},
		{Name: "explode", Effect: workflow.EffectRead, Run: func(context.Context, tool.Call) (tool.Result, error) { panic("boom") }},
		{Name: "broken", Effect: workflow.EffectRead, Run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, errors.New("the disk is gone")
		}},
		{Name: "big", Effect: workflow.EffectRead, Run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: strings.Repeat("é", 20_000)}, nil
		}},
		{Name: "silent", Effect: workflow.EffectRead, Run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }},
	} {
		d.Description, d.Schema = "the tool "+d.Name, json.RawMessage(argsSchema)
		list = append(list, d)
	}
	s, err := tool.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// submitTool stands in for the tool that is wired in.
func submitTool(answer json.RawMessage) (tool.Tool, error) {
	return tool.Tool{Name: "submit", Description: "give the answer", Effect: workflow.EffectRead,
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["answer"],"properties":{"answer":` + string(answer) + `}}`),
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			var a struct{ Answer json.RawMessage }
			err := json.Unmarshal(c.Args.Raw, &a)
			return tool.Result{Text: "taken", Final: a.Answer}, err
		}}, nil
}

// voice is a provider of functions, one for each call; the last one stays.
type voice struct {
	mu   sync.Mutex
	says []say
	got  []provider.Request
}

type say func(ctx context.Context, r provider.Request) (provider.Response, error)

func (v *voice) Name() string { return "voice" }

func (v *voice) Stream(ctx context.Context, r provider.Request, emit func(provider.Delta)) (provider.Response, error) {
	v.mu.Lock()
	s := v.says[min(len(v.got), len(v.says)-1)]
	v.got = append(v.got, r)
	v.mu.Unlock()
	emit(provider.Delta{Kind: provider.DeltaText, Text: "."})
	return s(ctx, r)
}

func number(n int64) *int64 { return &n }

func words(text string) say {
	return func(context.Context, provider.Request) (provider.Response, error) {
		return provider.Response{Parts: []provider.Part{{Kind: provider.PartText, Text: text}}, Stop: provider.StopEnd, Model: "m-real",
			Usage: provider.Usage{Input: number(10), Output: number(2)}}, nil
	}
}

// calls is an answer that calls tools: name and arguments in turn.
func calls(pairs ...string) say {
	return func(context.Context, provider.Request) (provider.Response, error) {
		r := provider.Response{Stop: provider.StopToolUse, Model: "m-real", Usage: provider.Usage{Input: number(10), Output: number(2)}}
		for i := 0; i < len(pairs); i += 2 {
			p := provider.Part{Kind: provider.PartToolUse, ID: fmt.Sprintf("vendor-%d", i), Name: pairs[i]}
			if json.Valid([]byte(pairs[i+1])) {
				p.Input = json.RawMessage(pairs[i+1])
			} else {
				p.RawInput, p.Invalid = pairs[i+1], true
			}
			r.Parts = append(r.Parts, p)
		}
		return r, nil
	}
}

func fails(code provider.Code) say {
	return func(context.Context, provider.Request) (provider.Response, error) {
		return provider.Response{}, &provider.Error{Code: code, Provider: "voice", Sent: true, Status: 400}
	}
}

// script makes a scripted provider.
func script(t testing.TB, yaml string) provider.Provider {
	t.Helper()
	s, err := scripted.Load("script.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New("", s)
}

func (h *hands) config(t testing.TB, p provider.Provider) native.Config {
	return native.Config{Provider: p, Model: "m", Submit: submitTool, Equip: h.equip(t, h.fence)}
}

func (h *hands) equip(t testing.TB, f tool.Fence) func(executor.Turn) (native.Gear, error) {
	set := h.set(t)
	return func(executor.Turn) (native.Gear, error) {
		return native.Gear{Tools: set, Open: func(context.Context) (tool.Fence, error) { return f, nil }, Close: func() error { h.note("closed"); return nil }}, nil
	}
}

func (h *hands) turn() executor.Turn {
	return executor.Turn{Key: "t", Kind: "initial", Node: "work", Prompt: "do it", Access: workflow.EffectWrite, Dir: h.fence.Root}
}

// results are the texts of the tool results in the last request.
func (v *voice) results() []string {
	var out []string
	for _, m := range v.got[len(v.got)-1].Messages {
		for _, p := range m.Parts {
			if p.Kind == provider.PartToolResult {
				out = append(out, p.Text)
			}
		}
	}
	return out
}

func onDisk(h *hands) map[string]string {
	out := map[string]string{}
	_, _ = h.fence.Walk(context.Background(), tool.Place{Op: tool.OpRead, Canonical: h.fence.Root, Lexical: h.fence.Root}, tool.WalkOptions{},
		func(e tool.Entry) error {
			if e.Info.Kind == tool.KindFile {
				out[e.Rel] = h.content(e.Place.Canonical)
			}
			return nil
		})
	return out
}
