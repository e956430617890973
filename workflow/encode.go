package workflow

import (
	"encoding/json"
	"fmt"
)

// EncodePayload returns the JSON text of a payload; "{}" stands for nothing.
func EncodePayload(p Payload) (json.RawMessage, error) { return AppendPayload(nil, p) }

// AppendPayload appends to dst what EncodePayload returns. The facts that every
// visit leaves are written without reflection as long as they are plain.
func AppendPayload(dst []byte, p Payload) ([]byte, error) {
	f := flat{text: append(dst, '{')}
	switch p := p.(type) {
	case *Admitted:
		f.admitted(p)
	case *Settled:
		f.settled(p)
	default:
		f.odd = true
	}
	if !f.odd {
		return append(f.text, '}'), nil
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding event %s: %w", p.EventType(), err)
	}
	return append(dst, raw...), nil
}

// flat writes an object of short texts and flags, as encoding/json would.
type flat struct {
	text []byte
	odd  bool // there is something that it does not write
	some bool // a member is written
}

func (f *flat) admitted(p *Admitted) {
	f.odd = len(p.Limits)+len(p.Steered) > 0
	f.member("kind", p.Kind)
	f.word("effect", string(p.Effect))
	f.flag("ai", p.AI)
	f.word("provider", p.Provider)
	f.flag("self", p.Self)
	f.flag("uncertain", p.Uncertain)
	f.flag("unlimited", p.Unlimited)
	f.flag("continued", p.Continued)
	f.word("params", string(p.Params))
	f.word("label", p.Label)
	f.word("group", p.Group)
}

func (f *flat) settled(p *Settled) {
	f.odd = !p.Output.Absent() || !p.Private.Absent() || p.Session != nil || p.Verified != nil || p.Completion != nil || p.Error != nil || p.Made != nil ||
		len(p.Vars)+len(p.Answers)+len(p.Warnings) > 0
	f.word("outcome", p.Outcome)
	f.word("status", p.Status)
	f.word("history", p.History)
	f.word("candidate", p.Candidate)
	f.word("unproven", string(p.Unproven))
}

// word writes a text that is left out when it is empty.
func (f *flat) word(name, value string) {
	if value != "" {
		f.member(name, value)
	}
}

func (f *flat) member(name, value string) {
	f.name(name)
	f.text = append(f.text, '"')
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			f.odd = true // it is written in another way
			return
		}
	}
	f.text = append(append(f.text, value...), '"')
}

func (f *flat) flag(name string, set bool) {
	if set {
		f.name(name)
		f.text = append(f.text, "true"...)
	}
}

func (f *flat) name(name string) {
	if f.some {
		f.text = append(f.text, ',')
	}
	f.some = true
	f.text = append(append(append(f.text, '"'), name...), `":`...)
}
