package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// AgentParams are the params of a visit of kind "agent" that a script starts.
type AgentParams struct {
	Prompt    string          `json:"prompt"`
	Agent     string          `json:"agent,omitempty"` // a named agent
	Model     string          `json:"model,omitempty"`
	Effort    string          `json:"effort,omitempty"` // low, medium, high, xhigh, max
	Schema    json.RawMessage `json:"schema,omitempty"` // JSON Schema of the result; absent: text
	Isolation string          `json:"isolation,omitempty"`
	TimeoutMs int64           `json:"timeoutMs,omitempty"`
	Tools     []string        `json:"tools,omitempty"` // nil: all that the agent may use
	Limits    json.RawMessage `json:"limits,omitempty"`
	Workspace string          `json:"workspace,omitempty"`
}

// agentOptions are the second argument of agent().
type agentOptions struct {
	Label     string          `json:"label"`
	Phase     string          `json:"phase"`
	Schema    json.RawMessage `json:"schema"`
	Model     string          `json:"model"`
	Effort    string          `json:"effort"`
	AgentType string          `json:"agentType"`
	Isolation string          `json:"isolation"`
	Timeout   json.RawMessage `json:"timeout"`
	Tools     []string        `json:"tools"`
	Limits    json.RawMessage `json:"limits"`
	Workspace string          `json:"workspace"`
	Optional  bool            `json:"optional"`
}

var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// request is a call that a script made, after its options were read.
type request struct {
	params   any
	label    string
	phase    string
	optional bool
}

func invalid(format string, args ...any) error {
	return thrown("TypeError", workflow.CodeInvalidArguments, fmt.Sprintf(format, args...))
}

// readRequest reads the payload of a call.
func (p *program) readRequest(kind string, payload json.RawMessage) (request, error) {
	switch kind {
	case kindAgent:
		return p.readAgent(payload)
	case kindQuestion:
		return readQuestion(payload)
	case kindShell:
		return readShell(payload)
	case kindVerify:
		return readVerify(payload)
	case kindArtifact:
		return readArtifact(payload)
	}
	return readChild(payload)
}

// into reads options strictly; names are those of the members, for hints.
func into(what string, raw json.RawMessage, to any, names ...string) error {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	if raw[0] != '{' {
		return invalid("the options of %s must be an object", what)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return invalid("the options of %s: %v", what, err)
	}
	for name := range members {
		if !slices.Contains(names, name) {
			return unknownOption(what, members, names)
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(to); err != nil && !errors.Is(err, io.EOF) {
		var t *json.UnmarshalTypeError
		if errors.As(err, &t) {
			return invalid("%s: the option %s must not be a %s", what, t.Field, t.Value)
		}
		return invalid("the options of %s: %v", what, err)
	}
	return nil
}

func unknownOption(what string, members map[string]json.RawMessage, names []string) error {
	var unknown []string
	for name := range members {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	if near := text.Nearest(unknown[0], names); near != "" {
		return invalid("%s has no option %q; did you mean %q?", what, unknown[0], near)
	}
	return invalid("%s has no option %q; it has: %s", what, unknown[0], strings.Join(names, ", "))
}

func (p *program) readAgent(payload json.RawMessage) (request, error) {
	var in struct {
		Prompt json.RawMessage `json:"prompt"`
		Opts   json.RawMessage `json:"opts"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return request{}, invalid("agent(): %v", err)
	}
	var a AgentParams
	if err := json.Unmarshal(in.Prompt, &a.Prompt); err != nil || strings.TrimSpace(a.Prompt) == "" {
		return request{}, invalid("agent() takes a prompt: a text that is not empty")
	}
	var o agentOptions
	if err := into("agent()", in.Opts, &o, "label", "phase", "schema", "model", "effort", "agentType", "isolation", "timeout", "tools", "limits", "workspace", "optional"); err != nil {
		return request{}, err
	}
	a.Agent, a.Model, a.Effort, a.Isolation, a.Tools, a.Workspace = o.AgentType, o.Model, o.Effort, o.Isolation, o.Tools, o.Workspace
	switch {
	case a.Effort != "" && !slices.Contains(efforts, a.Effort):
		return request{}, invalid("agent(): the option effort is one of %s, not %q", strings.Join(efforts, ", "), a.Effort)
	case a.Isolation != "" && a.Isolation != "worktree":
		return request{}, invalid(`agent(): the option isolation is "worktree", not %q`, a.Isolation)
	}
	if limits := o.Limits; limits != nil && string(limits) != "null" {
		if limits[0] != '{' {
			return request{}, invalid("agent(): the option limits must be an object")
		}
		a.Limits = limits
	}
	var err error
	if a.TimeoutMs, err = millis("agent()", o.Timeout); err != nil {
		return request{}, err
	}
	if a.Schema, err = p.answerSchema(o.Schema); err != nil {
		return request{}, err
	}
	return request{params: a, label: o.Label, phase: o.Phase, optional: o.Optional}, nil
}

// answerSchema judges the schema of an answer once.
func (p *program) answerSchema(raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	if verdict, ok := p.schemas[string(raw)]; ok {
		return raw, verdict
	}
	verdict := judgeSchema(raw)
	p.schemas[string(raw)] = verdict
	return raw, verdict
}

func judgeSchema(raw json.RawMessage) error {
	var root struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	if raw[0] != '{' {
		return invalid("agent(): the option schema must be a JSON Schema object")
	}
	if _, err := schema.Compile(raw); err != nil {
		return invalid("agent(): the option schema is not a JSON Schema: %v", err)
	}
	if err := json.Unmarshal(raw, &root); err != nil {
		return invalid("agent(): the option schema: %v", err)
	}
	if string(root.Type) != `"object"` {
		return invalid(`agent(): the root of the option schema must be {type: "object"}; wrap other values in a property`)
	}
	if string(root.Additional) == "false" {
		for _, name := range root.Required {
			if _, ok := root.Properties[name]; !ok {
				return invalid("agent(): no value can fit the option schema: %q is required and not allowed", name)
			}
		}
	}
	return nil
}

// millis reads a duration: milliseconds, or a text such as "15m".
func millis(what string, raw json.RawMessage) (int64, error) {
	if raw == nil || string(raw) == "null" {
		return 0, nil
	}
	var n float64
	if json.Unmarshal(raw, &n) == nil && n >= 1 && n <= 1e12 {
		return int64(n), nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if d, err := time.ParseDuration(s); err == nil && d >= time.Millisecond {
			return d.Milliseconds(), nil
		}
	}
	return 0, invalid(`%s: the option timeout is milliseconds or a text such as "15m", not %s`, what, raw)
}

func readQuestion(payload json.RawMessage) (request, error) {
	var in struct {
		Question json.RawMessage `json:"question"`
		Opts     json.RawMessage `json:"opts"`
	}
	var q struct {
		Text    string          `json:"text"`
		Schema  json.RawMessage `json:"schema,omitempty"`
		Options []string        `json:"options,omitempty"`
		Timeout string          `json:"timeout,omitempty"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return request{}, invalid("ask(): %v", err)
	}
	if err := into("ask()", in.Opts, &q, "schema", "options", "timeout"); err != nil {
		return request{}, err
	}
	if err := json.Unmarshal(in.Question, &q.Text); err != nil || strings.TrimSpace(q.Text) == "" {
		return request{}, invalid("ask() takes a question: a text that is not empty")
	}
	if len(q.Schema) > 0 {
		if _, err := schema.Compile(q.Schema); err != nil {
			return request{}, invalid("ask(): the option schema is not a JSON Schema: %v", err)
		}
		if len(q.Options) > 0 {
			return request{}, invalid("ask() takes schema or options, not both")
		}
	}
	return request{params: q, label: short(q.Text)}, nil
}

func readShell(payload json.RawMessage) (request, error) {
	var in struct {
		Argv json.RawMessage `json:"argv"`
		Opts json.RawMessage `json:"opts"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return request{}, invalid("shell(): %v", err)
	}
	var o struct {
		Cwd     string            `json:"cwd"`
		Timeout json.RawMessage   `json:"timeout"`
		Env     map[string]string `json:"env"`
		Stdin   string            `json:"stdin"`
		Effect  string            `json:"effect"`
	}
	if err := into("shell()", in.Opts, &o, "cwd", "timeout", "env", "stdin", "effect"); err != nil {
		return request{}, err
	}
	s := struct {
		Argv      []string          `json:"argv"`
		Cwd       string            `json:"cwd,omitempty"`
		Env       map[string]string `json:"env,omitempty"`
		Stdin     string            `json:"stdin,omitempty"`
		Effect    string            `json:"effect,omitempty"`
		TimeoutMs int64             `json:"timeoutMs,omitempty"`
		Evidence  bool              `json:"evidence"`
	}{Cwd: o.Cwd, Env: o.Env, Stdin: o.Stdin, Effect: o.Effect, Evidence: true}
	if err := json.Unmarshal(in.Argv, &s.Argv); err != nil || len(s.Argv) == 0 || s.Argv[0] == "" {
		return request{}, invalid(`shell() takes a list of texts, the command and its arguments, such as ["npm", "test"]`)
	}
	var err error
	if s.TimeoutMs, err = millis("shell()", o.Timeout); err != nil {
		return request{}, err
	}
	if s.Effect != "" && s.Effect != string(workflow.EffectRead) && s.Effect != string(workflow.EffectWrite) {
		return request{}, invalid(`shell(): the option effect is "read" or "write"`)
	}
	return request{params: s, label: short(strings.Join(s.Argv, " "))}, nil
}

func readVerify(payload json.RawMessage) (request, error) {
	var in struct {
		Checks json.RawMessage `json:"checks"`
		Opts   json.RawMessage `json:"opts"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return request{}, invalid("verify(): %v", err)
	}
	if err := into("verify()", in.Opts, &struct{}{}); err != nil {
		return request{}, err
	}
	switch {
	case in.Checks == nil || string(in.Checks) == `"configured"`:
		return request{params: map[string]string{"commands": "configured"}, label: "configured"}, nil
	case in.Checks[0] == '[' && len(in.Checks) > 2:
		return request{params: map[string]json.RawMessage{"checks": in.Checks}}, nil
	}
	return request{}, invalid(`verify() takes "configured" or a list of checks`)
}

func readArtifact(payload json.RawMessage) (request, error) {
	var in struct {
		ID   json.RawMessage `json:"id"`
		Opts json.RawMessage `json:"opts"`
	}
	var a struct {
		ID         string          `json:"id"`
		Title      string          `json:"title,omitempty"`
		Mime       string          `json:"mime,omitempty"`
		Language   string          `json:"language,omitempty"`
		Content    json.RawMessage `json:"content"`
		Collection string          `json:"collection,omitempty"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return request{}, invalid("artifact(): %v", err)
	}
	if err := into("artifact()", in.Opts, &a, "title", "mime", "language", "content", "collection"); err != nil {
		return request{}, err
	}
	if err := json.Unmarshal(in.ID, &a.ID); err != nil || a.ID == "" {
		return request{}, invalid("artifact() takes an id: a text that is not empty")
	}
	if a.Content == nil {
		return request{}, invalid("artifact(%q): the option content is missing", a.ID)
	}
	return request{params: a, label: a.ID}, nil
}

// childParams are those of a run of another workflow.
type childParams struct {
	Name   string          `json:"name"`
	Inputs json.RawMessage `json:"inputs,omitempty"`
}

func readChild(payload json.RawMessage) (request, error) {
	var in struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return request{}, invalid("workflow(): %v", err)
	}
	if in.Args == nil {
		in.Args = json.RawMessage("{}")
	}
	return request{params: childParams{in.Name, in.Args}, label: in.Name}, nil
}

// short bounds a text that is shown.
func short(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 80 {
		s = string(r[:79]) + "…"
	}
	return s
}
