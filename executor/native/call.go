package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/talk"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// kept is the memo of a call: the answer, what tells after a crash whether its
// files were written, and whether the arguments of its calls are whole.
type kept struct {
	provider.Response
	Before []string  `json:"before,omitempty"` // digest of each file before it was written, "" for none
	Args   []argsFor `json:"args,omitempty"`   // one for each tool use
}

// argsFor tells about the arguments of one call as they came from the model. A
// journal may hold them without their secrets.
type argsFor struct {
	Digest string `json:"digest,omitempty"` // of their canonical form; empty when they have none
	Cut    int    `json:"cut,omitempty"`    // their size in bytes, when they were too big to be kept
}

// request is what is asked in round n.
func (l *loop) request(n int, g executor.Grant) provider.Request {
	r := provider.Request{
		Model: l.Model, System: l.system, Messages: l.messages, Tools: l.offered(),
		MaxOutputTokens: g.MaxOutput, Effort: l.Turn.Effort, Cache: len(l.tools) > 0, Metadata: l.Labels(g),
	}
	if l.submit == nil {
		r.Schema = l.Turn.Schema
	}
	if len(l.tools) > 0 && l.last(n) {
		r.ToolChoice = provider.ChoiceNone
		if l.submit != nil {
			r.ToolChoice = submitName
		}
	}
	return r
}

// ask makes the call of round n, or takes its memo. A conversation that is too
// long is compacted first, and when the provider says so.
func (l *loop) ask(ctx context.Context, n int) (kept, error) {
	for try := 1; ; try++ {
		q, err := l.tooLong(ctx, n, try, "")
		if err != nil {
			return kept{}, err
		}
		var refusal error
		if q.Why == "" {
			var memo kept
			if memo, refusal = l.fitting(ctx, n); workflow.CodeOf(refusal) != workflow.CodeContextLength || l.compacted() {
				return memo, refusal
			}
			if q, err = l.tooLong(ctx, n, try, refusal.Error()); err != nil {
				return kept{}, err
			}
		}
		shorter, err := l.compact(ctx, fmt.Sprintf("%s/%d/compact/%d", l.Turn.Key, n, try), q)
		if err != nil {
			return kept{}, err
		}
		if refusal != nil && !shorter {
			return kept{}, refusal
		}
	}
}

// fitting makes the call of round n. An agent whose limits it does not fit into
// comes to an end.
func (l *loop) fitting(ctx context.Context, n int) (kept, error) {
	if l.Turn.Agent == "" {
		return l.call(ctx, n)
	}
	if err := l.spent(ctx, n, nil); err != nil {
		return kept{}, err
	}
	memo, err := l.call(ctx, n)
	if workflow.CodeOf(err) != workflow.CodeAgentBudget || l.drained > 0 {
		return memo, err
	}
	if err := l.spent(ctx, n, err); err != nil {
		return kept{}, err
	}
	return l.call(ctx, n)
}

func (l *loop) call(ctx context.Context, n int) (kept, error) {
	kind := l.Turn.Kind
	switch {
	case l.repairs > 0 && l.messages[len(l.messages)-1].Role == provider.RoleUser:
		kind = "repair"
	case n > 1:
		kind = "tools"
	}
	c, err := l.Call(fmt.Sprintf("%s/%d", l.Turn.Key, n), kind, l.request(n, executor.Grant{}), l.maxOutput)
	if err != nil {
		return kept{}, err
	}
	c.Agent, c.Last = l.Turn.Agent, l.drained > 0
	c.Do = func(ctx context.Context, g executor.Grant) (executor.Done, error) { return l.do(ctx, g, n) }
	memo, err := l.Host.Call(ctx, c)
	if err != nil {
		return kept{}, err
	}
	var k kept
	err = l.recall(memo, &k, fmt.Sprintf("the memo of call %d", n))
	return k, err
}

// do makes one physical call.
func (l *loop) do(ctx context.Context, g executor.Grant, n int) (executor.Done, error) {
	response, done, err := l.Send(ctx, l.request(n, g))
	if err == nil {
		err = l.reject(response, n)
	}
	if err != nil {
		return done, err
	}
	k := kept{Response: response, Before: talk.Digests(l.Turn, response.Files)}
	k.Parts, k.Args = bounded(response.Parts)
	l.fresh = fresh{round: n, response: k.Response}
	if done.Memo, err = json.Marshal(k); err != nil {
		return done, fmt.Errorf("%s: keeping the answer: %w", l.Where(), err)
	}
	return done, nil
}

// maxShown is what is kept of arguments that are too big, in bytes.
const maxShown = 1000

// bounded returns the parts of a response without arguments that no tool takes,
// and what is to be known about the arguments.
func bounded(parts []provider.Part) ([]provider.Part, []argsFor) {
	out := make([]provider.Part, len(parts))
	var args []argsFor
	for i, p := range parts {
		if p.Kind == provider.PartToolUse {
			raw := arguments(p)
			a := argsFor{}
			if len(raw) > tool.MaxArgs {
				a.Cut = len(raw)
				p.Input, p.Invalid, p.RawInput = nil, true, text.HeadBytes(text.Repair(string(raw[:maxShown*2])), maxShown, " [cut]")
			}
			a.Digest = digestOf(arguments(p))
			args = append(args, a)
		}
		out[i] = p
	}
	return out, args
}

// arguments are those of a call as the model wrote them.
func arguments(p provider.Part) json.RawMessage {
	if p.Input != nil {
		return p.Input
	}
	return json.RawMessage(p.RawInput)
}

// digestOf is the same for all spellings of the same arguments, "" for what is no
// JSON.
func digestOf(raw json.RawMessage) string {
	c, err := canon.Canonical(raw)
	if err != nil {
		return ""
	}
	return canon.Sum(c)
}

// reject returns why an answer does not count. Such a call fails and leaves no
// memo, so that a retry asks again.
func (l *loop) reject(r provider.Response, n int) error {
	if err := l.Refused(r); err != nil {
		return err
	}
	uses := l.calls(r)
	if len(uses) == 0 {
		if err := l.Empty(r); err != nil {
			return err
		}
		if l.schema == nil {
			return l.CutOff(r)
		}
	}
	last := l.last(n)
	wrong, problems := l.misfit(r)
	switch {
	case problems != nil && (last || l.repairs >= l.Turn.Repairs):
		return l.Misfit(wrong, problems)
	case last && !l.ends(uses):
		return workflow.Errorf(workflow.CodeRecursionLimit, "%s: %s used all its %d turns and still calls tools", l.Where(), l.Named(), n).
			WithHint("raise maxTurns, or ask for less at once")
	}
	return nil
}

// calls are the tool calls of a response; a turn without tools takes none.
func (l *loop) calls(r provider.Response) []provider.Part {
	if l.journal == nil {
		return nil
	}
	return r.ToolUses()
}

// ends reports whether a response can be the last one.
func (l *loop) ends(uses []provider.Part) bool {
	if len(uses) == 0 {
		return true
	}
	for _, u := range uses {
		if l.submit != nil && u.Name == submitName {
			return true
		}
	}
	return false
}

// misfit returns a structured answer that does not fit, and why; nil for a
// response that goes on working or fits.
func (l *loop) misfit(r provider.Response) (string, []string) {
	if l.schema == nil {
		return "", nil
	}
	uses := l.calls(r)
	if len(uses) == 0 {
		_, problems := talk.Fit(l.schema, r)
		return r.Text(), problems
	}
	for _, u := range uses {
		if l.submit == nil || u.Name != submitName {
			continue
		}
		if _, err := l.submit.Read(submitName, arguments(u)); err != nil {
			var bad *tool.BadArguments
			if errors.As(err, &bad) {
				return string(arguments(u)), bad.Problems
			}
			return string(arguments(u)), []string{err.Error()}
		}
	}
	return "", nil
}
