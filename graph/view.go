package graph

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

// defaultHistory is the bound of $history where nothing else is written.
const defaultHistory = 1500

// view reads a scope for expressions and templates.
type view struct {
	p *program
	s *scope
}

// Lookup finds a path below a root such as "vars".
func (w view) Lookup(root string, path []string) (any, bool, error) {
	root = strings.TrimPrefix(root, "$")
	if len(path) > 0 {
		switch root {
		case "vars":
			return w.value(w.s.vars, path)
		case "outputs":
			return w.value(w.s.outputs, path)
		case "attempts":
			return w.attempts(path)
		}
	}
	switch root {
	case "inputs":
		return w.walk(w.p.start.Inputs, path)
	case "item":
		return w.item(path)
	case "answers":
		return w.answer(path)
	case "history":
		return w.history(path)
	case "usage":
		return descend(w.p.usage(), path)
	case "candidate":
		return w.p.candidate, w.p.candidate != "" && len(path) == 0, nil
	case "verified":
		return w.verified(path)
	case "vars", "outputs", "attempts":
		return w.whole(root)
	}
	return nil, false, nil
}

func (w view) value(m map[string]workflow.Value, path []string) (any, bool, error) {
	v, ok := m[path[0]]
	if !ok {
		return nil, false, nil
	}
	return w.walk(v, path[1:])
}

func (w view) walk(v workflow.Value, path []string) (any, bool, error) {
	raw, err := v.Load(w.p.values)
	if err != nil || raw == nil {
		return nil, false, err
	}
	var val any
	if err := json.Unmarshal(raw, &val); err != nil {
		return nil, false, err
	}
	return descend(val, path)
}

func descend(val any, path []string) (any, bool, error) {
	val, ok := expr.Walk(val, path)
	return val, ok, nil
}

func splitPath(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

func (w view) attempts(path []string) (any, bool, error) {
	if len(path) != 1 || w.s.counts[path[0]] == 0 {
		return nil, false, nil
	}
	return float64(max(1, w.s.attempts[path[0]])), true, nil
}

// item reads index and value; other names are looked for inside the value.
func (w view) item(path []string) (any, bool, error) {
	it := w.s.item
	if it == nil {
		return nil, false, nil
	}
	if len(path) > 0 && path[0] == "index" {
		return float64(it.Index), len(path) == 1, nil
	}
	rest := path
	if len(path) > 0 && path[0] == "value" {
		rest = path[1:]
	}
	if len(path) == 0 {
		val, _, err := w.walk(it.Value, nil)
		return map[string]any{"index": float64(it.Index), "value": val}, true, err
	}
	return w.walk(it.Value, rest)
}

// answer reads the newest answer of a node or a question.
func (w view) answer(path []string) (any, bool, error) {
	if len(path) == 0 {
		out := []any{}
		for _, a := range w.s.answers {
			val, _, err := w.walk(a.Value, nil)
			if err != nil {
				return nil, false, err
			}
			out = append(out, map[string]any{"node": a.Node, "question": a.Question, "value": val})
		}
		return out, true, nil
	}
	for _, a := range slices.Backward(w.s.answers) {
		if a.Node == path[0] || a.Question == path[0] {
			return w.walk(a.Value, path[1:])
		}
	}
	return nil, false, nil
}

func (w view) history(path []string) (any, bool, error) {
	if len(path) == 1 && path[0] == "text" {
		return w.p.historyText(w.s), true, nil
	}
	out := make([]any, len(w.s.history))
	for i, h := range w.s.history {
		out[i] = map[string]any{"node": h.Node, "text": h.Text, "visit": string(h.Visit)}
	}
	return descend(out, path)
}

func (w view) verified(path []string) (any, bool, error) {
	if w.p.verified == nil {
		return nil, len(path) == 0, nil
	}
	return descend(map[string]any{"receiptId": w.p.verified.Receipt, "candidateHash": w.p.verified.Candidate}, path)
}

func (w view) whole(root string) (any, bool, error) {
	m := w.s.vars
	switch root {
	case "outputs":
		m = w.s.outputs
	case "attempts":
		out := map[string]any{}
		for name := range w.s.counts {
			out[name] = float64(max(1, w.s.attempts[name]))
		}
		return out, true, nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		val, _, err := w.walk(v, nil)
		if err != nil {
			return nil, false, err
		}
		out[k] = val
	}
	return out, true, nil
}

func (p *program) usage() map[string]any {
	t := p.totals
	return map[string]any{
		"calls": float64(t.Calls), "input": float64(t.Input), "output": float64(t.Output),
		"tokens": float64(t.Input + t.Output), "costUsd": t.CostUSD,
	}
}

// remember adds an entry to the history of a scope and drops the oldest ones
// until the bound holds for the text of what is left.
func (p *program) remember(s *scope, v *visit, text string) {
	most := p.start.Options.Policies.HistoryMaxChars
	if most == 0 {
		most = defaultHistory
	}
	e := entry{Visit: v.id, Node: v.node.name, Text: text}
	if over := utf8.RuneCountInString(e.String()) - most; over > 0 {
		runes := []rune(text)
		e.Text = string(runes[:max(0, len(runes)-over)])
	}
	s.history = append(s.history, e)
	size := -1 // there is a line break less than entries
	for i, h := range slices.Backward(s.history) {
		if size += utf8.RuneCountInString(h.String()) + 1; size > most {
			s.history = slices.Clone(s.history[i+1:])
			return
		}
	}
}

// String is an entry as a model is shown it.
func (e entry) String() string { return "[" + e.Node + "] " + e.Text }

func (p *program) historyText(s *scope) string {
	lines := make([]string, len(s.history))
	for i, h := range s.history {
		lines[i] = h.String()
	}
	return strings.Join(lines, "\n")
}
