package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
)

// maxAnswer is the length of an answer that the model is shown, in code points.
const maxAnswer = 20_000

// option is an option of a question, which a model may send as plain text.
type option tool.Option

// UnmarshalJSON implements json.Unmarshaler.
func (o *option) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &o.Label)
	}
	return json.Unmarshal(raw, (*tool.Option)(o))
}

type askArgs struct {
	Question string   `json:"question"`
	Options  []option `json:"options"`
	Free     bool     `json:"free"`
	Many     bool     `json:"many"`
}

func ask(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := take[askArgs](c)
	if err != nil {
		return tool.Result{}, err
	}
	q, err := args.ask(c.Tool)
	if err != nil {
		return tool.Result{}, err
	}
	if c.Host.Ask == nil {
		return tool.Result{}, &tool.Failed{What: "nobody can be asked in this run", Next: "decide yourself and say what you assumed, or end with what you need to know"}
	}
	answer, err := c.Host.Ask(ctx, q)
	if err != nil {
		return tool.Result{}, err // the engine's own: the run may be parked
	}
	if err := fits(q, answer); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: answerText(answer), Data: data(answer)}, nil
}

// ask makes the question of a call.
func (a askArgs) ask(name string) (tool.Question, error) {
	q := tool.Question{Text: strings.TrimSpace(a.Question), Free: a.Free || len(a.Options) == 0, Many: a.Many && len(a.Options) > 0}
	bad := &tool.BadArguments{Tool: name}
	if q.Text == "" {
		bad.Problems = append(bad.Problems, "question is empty")
	}
	seen := map[string]bool{}
	for i, o := range a.Options {
		o.Label = strings.TrimSpace(o.Label)
		switch {
		case o.Label == "":
			bad.Problems = append(bad.Problems, fmt.Sprintf("options/%d: its label is empty", i))
		case seen[o.Label]:
			bad.Problems = append(bad.Problems, fmt.Sprintf("options/%d: the label %s is there twice", i, tool.Quote(o.Label)))
		}
		seen[o.Label] = true
		q.Options = append(q.Options, tool.Option(o))
	}
	if len(a.Options) == 1 && !a.Free {
		bad.Problems = append(bad.Problems, "there is one option only")
		bad.Next = "give two or more, or free: true"
	}
	if len(bad.Problems) > 0 {
		return q, bad
	}
	return q, nil
}

// fits makes sure that an answer is one to the question.
func fits(q tool.Question, a tool.Answer) error {
	known := map[string]bool{}
	for _, o := range q.Options {
		known[o.Label] = true
	}
	for _, label := range a.Chosen {
		if !known[label] {
			return fmt.Errorf("taking an answer: %s is none of the options; answer the question again", tool.Quote(label))
		}
	}
	switch {
	case len(a.Chosen) == 0 && strings.TrimSpace(a.Text) == "":
		return fmt.Errorf("taking an answer: it is empty; answer the question again")
	case len(a.Chosen) > 1 && !q.Many:
		return fmt.Errorf("taking an answer: %d options are chosen and one is asked for; answer the question again", len(a.Chosen))
	case len(a.Chosen) == 0 && !q.Free:
		return fmt.Errorf("taking an answer: it must be one of the options; answer the question again")
	}
	return nil
}

func answerText(a tool.Answer) string {
	var b strings.Builder
	if len(a.Chosen) > 0 {
		b.WriteString("The person chose: " + strings.Join(a.Chosen, "; "))
	}
	if s := strings.TrimSpace(a.Text); s != "" {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("The person wrote: " + text.Head(text.Repair(s), maxAnswer, fmt.Sprintf(" [cut: the answer has %d characters]", len([]rune(s)))))
	}
	return b.String()
}
