package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider/wire"
)

// Assembly puts an answer together from the pieces that arrive, and passes
// them on as deltas. Adapters fill the other fields of Response themselves.
type Assembly struct {
	Response Response

	cfg    Config
	emit   func(Delta)
	prefix string
	blocks []*block
}

type block struct {
	key   string
	part  Part
	text  strings.Builder
	input strings.Builder
}

// Assemble starts an answer to a request. Emit may be nil.
func Assemble(cfg Config, req Request, emit func(Delta)) *Assembly {
	turn := 1
	for _, m := range req.Messages {
		if m.Role == RoleAssistant {
			turn++
		}
	}
	if emit == nil {
		emit = func(Delta) {}
	}
	return &Assembly{cfg: cfg, emit: emit, prefix: fmt.Sprintf("call-%d-", turn)}
}

// at returns the block of a key and kind, made if there is none. With an empty
// key it is the last block, if that has the kind.
func (a *Assembly) at(key string, kind PartKind) *block {
	if n := len(a.blocks); key == "" && n > 0 && a.blocks[n-1].key == "" && a.blocks[n-1].part.Kind == kind {
		return a.blocks[n-1]
	}
	if key != "" {
		for _, b := range a.blocks {
			if b.key == key && b.part.Kind == kind {
				return b
			}
		}
	}
	b := &block{key: key, part: Part{Kind: kind}}
	a.blocks = append(a.blocks, b)
	return b
}

// Text adds answer text to the block of the key. Texts with an empty key that
// follow each other are one part.
func (a *Assembly) Text(key, s string) {
	if s == "" {
		return
	}
	a.at(key, PartText).text.WriteString(s)
	a.emit(Delta{Kind: DeltaText, Text: s})
}

// Reasoning adds readable reasoning to the block of the key.
func (a *Assembly) Reasoning(key, s string) {
	if s == "" {
		return
	}
	a.at(key, PartReasoning).text.WriteString(s)
	a.emit(Delta{Kind: DeltaReasoning, Text: s})
}

// State keeps what the vendor wants back, with the block of the key and kind.
func (a *Assembly) State(key string, kind PartKind, wireName string, state json.RawMessage) {
	b := a.at(key, kind)
	b.part.State, b.part.Wire = state, wireName
}

// ToolUse begins the tool call of the key, or completes its id and name.
func (a *Assembly) ToolUse(key, id, name string) {
	b := a.at(key, PartToolUse)
	began := b.part.Name == "" && name != ""
	if b.part.ID == "" {
		b.part.ID = id
	}
	if b.part.Name == "" {
		b.part.Name = name
	}
	if began {
		a.nameless(b)
		a.emit(Delta{Kind: DeltaToolUse, ID: b.part.ID, Name: name})
	}
}

func (a *Assembly) nameless(b *block) {
	if b.part.ID != "" {
		return
	}
	n := 0
	for _, o := range a.blocks {
		if o.part.Kind == PartToolUse {
			n++
		}
	}
	b.part.ID = fmt.Sprintf("%s%d", a.prefix, n)
}

// ToolInput adds to the JSON text of the input of the key's tool call.
func (a *Assembly) ToolInput(key, s string) {
	if s == "" {
		return
	}
	b := a.at(key, PartToolUse)
	b.input.WriteString(s)
	a.emit(Delta{Kind: DeltaToolInput, ID: b.part.ID, Text: s})
}

// SetToolInput replaces the input text, where the vendor sends it whole at the
// end; what was not streamed before is passed on.
func (a *Assembly) SetToolInput(key, s string) {
	b := a.at(key, PartToolUse)
	if b.input.Len() == 0 {
		a.ToolInput(key, s)
		return
	}
	b.input.Reset()
	b.input.WriteString(s)
}

// SetText replaces the text of a block, where the vendor sends it whole at the
// end; what was not streamed before is passed on.
func (a *Assembly) SetText(key, s string) {
	b := a.at(key, PartText)
	if b.text.Len() == 0 {
		a.Text(key, s)
		return
	}
	b.text.Reset()
	b.text.WriteString(s)
}

// Done returns the response with its parts.
func (a *Assembly) Done() Response {
	r := a.Response
	r.Parts = nil
	for _, b := range a.blocks {
		p := b.part
		p.Text = b.text.String()
		if p.Kind == PartText && p.Text == "" && p.State == nil {
			continue
		}
		if p.Kind == PartToolUse {
			a.nameless(b)
			p.ID = b.part.ID
			p.Input, p.RawInput = toolInput(b.input.String())
			p.Invalid = p.Input == nil
		}
		r.Parts = append(r.Parts, p)
	}
	return r
}

// toolInput tells a valid JSON object from anything else. No text at all is
// how vendors write a call without arguments.
func toolInput(s string) (json.RawMessage, string) {
	trimmed := strings.TrimSpace(s)
	if trimmed == "" {
		return json.RawMessage("{}"), ""
	}
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed), ""
	}
	return nil, s
}

// Fail returns the classified failure with what had been received before.
func (a *Assembly) Fail(x *wire.Exchange, err error) *Error {
	e := Classify(a.cfg, x, err)
	e.Usage = a.Response.Usage
	e.Partial = text.Tail(a.cfg.redact(textOf(a.Done().Parts)), maxPartial, "...")
	return e
}

// Incomplete is the cause for [Assembly.Fail] when a stream ends without its
// vendor's end mark.
func Incomplete(mark string) error {
	return &wire.BrokenError{What: "the stream ended without " + mark, Err: errEarly}
}

var errEarly = errors.New("it was cut")
