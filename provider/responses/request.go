package responses

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tenonrun/tenon/provider"
)

func (p *Provider) params(req provider.Request) (sdk.ResponseNewParams, error) {
	out := sdk.ResponseNewParams{
		Model:           req.Model,
		MaxOutputTokens: param.NewOpt(int64(p.cfg.OutputLimit(req))),
		Store:           param.NewOpt(false),
		Reasoning:       shared.ReasoningParam{Effort: shared.ReasoningEffort(req.Effort)},
	}
	if req.System != "" {
		out.Instructions = param.NewOpt(req.System)
	}
	if req.Effort != "" || reasons(req.Model) {
		out.Include = []sdk.ResponseIncludable{sdk.ResponseIncludableReasoningEncryptedContent}
	}
	var items sdk.ResponseInputParam
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			if item, ok := input(m.Role, part); ok {
				items = append(items, item)
			}
		}
	}
	out.Input.OfInputItemList = items
	if len(req.Schema) > 0 {
		schema, err := provider.Object(req.Schema)
		if err != nil {
			return out, err
		}
		out.Text.Format.OfJSONSchema = &sdk.ResponseFormatTextJSONSchemaConfigParam{
			Name: "answer", Schema: schema, Strict: param.NewOpt(provider.Strict(schema)),
		}
	}
	for _, t := range req.Tools {
		schema, err := provider.Object(t.Schema)
		if err != nil {
			return out, err
		}
		f := &sdk.FunctionToolParam{Name: t.Name, Parameters: schema, Strict: param.NewOpt(false)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		out.Tools = append(out.Tools, sdk.ToolUnionParam{OfFunction: f})
	}
	if len(req.Tools) > 0 {
		out.ToolChoice = choice(req.ToolChoice)
	}
	return out, nil
}

var reasoningModel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(o\d|gpt-([5-9]|\d\d)|codex)`) })

// reasons tells models that reason, by their name: others refuse to be asked
// for encrypted reasoning.
func reasons(model string) bool {
	return reasoningModel().MatchString(model) && !strings.Contains(model, "-chat")
}

func choice(want string) sdk.ResponseNewParamsToolChoiceUnion {
	switch want {
	case "", provider.ChoiceAuto:
		return sdk.ResponseNewParamsToolChoiceUnion{}
	case provider.ChoiceNone, provider.ChoiceRequired:
		return sdk.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: param.NewOpt(sdk.ToolChoiceOptions(want))}
	}
	return sdk.ResponseNewParamsToolChoiceUnion{OfFunctionTool: &sdk.ToolChoiceFunctionParam{Name: want}}
}

func input(role provider.Role, p provider.Part) (sdk.ResponseInputItemUnionParam, bool) {
	switch p.Kind {
	case provider.PartText:
		who := sdk.EasyInputMessageRoleUser
		if role == provider.RoleAssistant {
			who = sdk.EasyInputMessageRoleAssistant
		}
		item := sdk.ResponseInputItemParamOfMessage(p.Text, who)
		var phase string
		if p.Wire == Wire && json.Unmarshal(p.State, &phase) == nil {
			item.OfMessage.Phase = sdk.EasyInputMessagePhase(phase)
		}
		return item, p.Text != ""
	case provider.PartToolUse:
		return sdk.ResponseInputItemParamOfFunctionCall(string(p.Arguments()), p.ID, p.Name), true
	case provider.PartToolResult:
		item := sdk.ResponseInputItemParamOfFunctionCallOutput(p.ResultText())
		item.OfFunctionCallOutput.CallID = param.NewOpt(p.ID)
		return item, true
	case provider.PartReasoning:
		if p.Wire == Wire && len(p.State) > 0 {
			return param.Override[sdk.ResponseInputItemUnionParam](p.State), true
		}
	}
	return sdk.ResponseInputItemUnionParam{}, false
}
