package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/tenonrun/tenon/provider"
)

func (p *Provider) params(req provider.Request) (sdk.MessageNewParams, error) {
	out := sdk.MessageNewParams{
		Model:         req.Model,
		MaxTokens:     int64(p.cfg.OutputLimit(req)),
		StopSequences: req.Stop,
		Messages:      messages(req.Messages),
	}
	if req.System != "" {
		out.System = []sdk.TextBlockParam{{Text: req.System}}
	}
	if req.Effort != "" {
		out.OutputConfig.Effort = sdk.OutputConfigEffort(req.Effort)
	}
	if len(req.Schema) > 0 {
		schema, err := provider.Object(req.Schema)
		if err != nil {
			return out, err
		}
		out.OutputConfig.Format = sdk.JSONOutputFormatParam{Schema: schema}
	}
	for _, t := range req.Tools {
		schema, err := provider.Object(t.Schema)
		if err != nil {
			return out, err
		}
		tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		out.Tools = append(out.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	if len(req.Tools) > 0 {
		out.ToolChoice = choice(req.ToolChoice)
	}
	if req.Cache {
		out.CacheControl = sdk.NewCacheControlEphemeralParam()
		if n := len(out.System); n > 0 {
			out.System[n-1].CacheControl = sdk.NewCacheControlEphemeralParam()
		}
	}
	return out, nil
}

func choice(want string) sdk.ToolChoiceUnionParam {
	switch want {
	case "", provider.ChoiceAuto:
		return sdk.ToolChoiceUnionParam{}
	case provider.ChoiceNone:
		return sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	case provider.ChoiceRequired:
		return sdk.ToolChoiceUnionParam{OfAny: &sdk.ToolChoiceAnyParam{}}
	}
	return sdk.ToolChoiceUnionParam{OfTool: &sdk.ToolChoiceToolParam{Name: want}}
}

// messages leaves out what the vendor refuses: empty texts and empty messages.
func messages(in []provider.Message) []sdk.MessageParam {
	var out []sdk.MessageParam
	for _, m := range in {
		var blocks []sdk.ContentBlockParamUnion
		for _, part := range m.Parts {
			if b, ok := block(part); ok {
				blocks = append(blocks, b)
			}
		}
		if len(blocks) == 0 {
			continue
		}
		if m.Role == provider.RoleAssistant {
			out = append(out, sdk.NewAssistantMessage(blocks...))
		} else {
			out = append(out, sdk.NewUserMessage(blocks...))
		}
	}
	return out
}

func block(p provider.Part) (sdk.ContentBlockParamUnion, bool) {
	switch p.Kind {
	case provider.PartText:
		return sdk.NewTextBlock(p.Text), p.Text != ""
	case provider.PartToolUse:
		return sdk.NewToolUseBlock(p.ID, p.Arguments(), p.Name), true
	case provider.PartToolResult:
		r := &sdk.ToolResultBlockParam{ToolUseID: p.ID}
		if p.IsError {
			r.IsError = sdk.Bool(true)
		}
		if p.Text != "" {
			r.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: p.Text}}}
		}
		return sdk.ContentBlockParamUnion{OfToolResult: r}, true
	case provider.PartReasoning:
		if p.Wire != Wire || len(p.State) == 0 {
			return sdk.ContentBlockParamUnion{}, false
		}
		return param.Override[sdk.ContentBlockParamUnion](p.State), true
	}
	return sdk.ContentBlockParamUnion{}, false
}
