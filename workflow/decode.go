package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
)

// DecodePayload reads the payload of an event of the type. Unknown members are
// ignored, so that an older binary reads what it understands; an unknown type is
// an error.
func DecodePayload(t EventType, raw []byte) (Payload, error) {
	make, ok := payloads[t]
	if !ok {
		return nil, fmt.Errorf("unknown event type %q: written by a newer tenon?", t)
	}
	if p := decodeFlat(t, raw); p != nil {
		return p, nil
	}
	p := make()
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("decoding event %s: %w", t, err)
	}
	return p, nil
}

// decodeFlat reads what AppendPayload writes without reflection, which are most
// of the events of a long history; nil for everything else.
func decodeFlat(t EventType, raw []byte) Payload {
	switch t {
	case TypeAdmitted:
		p := &Admitted{}
		if members(string(raw), p.word, p.flag) {
			return p
		}
	case TypeSettled:
		p := &Settled{}
		if members(string(raw), p.word, func(string) bool { return false }) {
			return p
		}
	}
	return nil
}

// members reads an object of plain texts and of flags that are set; false when it
// is another, or when a member is refused.
func members(text string, word func(name, value string) bool, flag func(name string) bool) bool {
	rest, ok := strings.CutPrefix(text, "{")
	if !ok || rest == "}" {
		return ok
	}
	for {
		var name, value string
		if name, rest, ok = plain(rest); !ok {
			return false
		}
		if rest, ok = strings.CutPrefix(rest, ":"); !ok {
			return false
		}
		if after, set := strings.CutPrefix(rest, "true"); set {
			rest, ok = after, flag(name)
		} else if value, rest, ok = plain(rest); ok {
			ok = word(name, value)
		}
		switch {
		case !ok || rest == "":
			return false
		case rest == "}":
			return true
		case rest[0] != ',':
			return false
		}
		rest = rest[1:]
	}
}

// plain takes a quoted text off the front that stands for itself.
func plain(text string) (value, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", text, false
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return text[1:i], text[i+1:], true
		case c < ' ' || c > '~' || c == '\\':
			return "", text, false
		}
	}
	return "", text, false
}

func (a *Admitted) word(name, value string) bool {
	switch name {
	case "kind":
		a.Kind = value
	case "effect":
		a.Effect = Effect(value)
	case "provider":
		a.Provider = value
	case "params":
		a.Params = Digest(value)
	case "label":
		a.Label = value
	case "group":
		a.Group = value
	default:
		return false
	}
	return true
}

func (a *Admitted) flag(name string) bool {
	switch name {
	case "ai":
		a.AI = true
	case "self":
		a.Self = true
	case "uncertain":
		a.Uncertain = true
	case "unlimited":
		a.Unlimited = true
	case "continued":
		a.Continued = true
	default:
		return false
	}
	return true
}

func (s *Settled) word(name, value string) bool {
	switch name {
	case "outcome":
		s.Outcome = value
	case "status":
		s.Status = value
	case "history":
		s.History = value
	case "candidate":
		s.Candidate = value
	case "unproven":
		s.Unproven = Code(value)
	default:
		return false
	}
	return true
}
