package gemini

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/tenonrun/tenon/provider"
)

func (p *Provider) config(req provider.Request) (*genai.GenerateContentConfig, error) {
	out := &genai.GenerateContentConfig{
		MaxOutputTokens: int32(min(p.cfg.OutputLimit(req), 1<<30)),
		StopSequences:   req.Stop,
		ThinkingConfig:  thinking(req.Model, req.Effort),
	}
	if req.System != "" {
		out.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: req.System}}}
	}
	if len(req.Schema) > 0 {
		schema, err := provider.Object(req.Schema)
		if err != nil {
			return nil, err
		}
		out.ResponseMIMEType, out.ResponseJsonSchema = "application/json", schema
	}
	if len(req.Tools) == 0 {
		return out, nil
	}
	tool := &genai.Tool{}
	for _, t := range req.Tools {
		f := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if len(t.Schema) > 0 {
			schema, err := provider.Object(t.Schema)
			if err != nil {
				return nil, err
			}
			f.ParametersJsonSchema = schema
		}
		tool.FunctionDeclarations = append(tool.FunctionDeclarations, f)
	}
	out.Tools = []*genai.Tool{tool}
	out.ToolConfig = choice(req.ToolChoice)
	return out, nil
}

// thinking maps an effort: a level for current models, a budget of tokens for
// those of generation 2.
func thinking(model, effort string) *genai.ThinkingConfig {
	if effort == "" {
		return nil
	}
	t := &genai.ThinkingConfig{IncludeThoughts: true}
	budget, known := map[string]int32{"minimal": 512, "low": 2048, "medium": 8192, "high": 24576}[effort]
	if strings.Contains(model, "gemini-2") && known {
		t.ThinkingBudget = &budget
	} else {
		t.ThinkingLevel = genai.ThinkingLevel(strings.ToUpper(effort))
	}
	return t
}

func choice(want string) *genai.ToolConfig {
	c := &genai.FunctionCallingConfig{}
	switch want {
	case "", provider.ChoiceAuto:
		return nil
	case provider.ChoiceNone:
		c.Mode = genai.FunctionCallingConfigModeNone
	case provider.ChoiceRequired:
		c.Mode = genai.FunctionCallingConfigModeAny
	default:
		c.Mode, c.AllowedFunctionNames = genai.FunctionCallingConfigModeAny, []string{want}
	}
	return &genai.ToolConfig{FunctionCallingConfig: c}
}

func contents(messages []provider.Message) []*genai.Content {
	var out []*genai.Content
	for _, m := range messages {
		c := &genai.Content{Role: genai.RoleUser}
		if m.Role == provider.RoleAssistant {
			c.Role = genai.RoleModel
		}
		for _, p := range m.Parts {
			if gp := content(p); gp != nil {
				c.Parts = append(c.Parts, gp)
			}
		}
		if len(c.Parts) > 0 {
			out = append(out, c)
		}
	}
	return out
}

func content(p provider.Part) *genai.Part {
	var out *genai.Part
	sig := signature(p)
	switch p.Kind {
	case provider.PartText:
		if p.Text != "" || sig != nil {
			out = &genai.Part{Text: p.Text}
		}
	case provider.PartReasoning:
		if sig != nil {
			out = &genai.Part{Text: p.Text, Thought: true}
		}
	case provider.PartToolUse:
		args, err := provider.Object(p.Arguments())
		if err != nil {
			args = map[string]any{}
		}
		out = &genai.Part{FunctionCall: &genai.FunctionCall{ID: p.ID, Name: p.Name, Args: args}}
	case provider.PartToolResult:
		key := "output"
		if p.IsError {
			key = "error"
		}
		out = &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: p.ID, Name: p.Name, Response: map[string]any{key: p.Text},
		}}
	}
	if out != nil {
		out.ThoughtSignature = sig
	}
	return out
}

func signature(p provider.Part) []byte {
	var s string
	if p.Wire != Wire || json.Unmarshal(p.State, &s) != nil {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}
