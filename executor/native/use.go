package native

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/tenonrun/tenon/executor/talk"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// use is one call of a tool at work.
type use struct {
	key   string // of its step
	part  provider.Part
	raw   json.RawMessage
	args  argsFor
	lost  bool      // the arguments are not those that the model wrote
	tool  tool.Tool // zero when there is none of the name
	set   *tool.Set
	brief string // for people: tool and path
	done  settled
	live  bool // it was done by this process
	err   error
}

// reads reports whether the call may run beside others.
func (u *use) reads() bool {
	return u.tool.Effect == workflow.EffectRead && !u.tool.Alone && u.part.Name != submitName
}

// use runs the calls of a response and adds their results to the conversation. It
// reports whether one of them gave the answer of the turn.
func (l *loop) use(ctx context.Context, n int, memo kept) (bool, error) {
	if err := l.open(ctx); err != nil {
		return false, err
	}
	uses := l.uses(n, memo)
	results := make([]provider.Part, len(uses))
	for i, u := range uses {
		results[i] = provider.Part{Kind: provider.PartToolResult, ID: u.part.ID, Name: u.part.Name, IsError: true,
			Text: fmt.Sprintf("error: this call was not done: at most %d calls of one response are; send it again, with fewer others beside it", l.cfg.Limits.Calls)}
	}
	todo := uses[:min(len(uses), l.cfg.Limits.Calls)]
	for at := 0; at < len(todo); {
		end := at + 1
		for end < len(todo) && todo[at].reads() && todo[end].reads() {
			end++
		}
		if err := l.run(ctx, todo[at:end]); err != nil {
			return false, err
		}
		for i, u := range todo[at:end] {
			result, err := l.fold(ctx, u)
			if err != nil {
				return false, err
			}
			results[at+i] = result
			if u.done.Final != nil {
				l.messages = append(l.messages, provider.Message{Role: provider.RoleTool, Parts: results})
				return true, nil
			}
		}
		at = end
	}
	l.messages = append(l.messages, provider.Message{Role: provider.RoleTool, Parts: results})
	if l.refusedNow {
		l.refusals, l.refusedNow = l.refusals+1, false
	}
	return false, nil
}

// uses are the calls of a response.
func (l *loop) uses(n int, memo kept) []*use {
	from := memo.ToolUses()
	if l.fresh.round == n {
		from = l.fresh.response.ToolUses()
	}
	var list []*use
	for i, p := range from {
		u := &use{key: fmt.Sprintf("%s/%d/%d", l.Turn.Key, n, i+1), part: p, raw: arguments(p), set: l.set(p.Name)}
		if i < len(memo.Args) {
			u.args = memo.Args[i]
			u.lost = l.fresh.round != n && u.args.Digest != "" && u.args.Digest != digestOf(u.raw)
		}
		u.tool, _ = u.set.Find(p.Name) // a name that is not there is told when it runs
		u.brief = text.Head(tool.Quote(p.Name), 100, "…")
		var named map[string]any
		if slot := cmp.Or(u.tool.Target.Slot, u.tool.Reading.Wrap); slot != "" && u.args.Cut == 0 && json.Unmarshal(u.raw, &named) == nil {
			if what, ok := named[slot].(string); ok {
				u.brief += " " + text.Head(tool.Quote(what), 100, "…")
			}
		}
		list = append(list, u)
	}
	return list
}

// run runs calls that may run together. Those that need a person are run again
// alone, in their order.
func (l *loop) run(ctx context.Context, uses []*use) error {
	limited, _, stop := l.Limit(ctx, 0)
	defer stop()
	if len(uses) > 1 {
		l.beside(limited, uses)
	} else {
		uses[0].err = l.alone(limited, uses[0], true)
	}
	for _, u := range uses {
		if errors.Is(u.err, errLater) {
			u.err = l.alone(limited, u, true)
		}
		switch {
		case u.err == nil:
		case ctx.Err() != nil:
			return workflow.Errorf(workflow.CodeAborted, "%s: the tool %s was stopped: %w", l.Where(), u.brief, context.Cause(ctx))
		case limited.Err() != nil:
			return l.Overtime(limited)
		default:
			return u.err
		}
	}
	return nil
}

// beside runs calls at the same time, as many as the limits say.
func (l *loop) beside(ctx context.Context, uses []*use) {
	var wg sync.WaitGroup
	room := make(chan struct{}, l.cfg.Limits.Parallel)
	for _, u := range uses {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			u.err = l.alone(ctx, u, false)
		})
	}
	wg.Wait()
}

// alone runs one call; a panic is an error with a stack.
func (l *loop) alone(ctx context.Context, u *use, mayAsk bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = workflow.Errorf(workflow.CodePanic, "%s: the tool %s panicked: %v\n%s", l.Where(), u.brief, p, debug.Stack())
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	if !u.reads() {
		defer writing(ctx)()
	}
	return l.step(ctx, u, mayAsk)
}

// fold takes the result of a call into the turn, and gives what the model is told.
func (l *loop) fold(ctx context.Context, u *use) (provider.Part, error) {
	s := u.done
	l.session.Keep(tool.Result{Seen: s.Seen, Changes: s.Changes, Cwd: s.Cwd})
	l.reply.ToolCalls++
	l.reply.Agents += s.Spawned
	if s.Account && l.Turn.Agent == "" { // it was opened by another process
		l.Turn.Agent = l.Turn.Key
	}
	for _, c := range s.Changes {
		name := c.Path
		if rel, err := filepath.Rel(l.dir(), c.Path); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
		l.wrote(name)
	}
	if s.Begun != "" && l.gear.Await != nil {
		l.send(ctx, u)
	}
	for _, a := range s.Granted {
		if g, ok := l.fence.(Granter); ok {
			l.fence = g.Grant(a)
		}
	}
	switch {
	case s.Denied != nil && l.gear.Strict:
		return provider.Part{}, workflow.Errorf(workflow.CodeToolDenied, "%s: denied: %s", l.Where(), s.Denied).
			WithHint("allow it with a rule, or let the agent go on without it: leave out --on-deny fail")
	case s.Denied != nil:
		l.reply.Denials++
	case s.Refused:
		l.refusedNow = true
	case s.Spawned > 0:
		l.refusals, l.refusedNow = 0, false
	case u.part.Name == todoName && !s.Error:
		l.todo = s.Text
	case u.part.Name == submitName && s.Error && l.submit != nil:
		l.repairs++
	}
	if s.Final != nil {
		l.reply.Structured = talk.Compact(s.Final)
		if l.reply.Text == "" {
			l.reply.Text = string(l.reply.Structured)
		}
	}
	note, err := l.same.add(u)
	if err != nil {
		return provider.Part{}, workflow.Errorf(workflow.CodeNoProgress, "%s: %w", l.Where(), err).
			WithHint("change the prompt, or choose another model")
	}
	return provider.Part{Kind: provider.PartToolResult, ID: u.part.ID, Name: u.part.Name, Text: s.Text + note, IsError: s.Error}, nil
}

// todoName is the tool whose last result stays when a conversation is compacted.
const todoName = "todo_write"

// dir is the directory of the turn as canonical paths spell it.
func (l *loop) dir() string {
	if dir, err := filepath.EvalSymlinks(l.Turn.Dir); err == nil {
		return dir
	}
	return l.Turn.Dir
}
