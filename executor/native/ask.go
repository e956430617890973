package native

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Answers to the question whether a call is allowed.
const (
	allowOnce = "once"
	allowTurn = "for this turn"
	allowNot  = "deny"
)

// Bounds of what a question shows, in characters: of the arguments of a call, which
// may be cut, and of a command line, which is allowed only as a whole.
const (
	maxAsked   = 2000
	maxCommand = 16_000
)

// consult asks a person. An error of it ends the turn as it is.
func (w *work) consult(ctx context.Context, q executor.Question) (workflow.Answer, error) {
	p, ok := w.l.Host.(executor.Person)
	if !ok {
		return workflow.Answer{Denied: true, Reason: "nobody can be asked in this run"}, nil
	}
	return p.Consult(ctx, q)
}

// put asks a question about the call, below its key.
func (w *work) put(ctx context.Context, q executor.Question) (workflow.Answer, error) {
	q.Key = w.key + "/" + q.Key
	a, err := w.ask(ctx, q)
	if err != nil {
		w.parked = err
	}
	return a, err
}

// value reads the answer's value into v.
func (w *work) value(a workflow.Answer, v any) error {
	raw, err := []byte(a.Value.JSON), error(nil)
	if host, ok := w.l.Host.(interface {
		Load(v workflow.Value) (json.RawMessage, error)
	}); ok {
		raw, err = host.Load(a.Value)
	}
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		w.parked = workflow.Errorf(workflow.CodeInvalidAnswer, "%s: reading the answer about the tool %s: %w", w.l.Where(), w.brief, err)
		return w.parked
	}
	return nil
}

// allow asks a person about a call that the fence stopped. It returns nil when
// the call is to be tried again, with a fence that lets it through.
func (w *work) allow(ctx context.Context, v tool.Verdict) error {
	if w.l.gear.Unasked {
		v.Reason += "; this run asks nobody, so it is denied"
		return &tool.Denied{Verdict: v}
	}
	if utf8.RuneCountInString(w.fence.stopped.Text) > maxCommand {
		v.Reason += fmt.Sprintf("; and the command is too long for a person to judge: at most %d characters", maxCommand)
		return &tool.Denied{Verdict: v}
	}
	a := Allowance{Verdict: v, Command: w.fence.stopped.Text, Cwd: w.fence.stopped.Cwd}
	if slices.Contains(w.allowed, a) {
		v.Reason = "a person allowed it, but it cannot be let through: " + v.Reason
		return &tool.Denied{Verdict: v}
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("asking about a call: %w", err)
	}
	options := []string{allowOnce, allowNot}
	granter, can := w.fence.Fence.(Granter)
	if can {
		options = []string{allowOnce, allowTurn, allowNot}
	}
	// The key holds what is asked: an answer never counts for another question.
	answer, err := w.put(ctx, executor.Question{Key: "allow/" + canon.Sum(raw)[:12], Kind: workflow.AskQuestion, Text: w.mayI(v), Options: options})
	if err != nil {
		return err
	}
	label := allowNot
	if !answer.Denied && !answer.Expired {
		if err := w.value(answer, &label); err != nil {
			return err
		}
	}
	if label != allowOnce && label != allowTurn {
		v.Reason = told("a person was asked and denied it", answer)
		return &tool.Denied{Verdict: v}
	}
	w.allowed = append(w.allowed, a)
	switch {
	case !can:
		w.fence = watch{Fence: w.fence.Fence, passes: w.allowed}
	default:
		w.fence = watch{Fence: granter.Grant(a)}
	}
	if label == allowTurn && can {
		w.granted = append(w.granted, a)
	}
	return nil
}

func told(what string, a workflow.Answer) string {
	if a.Reason != "" {
		return what + ": " + text.Head(a.Reason, maxAsked, "…")
	}
	return what
}

// mayI is the text of the question about a call that was stopped.
func (w *work) mayI(v tool.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The agent%s at %s wants to use the tool %s.\n", w.called(), w.l.Where(), tool.Quote(w.part.Name))
	if v.Spelled != "" {
		fmt.Fprintf(&b, "path: %s", tool.Quote(v.Spelled))
		if v.Canonical != "" && v.Canonical != v.Spelled {
			fmt.Fprintf(&b, " -> %s", tool.Quote(v.Canonical))
		}
		b.WriteString("\n")
	}
	if v.Op != tool.OpNone {
		fmt.Fprintf(&b, "operation: %s\n", v.Op)
	}
	if v.Rule != "" {
		fmt.Fprintf(&b, "rule: %s", v.Rule)
		if v.View != "" {
			fmt.Fprintf(&b, ", reached by the %s path", v.View)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "because: %s\n", v.Reason)
	if line := w.fence.stopped.Text; line != "" {
		if !tool.Plain(line) {
			line = strconv.Quote(line)
		}
		fmt.Fprintf(&b, "command: %s\nThe answer counts for the whole command line.\n", line)
		return b.String()
	}
	b.WriteString(w.arguments())
	return b.String()
}

// called names a sub-agent, after a space.
func (w *work) called() string {
	if w.l.Turn.Label == "" {
		return ""
	}
	return " " + w.l.Turn.Label
}

// arguments shows people what the call says, with the < > & that JSON in the
// journal escapes.
func (w *work) arguments() string {
	shown := jsonEscape().ReplaceAllStringFunc(string(w.raw), func(e string) string {
		switch strings.ToLower(e) {
		case `\u003c`:
			return "<"
		case `\u003e`:
			return ">"
		case `\u0026`:
			return "&"
		}
		return e
	})
	return "arguments: " + text.Head(text.Repair(shown), maxAsked, "…")
}

var jsonEscape = text.MustPattern(`\\(u[0-9a-fA-F]{4}|.)`)

// question asks what the model asks by a tool.
func (w *work) question(ctx context.Context, q tool.Question) (tool.Answer, error) {
	w.mu.Lock()
	w.asked++
	asked := executor.Question{Key: fmt.Sprintf("question/%d", w.asked), Kind: workflow.AskQuestion, Text: q.Text}
	w.mu.Unlock()
	if name := w.called(); name != "" {
		asked.Text = "The agent" + name + " asks: " + asked.Text
	}
	var labels []string
	for _, o := range q.Options {
		labels = append(labels, o.Label)
		line := "\n- " + o.Label
		if o.Detail != "" {
			line += ": " + o.Detail
		}
		asked.Text += line
	}
	var items any = map[string]any{"enum": labels}
	if q.Free {
		items = map[string]any{"type": "string"}
	}
	many := q.Many && len(labels) > 0
	switch {
	case many:
		asked.Schema = rawOf(map[string]any{"type": "array", "minItems": 1, "uniqueItems": true, "items": items})
	case len(labels) > 0 && !q.Free:
		asked.Options = labels
	}
	answer, err := w.put(ctx, asked)
	if err != nil {
		return tool.Answer{}, err
	}
	if answer.Denied || answer.Expired {
		return tool.Answer{}, &tool.Failed{What: told("the person did not answer", answer), Next: "go on without it, or end with what you need to know"}
	}
	var words []string
	if many {
		err = w.value(answer, &words)
	} else {
		words = make([]string, 1)
		err = w.value(answer, &words[0])
	}
	out := tool.Answer{By: answer.By}
	for _, word := range words {
		if slices.Contains(labels, word) {
			out.Chosen = append(out.Chosen, word)
			continue
		}
		out.Text = strings.TrimSpace(out.Text + "\n" + word)
	}
	return out, err
}

func rawOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil // not reached: plain values always encode
	}
	return raw
}
