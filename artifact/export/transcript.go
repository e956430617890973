package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// entry is a line of a transcript, of any of the programs that are known: our own
// form, lines of sessions whose message holds content blocks, and chats with
// tool_calls.
type entry struct {
	artifact.Message
	Nested     *entry          `json:"message"` // of a session
	Content    json.RawMessage `json:"content"` // a text or blocks
	Calls      []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Messages   []entry         `json:"messages"` // a whole transcript in one object
}

// chatCall is a call in a chat; the arguments are JSON in a string.
type chatCall struct {
	ID       string
	Function struct {
		Name      string
		Arguments string
	}
}

// block is a part of a content: a call, or the answer to one.
type block struct {
	Type      string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	IsError   bool   `json:"is_error"`
}

// MaxTranscript is the size in bytes of the largest transcript that is read.
const MaxTranscript = 1 << 30

// Transcript reads the calls of a transcript and the answers to them: a JSON array
// of messages, an object with messages, or one message a line. Messages and lines
// that say nothing about calls are left out, and so is a line that is cut off. The
// error has workflow.CodeInvalidArguments when there is no message at all.
func Transcript(r io.Reader) ([]artifact.Message, error) {
	in := bufio.NewReader(io.LimitReader(r, MaxTranscript))
	entries, err := entriesOf(in)
	if err != nil {
		return nil, fmt.Errorf("reading a transcript: %w", err)
	}
	if len(entries) == 0 {
		return nil, workflow.Errorf(workflow.CodeInvalidArguments, "reading a transcript: it holds no messages").
			WithHint("give a JSON array of messages, or one message a line")
	}
	var out []artifact.Message
	for i := range entries {
		out = append(out, entries[i].messages()...)
	}
	return out, nil
}

func entriesOf(in *bufio.Reader) (out []entry, err error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return nil, ended(err)
		}
		if bytes.IndexByte([]byte(" \t\r\n\xef\xbb\xbf"), c) >= 0 {
			continue
		}
		if err := in.UnreadByte(); err != nil {
			return nil, err
		}
		if c == '[' {
			err = json.NewDecoder(in).Decode(&out)
			return out, err
		}
		return entryLines(in)
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// entryLines reads one value after the other; a line that is none is left out.
func entryLines(in *bufio.Reader) (out []entry, err error) {
	whole, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var one entry
	if json.Unmarshal(whole, &one) == nil { // one object over many lines
		return []entry{one}, nil
	}
	for line := range bytes.SplitSeq(whole, []byte("\n")) {
		var e entry
		if json.Unmarshal(line, &e) == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// messages returns what an entry says about calls.
func (e *entry) messages() (out []artifact.Message) {
	if len(e.ToolCalls) > 0 || e.Role == "tool" && e.CallID != "" {
		out = append(out, e.Message)
	}
	if e.Role == "tool" && e.ToolCallID != "" {
		out = append(out, artifact.Message{Role: "tool", CallID: e.ToolCallID})
	}
	if len(e.Calls) > 0 {
		m := artifact.Message{Role: "assistant"}
		for _, c := range e.Calls {
			m.ToolCalls = append(m.ToolCalls, artifact.ToolCall{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
		}
		out = append(out, m)
	}
	var blocks []block
	if json.Unmarshal(e.Content, &blocks) == nil {
		out = append(out, ofBlocks(blocks)...)
	}
	if e.Nested != nil {
		out = append(out, e.Nested.messages()...)
	}
	for i := range e.Messages {
		out = append(out, e.Messages[i].messages()...)
	}
	return out
}

func ofBlocks(blocks []block) (out []artifact.Message) {
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			call := artifact.ToolCall{ID: b.ID, Name: b.Name, Args: b.Input}
			out = append(out, artifact.Message{Role: "assistant", ToolCalls: []artifact.ToolCall{call}})
		case "tool_result":
			out = append(out, artifact.Message{Role: "tool", CallID: b.ToolUseID, IsError: b.IsError})
		}
	}
	return out
}
