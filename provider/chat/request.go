package chat

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tenonrun/tenon/provider"
)

func (p *Provider) params(req provider.Request) (openai.ChatCompletionNewParams, error) {
	out := openai.ChatCompletionNewParams{
		Model:           req.Model,
		ReasoningEffort: shared.ReasoningEffort(req.Effort),
		StreamOptions:   openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
		Stop:            openai.ChatCompletionNewParamsStopUnion{OfStringArray: req.Stop},
	}
	limit := openai.Int(int64(p.cfg.OutputLimit(req)))
	if newer(p.cfg.BaseURL) {
		out.MaxCompletionTokens = limit
	} else {
		out.MaxTokens = limit
	}
	if req.System != "" {
		out.Messages = append(out.Messages, openai.SystemMessage(req.System))
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, messages(m)...)
	}
	if len(req.Schema) > 0 {
		schema, err := provider.Object(req.Schema)
		if err != nil {
			return out, err
		}
		out.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "answer", Schema: req.Schema, Strict: openai.Bool(provider.Strict(schema)),
			},
		}
	}
	for _, t := range req.Tools {
		schema, err := provider.Object(t.Schema)
		if err != nil {
			return out, err
		}
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: schema}
		if t.Description != "" {
			f.Description = openai.String(t.Description)
		}
		out.Tools = append(out.Tools, openai.ChatCompletionFunctionTool(f))
	}
	if len(req.Tools) > 0 {
		out.ToolChoice = choice(req.ToolChoice)
	}
	return out, nil
}

// newer reports whether an endpoint wants max_completion_tokens; most servers
// that imitate the protocol only know the older name.
func newer(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".azure.com"))
}

func choice(want string) openai.ChatCompletionToolChoiceOptionUnionParam {
	switch want {
	case "", provider.ChoiceAuto:
		return openai.ChatCompletionToolChoiceOptionUnionParam{}
	case provider.ChoiceNone, provider.ChoiceRequired:
		return openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String(want)}
	}
	return openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: want})
}

func messages(m provider.Message) []openai.ChatCompletionMessageParamUnion {
	if m.Role == provider.RoleAssistant {
		return assistant(m)
	}
	var out []openai.ChatCompletionMessageParamUnion
	for _, p := range m.Parts {
		if p.Kind == provider.PartToolResult {
			out = append(out, openai.ToolMessage(p.ResultText(), p.ID))
		}
	}
	if text := m.Text(); text != "" {
		out = append(out, openai.UserMessage(text))
	}
	return out
}

func assistant(m provider.Message) []openai.ChatCompletionMessageParamUnion {
	var a openai.ChatCompletionAssistantMessageParam
	extra := map[string]any{}
	for _, p := range m.Parts {
		switch {
		case p.Kind == provider.PartToolUse:
			a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID:       p.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: p.Name, Arguments: string(p.Arguments())},
				},
			})
		case p.Kind == provider.PartReasoning && p.Wire == Wire:
			_ = json.Unmarshal(p.State, &extra) // foreign state is left out
		}
	}
	if text := m.Text(); text != "" {
		a.Content.OfString = openai.String(text)
	}
	if len(a.ToolCalls) > 0 && len(extra) > 0 {
		a.SetExtraFields(extra)
	}
	if len(a.ToolCalls) == 0 && m.Text() == "" {
		return nil
	}
	return []openai.ChatCompletionMessageParamUnion{{OfAssistant: &a}}
}
