package native

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// settled is the memo of a step: what a call gave. What the session knows is the
// fold of these.
type settled struct {
	Text    string          `json:"text"`
	Error   bool            `json:"error,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Seen    []tool.Seen     `json:"seen,omitempty"`
	Changes []tool.Change   `json:"changes,omitempty"`
	Cwd     string          `json:"cwd,omitempty"`
	Final   json.RawMessage `json:"final,omitempty"`
	Denied  *tool.Verdict   `json:"denied,omitempty"`
	Granted []Allowance     `json:"granted,omitempty"` // for the rest of the turn
	Refused bool            `json:"refused,omitempty"` // an agent, by a limit
	Spawned int             `json:"spawned,omitempty"` // agents that were started
	Account bool            `json:"account,omitempty"` // the agent has one since
	Made    *workflow.Made  `json:"made,omitempty"`
	Begun   string          `json:"begun,omitempty"` // what goes on without the call
	Left    string          `json:"left,omitempty"`  // what was decided about a call that a crash left open
}

// intent is what is recorded before a call can change anything.
type intent struct {
	Try     int           `json:"try"`               // how often the call was begun
	Stopped bool          `json:"stopped,omitempty"` // the fence stopped it before it did anything
	Changes []tool.Change `json:"changes,omitempty"`
}

// errLater says that a call needs a person, which is not possible beside others.
var errLater = errors.New("a person has to be asked first")

// work is one try of a call.
type work struct {
	*use
	l      *loop
	fence  watch
	ask    func(ctx context.Context, q executor.Question) (workflow.Answer, error)
	parked error // ends the turn as it is: a question without an answer, a journal that takes nothing

	mu      sync.Mutex
	intends func(json.RawMessage) error
	intent  intent
	allowed []Allowance // that a person was asked about
	granted []Allowance // for the rest of the turn
	asked   int         // questions of the tool itself
	refused bool        // it may start no more agents
	spawned int         // agents that it started
	account bool        // the account of the agent was needed
}

// step runs a call, or takes the memo of its step.
func (l *loop) step(ctx context.Context, u *use, mayAsk bool) error {
	raw, err := l.journal.Step(ctx, executor.Step{Key: u.key, Tool: u.part.Name,
		Do: func(ctx context.Context, left json.RawMessage, intend func(json.RawMessage) error) (executor.Outcome, error) {
			u.live = true
			w := &work{use: u, l: l, fence: watch{Fence: l.fence}, intends: intend}
			w.ask = w.consult
			if !mayAsk {
				w.ask = func(context.Context, executor.Question) (workflow.Answer, error) { return workflow.Answer{}, errLater }
			}
			l.progress("%s", u.brief)
			s, err := w.do(ctx, left)
			if err != nil {
				return executor.Outcome{}, err
			}
			l.progress("%s: %s", u.brief, s.brief())
			return w.outcome(s)
		}})
	if err != nil {
		return err
	}
	return l.recall(raw, &u.done, "the memo of step "+u.key)
}

// recall reads what the journal kept.
func (l *loop) recall(raw json.RawMessage, to any, what string) error {
	if err := json.Unmarshal(raw, to); err != nil {
		return workflow.Errorf(workflow.CodeStoreDamaged, "%s: reading %s: %w", l.Where(), what, err)
	}
	return nil
}

// maxWhy bounds what people are told of a call that failed, in characters.
const maxWhy = 200

// outcome is what the journal keeps of a call.
func (w *work) outcome(s settled) (executor.Outcome, error) {
	memo, err := json.Marshal(s)
	out := executor.Outcome{Memo: memo, About: w.brief, Failed: s.Error, Made: s.Made}
	if w.l.Turn.Label != "" {
		out.About = w.l.Turn.Label + ": " + w.brief
	}
	if s.Error && s.Denied == nil {
		first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(s.Text), "error: "), "\n")
		out.Why = text.Head(first, maxWhy, "…")
	}
	if v := s.Denied; v != nil {
		out.Denied = &workflow.Denial{
			Tool: v.Tool, Op: string(v.Op), Path: v.Spelled, Canonical: v.Canonical, View: v.View, Rule: v.Rule, Reason: v.Reason,
			Agent: w.l.Turn.Label, Message: v.String(),
		}
		if w.l.Turn.Label != "" {
			out.Denied.Message = w.l.Turn.Label + ": " + out.Denied.Message
		}
	}
	return out, err
}

// brief tells people how a call ended.
func (s settled) brief() string {
	switch {
	case s.Error:
		return text.Head(s.Text, 300, "…")
	case len(s.Changes) > 0:
		return fmt.Sprintf("%d bytes written", s.Changes[len(s.Changes)-1].Size)
	}
	return fmt.Sprintf("%d bytes", len(s.Text))
}

// blind reports whether the effect of a call cannot be told from files.
func (u *use) blind() bool {
	return u.tool.Effect == workflow.EffectWrite && u.tool.Target.Op != tool.OpWrite
}

// do runs a call. left is the intent of a process that died before the call had
// settled.
func (w *work) do(ctx context.Context, left json.RawMessage) (settled, error) {
	if left != nil {
		s, over, err := w.resolve(ctx, left)
		if err != nil || over {
			return s, err
		}
	}
	switch {
	case w.args.Cut > 0:
		return failed(&tool.BadArguments{Tool: w.part.Name, Problems: []string{fmt.Sprintf("they have %d bytes, at most %d are taken", w.args.Cut, tool.MaxArgs)},
			Next: cmp.Or(w.tool.Reading.TooLong, "do it in several smaller calls")}), nil
	case w.lost:
		return failed(&tool.Failed{What: "this call was interrupted, and its arguments held a secret that is not kept", Next: "send it again"}), nil
	}
	w.intent = intent{Try: w.intent.Try + 1}
	for {
		if err := w.begin(false); err != nil {
			return settled{}, err
		}
		r, err := w.run(ctx)
		var asked *tool.Asked
		switch {
		case w.parked != nil:
			return settled{}, w.parked
		case err == nil:
			s := w.settle(r)
			s.Spawned, s.Account = w.spawned, w.account
			return s, nil
		case ctx.Err() != nil:
			return settled{}, context.Cause(ctx)
		case errors.As(err, &asked):
			if err := w.begin(true); err != nil {
				return settled{}, err
			}
			if err = w.allow(ctx, asked.Verdict); err == nil {
				continue
			}
		}
		if w.parked != nil {
			return settled{}, w.parked
		}
		if !tool.ByModel(err) {
			return settled{}, w.broken(err)
		}
		s := failed(err)
		s.Changes, s.Granted, s.Refused = r.Changes, w.granted, w.refused
		s.Account = w.account
		return s, nil
	}
}

// begin records that a call of which no file tells is begun now, or that it was
// stopped before it did anything.
func (w *work) begin(stopped bool) error {
	if !w.blind() {
		return nil
	}
	w.intent.Stopped = stopped
	return w.announce(nil)
}

// run does the call once. The answer of the turn needs no fence.
func (w *work) run(ctx context.Context) (tool.Result, error) {
	c := w.l.callOf(w.key)
	c.ID, c.Cwd, c.Session, c.Host = w.part.ID, w.l.Turn.Dir, w.l.session, w.host()
	if w.fence.Fence != nil {
		c.Fence = &w.fence
	}
	if w.set != w.l.submit {
		return w.set.Run(ctx, w.part.Name, w.raw, c)
	}
	var err error
	if c.Args, err = w.set.Read(submitName, w.raw); err != nil {
		return tool.Result{}, err
	}
	c.Tool = submitName
	return w.tool.Run(ctx, c)
}

// callOf names the call of a step.
func (l *loop) callOf(step string) tool.Call {
	return tool.Call{Run: l.Turn.Run, Visit: l.Turn.Visit, Step: step}
}

// broken is the error of a tool that is not the model's to mend.
func (w *work) broken(err error) error {
	var coded *workflow.Error
	if errors.As(err, &coded) {
		return fmt.Errorf("%s: the tool %s: %w", w.l.Where(), w.brief, err)
	}
	return workflow.Errorf(workflow.CodeOf(err), "%s: the tool %s: %w", w.l.Where(), w.brief, err).
		WithHint("resume to go on at this call")
}

// failed is the result of a call that the model can act on.
func failed(err error) settled {
	s := settled{Text: tool.Explain(err), Error: true}
	var denied *tool.Denied
	if errors.As(err, &denied) {
		s.Denied = &denied.Verdict
	}
	return s
}

// settle makes the memo of a result, bounded.
func (w *work) settle(r tool.Result) settled {
	s := settled{Text: text.Repair(r.Text), Data: r.Data, Seen: r.Seen, Changes: r.Changes, Cwd: r.Cwd, Final: r.Final, Made: r.Made, Begun: r.Begun, Denied: r.Denied, Granted: w.granted}
	if size := len(s.Text); size > w.l.cfg.Limits.Result {
		s.Text = text.HeadBytes(s.Text, w.l.cfg.Limits.Result, fmt.Sprintf("\n[cut: the result has %d bytes]", size))
	}
	if s.Text == "" {
		s.Text = "[no output]"
	}
	return s
}

// host is what the tool may ask of the engine.
func (w *work) host() tool.Host {
	h := tool.Host{
		Announce: func(_ context.Context, c tool.Change) error { return w.announce(&c) },
		Progress: func(line string) { w.l.progress("%s: %s", w.brief, line) },
	}
	if w.l.cfg.Spawn != nil {
		h.Spawn = w.spawn
	}
	if _, ok := w.l.Host.(executor.Person); ok {
		h.Ask = w.question
	}
	return h
}

// announce records what is about to change, before it can be seen.
func (w *work) announce(c *tool.Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c != nil {
		w.intent.Changes = append(w.intent.Changes, *c)
	}
	raw, err := json.Marshal(w.intent)
	if err != nil {
		return fmt.Errorf("announcing a change: %w", err)
	}
	if err := w.intends(raw); err != nil {
		w.parked = err
		return err
	}
	return nil
}
