package gemini

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tenonrun/tenon/provider"
)

// content is one message, in requests and in answers.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part holds one of text, call and result.
type part struct {
	Text         *string           `json:"text,omitempty"`
	Thought      bool              `json:"thought,omitempty"`
	Signature    string            `json:"thoughtSignature,omitempty"`
	FunctionCall *functionCall     `json:"functionCall,omitempty"`
	Result       *functionResponse `json:"functionResponse,omitempty"`
}

// functionCall keeps the text of its arguments: the order of the members and
// the digits of the numbers are the model's.
type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name"`
	Response any    `json:"response"` // an object
}

// call is the body of a request.
type call struct {
	Contents   []content        `json:"contents"`
	System     *content         `json:"systemInstruction,omitempty"`
	Generation generationConfig `json:"generationConfig"`
	Tools      []tool           `json:"tools,omitempty"`
	Choice     *toolConfig      `json:"toolConfig,omitempty"`
}

type generationConfig struct {
	MaxOutputTokens int             `json:"maxOutputTokens"`
	StopSequences   []string        `json:"stopSequences,omitempty"`
	MIMEType        string          `json:"responseMimeType,omitempty"`
	Schema          json.RawMessage `json:"responseJsonSchema,omitempty"`
	Thinking        *thinkingConfig `json:"thinkingConfig,omitempty"`
}

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	Budget          int    `json:"thinkingBudget,omitempty"` // tokens
	Level           string `json:"thinkingLevel,omitempty"`
}

type tool struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type toolConfig struct {
	Calling struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames,omitempty"`
	} `json:"functionCallingConfig"`
}

// body encodes a request.
func (p *Provider) body(req provider.Request) ([]byte, error) {
	c := call{Contents: contents(req.Messages), Generation: generationConfig{
		MaxOutputTokens: min(p.cfg.OutputLimit(req), 1<<30),
		StopSequences:   req.Stop,
		Thinking:        thinking(req.Model, req.Effort),
	}}
	if req.System != "" {
		c.System = &content{Parts: []part{{Text: &req.System}}}
	}
	if len(req.Schema) > 0 {
		if _, err := provider.Object(req.Schema); err != nil {
			return nil, err
		}
		c.Generation.MIMEType, c.Generation.Schema = "application/json", req.Schema
	}
	if len(req.Tools) > 0 {
		functions, err := functions(req.Tools)
		if err != nil {
			return nil, err
		}
		c.Tools, c.Choice = []tool{{functions}}, choice(req.ToolChoice)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // schemas and arguments go as they are
	err := e.Encode(c)
	return out.Bytes(), err
}

func functions(specs []provider.ToolSpec) ([]function, error) {
	out := make([]function, len(specs))
	for i, t := range specs {
		if _, err := provider.Object(t.Schema); err != nil {
			return nil, err
		}
		out[i] = function{Name: t.Name, Description: t.Description, Schema: t.Schema}
	}
	return out, nil
}

// thinking maps an effort: a level for current models, a budget of tokens for
// those of generation 2.
func thinking(model, effort string) *thinkingConfig {
	if effort == "" {
		return nil
	}
	budget, known := map[string]int{"minimal": 512, "low": 2048, "medium": 8192, "high": 24576}[effort]
	if strings.Contains(model, "gemini-2") && known {
		return &thinkingConfig{IncludeThoughts: true, Budget: budget}
	}
	return &thinkingConfig{IncludeThoughts: true, Level: strings.ToUpper(effort)}
}

func choice(want string) *toolConfig {
	c := &toolConfig{}
	switch want {
	case "", provider.ChoiceAuto:
		return nil
	case provider.ChoiceNone:
		c.Calling.Mode = "NONE"
	case provider.ChoiceRequired:
		c.Calling.Mode = "ANY"
	default:
		c.Calling.Mode, c.Calling.Allowed = "ANY", []string{want}
	}
	return c
}

// contents leaves out what the vendor refuses: empty texts and empty messages.
func contents(messages []provider.Message) []content {
	var out []content
	for _, m := range messages {
		c := content{Role: "user"}
		if m.Role == provider.RoleAssistant {
			c.Role = "model"
		}
		for _, p := range m.Parts {
			if vp, ok := convert(p); ok {
				c.Parts = append(c.Parts, vp)
			}
		}
		if len(c.Parts) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// convert reports false for a part that is not sent.
func convert(p provider.Part) (part, bool) {
	out := part{Signature: signature(p)}
	switch p.Kind {
	case provider.PartText:
		out.Text = &p.Text
		return out, p.Text != "" || out.Signature != ""
	case provider.PartReasoning:
		out.Text, out.Thought = &p.Text, true
		return out, out.Signature != ""
	case provider.PartToolUse:
		args := p.Arguments()
		if _, err := provider.Object(args); err != nil {
			args = json.RawMessage("{}")
		}
		out.FunctionCall = &functionCall{ID: p.ID, Name: p.Name, Args: args}
		return out, true
	case provider.PartToolResult:
		key := "output"
		if p.IsError {
			key = "error"
		}
		out.Result = &functionResponse{ID: p.ID, Name: p.Name, Response: map[string]string{key: p.Text}}
		return out, true
	}
	return out, false
}

// signature returns the vendor's state of a part, which it wants back as it
// sent it.
func signature(p provider.Part) string {
	var s string
	if p.Wire != Wire || json.Unmarshal(p.State, &s) != nil {
		return ""
	}
	return s
}
