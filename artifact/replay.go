package artifact

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/workflow"
)

// WriteTool is the name of the tool with which an agent writes an artifact.
const WriteTool = "artifact_write"

// Message is what a transcript says that matters for artifacts: a turn of an
// agent with calls, or the answer to one.
type Message struct {
	Role      string     `json:"role"` // "assistant" or "tool"
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	CallID    string     `json:"callId,omitempty"`  // of an answer
	IsError   bool       `json:"isError,omitempty"` // of an answer
}

// ToolCall is one call of an agent.
type ToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// DecodeWrite reads the arguments of WriteTool. Members that are not known are
// dropped. The error has workflow.CodeInvalidArtifact.
func DecodeWrite(args []byte) (Draft, error) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(args, &members)
	d := decoder{members: members}
	out := Draft{
		ID: d.text("id", true), Title: d.text("title", true), Mime: d.text("mime", true),
		Content: d.text("content", true), Language: d.text("language", false),
	}
	if err == nil {
		err = d.err
	}
	if err != nil {
		return Draft{}, workflow.Errorf(workflow.CodeInvalidArtifact, "reading the arguments of %s: %w", WriteTool, err)
	}
	return out, nil
}

// Rehydrate writes the artifacts of a transcript into a collection that is empty,
// in the order of the calls, and returns how many writes it made. A call that
// failed, that has no answer, or whose arguments make no sense is left out; what
// a person wrote is not in a transcript. A collection that holds or held
// something is left alone: its log knows more, and both together would double it.
func Rehydrate(ctx context.Context, to Collection, transcript []Message) (int, error) {
	for _, err := range to.Export(ctx) {
		if err != nil {
			return 0, fmt.Errorf("reading a transcript: %w", err)
		}
		return 0, nil
	}
	fine := map[string]bool{}
	for _, m := range transcript {
		if m.Role == "tool" {
			fine[m.CallID] = !m.IsError
		}
	}
	written := 0
	for _, m := range transcript {
		for _, c := range m.ToolCalls {
			if c.Name != WriteTool || !fine[c.ID] {
				continue
			}
			d, err := DecodeWrite(c.Args)
			if err == nil {
				_, err = to.Put(ctx, d)
			}
			switch workflow.CodeOf(err) {
			case "":
				written++
			case workflow.CodeInvalidArtifact, workflow.CodeInvalidArtifactID, workflow.CodeArtifactTooLarge:
			default:
				return written, fmt.Errorf("reading a transcript: %w", err)
			}
		}
	}
	return written, nil
}
