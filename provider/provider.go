package provider

import (
	"context"
	"encoding/json"
)

// DefaultMaxOutputTokens bounds an answer when neither the request nor the
// provider's configuration says a limit. Adapters always send a limit, so that
// the most a call can cost is known before it starts.
const DefaultMaxOutputTokens = 8192

// Provider carries out model turns at one endpoint of one vendor.
// Implementations are safe for concurrent use.
type Provider interface {
	// Name is the configured name of the provider, as definitions use it.
	Name() string
	// Stream carries out exactly one model turn and returns when it has ended.
	// It never retries. emit, if not nil, is called from the calling goroutine
	// with each piece as it arrives and not after Stream has returned. When ctx
	// ends, the HTTP request ends at once. A failure is always an [*Error]; the
	// response returned with it is empty (what is known is in the error).
	Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error)
}

// Capable is implemented by providers that say what they can do. A caller that
// meets a provider without it knows nothing about its capabilities.
type Capable interface {
	// Capabilities describes the provider when it runs the model. Model may be
	// empty; the answer then holds for the provider in general.
	Capabilities(model string) Capabilities
}

// Priced is implemented by providers that know, before a call is made, the most
// that it can cost. What it did cost they tell in [Usage.CostUSD].
type Priced interface {
	// MaxCost returns the bound for a request of so many bytes, also when it is
	// repeated; ok is false when it is not known.
	MaxCost(req Request, bytes int) (c MaxCost, ok bool)
}

// MaxCost is the most that a turn can cost, in US dollars.
type MaxCost struct {
	Sent  float64 // for what is sent
	Token float64 // for each token of the answer
}

// Capabilities says which wishes of a [Request] the provider honours. A wish
// that it does not honour is left out of what is sent, without an error.
type Capabilities struct {
	Effort    bool     `json:"effort"`              // Request.Effort is sent
	Efforts   []string `json:"efforts,omitempty"`   // the efforts the wire knows, weakest first
	Schema    bool     `json:"schema"`              // Request.Schema is sent
	Tools     bool     `json:"tools"`               // Request.Tools are sent
	Stop      bool     `json:"stop"`                // Request.Stop is sent
	Reasoning bool     `json:"reasoning,omitempty"` // reasoning deltas may come
}

// Request is one model turn: the whole conversation so far and what may be
// said next. Adapters do not keep or change it.
type Request struct {
	Model    string     `json:"model"`
	System   string     `json:"system,omitempty"`
	Messages []Message  `json:"messages"`
	Tools    []ToolSpec `json:"tools,omitempty"`
	// ToolChoice is empty or one of the Choice constants, or the name of the
	// one tool that must be called.
	ToolChoice string `json:"toolChoice,omitempty"`
	// Schema is a JSON Schema that the answer's text should fit. It is a wish:
	// the caller validates the answer.
	Schema json.RawMessage `json:"schema,omitempty"`
	// MaxOutputTokens bounds the answer, reasoning included. 0 takes the
	// provider's configured limit, else [DefaultMaxOutputTokens].
	MaxOutputTokens int `json:"maxOutputTokens,omitempty"`
	// Effort is the vendor's own word for how much to reason ("low", "high").
	// Empty leaves it to the model. See [Capabilities.Efforts].
	Effort string   `json:"effort,omitempty"`
	Stop   []string `json:"stop,omitempty"`
	// Cache says that the same beginning will be sent again soon, so that
	// vendors which cache only on request should do it.
	Cache bool `json:"cache,omitempty"`
	// Metadata are the host's labels of the call (see the Meta constants). They
	// are never sent to a vendor; the scripted provider matches on them.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Values of Request.ToolChoice besides a tool's name.
const (
	ChoiceAuto     = "auto"     // the model decides; same as empty
	ChoiceNone     = "none"     // no tool may be called
	ChoiceRequired = "required" // some tool must be called
)

// Keys of Request.Metadata that have a meaning.
const (
	MetaNode    = "node"    // label or path of the node that asks
	MetaCommand = "command" // id of the native command the prompt stands for
	MetaSpace   = "space"   // absolute directory of the agent's own workspace, where it has one
	MetaAttempt = "attempt" // ordinal of this physical try, from "1", the same after a resume
)

// ToolSpec describes a tool that the model may call.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of the input; nil means no parameters
}

// Role says who speaks in a [Message].
type Role string

// The roles. The system prompt is not a message: see [Request.System].
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // results of tools, one or more parts of kind tool_result
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// UserText is a user message of one text part.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Kind: PartText, Text: text}}}
}

// PartKind says what a [Part] holds.
type PartKind string

// The kinds of parts.
const (
	PartText       PartKind = "text"        // Text
	PartReasoning  PartKind = "reasoning"   // Text (a readable summary, may be empty) and State
	PartToolUse    PartKind = "tool_use"    // ID, Name, Input or RawInput
	PartToolResult PartKind = "tool_result" // ID, Name, Text, IsError
)

// Part is one piece of a message.
type Part struct {
	Kind PartKind `json:"kind"`
	Text string   `json:"text,omitempty"`
	// ID of a tool call, the same in its use and its result. Never empty in a
	// response: where the vendor gives none, the adapter makes one that is
	// unique in the turn.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"` // tool's name, in use and result
	// Input is the valid JSON object with which the model called the tool.
	Input json.RawMessage `json:"input,omitempty"`
	// RawInput is the text the model wrote in place of a JSON object. Input is
	// nil then and Invalid is true.
	RawInput string `json:"rawInput,omitempty"`
	Invalid  bool   `json:"invalid,omitempty"`
	IsError  bool   `json:"isError,omitempty"` // the tool failed
	// State is what the vendor needs to see again, unread by anyone else
	// (signatures, encrypted reasoning). Wire names the protocol that wrote it;
	// other protocols leave the state out, and with it a reasoning part.
	State json.RawMessage `json:"state,omitempty"`
	Wire  string          `json:"wire,omitempty"`
}

// Arguments returns the input of a tool use as a JSON object, as vendors want
// it back: Input, or the raw text under the one member "invalid_json".
func (p Part) Arguments() json.RawMessage {
	if p.Input != nil && !p.Invalid {
		return p.Input
	}
	if p.RawInput == "" {
		return json.RawMessage("{}")
	}
	b, _ := json.Marshal(map[string]string{"invalid_json": p.RawInput}) // a map of strings always encodes
	return b
}

// ResultText returns the text of a tool result for protocols that have no mark
// for a failed tool.
func (p Part) ResultText() string {
	if p.IsError {
		return "error: " + p.Text
	}
	return p.Text
}

// StopReason says why the model stopped.
type StopReason string

// The stop reasons. A vendor's reason that is none of them is other; the
// vendor's own word is in [Response.StopDetail].
const (
	StopEnd       StopReason = "end"        // finished, or met a stop sequence
	StopToolUse   StopReason = "tool_use"   // wants results of its tool calls
	StopMaxTokens StopReason = "max_tokens" // cut off by the output limit
	StopRefusal   StopReason = "refusal"    // refused or filtered; Parts may hold what was said
	StopOther     StopReason = "other"
)

// Response is one finished model turn.
type Response struct {
	Parts      []Part     `json:"parts"`
	Stop       StopReason `json:"stop"`
	StopDetail string     `json:"stopDetail,omitempty"` // vendor's word, and its explanation of a refusal
	Usage      Usage      `json:"usage"`
	Model      string     `json:"model,omitempty"` // the model that really answered, as the vendor names it
	ID         string     `json:"id,omitempty"`    // vendor's id of the answer
	RequestID  string     `json:"requestId,omitempty"`
	// Files are changes to a work tree that come with an answer of the scripted
	// provider. No other provider fills it, and no provider writes them.
	Files []File `json:"files,omitempty"`
}

// File is one change that a scripted answer asks its executor to make.
type File struct {
	Path    string `json:"path"` // relative to the work tree, with slashes
	Content string `json:"content,omitempty"`
	Delete  bool   `json:"delete,omitempty"`
}

// DeltaKind says what a [Delta] brings.
type DeltaKind string

// The kinds of deltas.
const (
	DeltaText      DeltaKind = "text"
	DeltaReasoning DeltaKind = "reasoning"
	DeltaToolUse   DeltaKind = "tool_use"   // a tool call begins: ID, Name
	DeltaToolInput DeltaKind = "tool_input" // a piece of its input: ID, Text
)

// Delta is a piece of an answer as it arrives. Deltas are for display: the
// answer that counts is the [Response].
type Delta struct {
	Kind DeltaKind `json:"kind"`
	Text string    `json:"text,omitempty"`
	ID   string    `json:"id,omitempty"`
	Name string    `json:"name,omitempty"`
}

// Text returns the concatenated text parts.
func (r Response) Text() string { return textOf(r.Parts) }

// Text returns the concatenated text parts.
func (m Message) Text() string { return textOf(m.Parts) }

func textOf(parts []Part) string {
	var s string
	for _, p := range parts {
		if p.Kind == PartText {
			s += p.Text
		}
	}
	return s
}

// ToolUses returns the parts that call a tool, in order.
func (r Response) ToolUses() []Part {
	var uses []Part
	for _, p := range r.Parts {
		if p.Kind == PartToolUse {
			uses = append(uses, p)
		}
	}
	return uses
}

// Message returns the response as the assistant message to send next time.
func (r Response) Message() Message {
	return Message{Role: RoleAssistant, Parts: r.Parts}
}
