package script

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/script/vm"
	"github.com/tenonrun/tenon/workflow"
)

// outcome turns the result of a visit into what the script sees.
func (p *program) outcome(k *call, f *workflow.Settled) (vm.Outcome, error) {
	r := &p.records[k.record]
	raw, err := f.Output.Load(p.values)
	if err != nil {
		return vm.Outcome{}, err
	}
	failed := f.Status != "" && f.Status != workflow.VisitSucceeded
	if k.kind == kindAgent {
		return p.agentOutcome(k, r, f, raw, failed), nil
	}
	r.Settled, r.Failed, r.Output = true, failed, f.Output
	switch {
	case k.taken != nil, k.kind == workflow.KindWorkflow && !failed:
	case k.kind == kindQuestion:
		return answerOf(k, f, raw, failed), nil
	case failed && (k.kind == kindArtifact || k.kind == workflow.KindWorkflow || !hasExit(k.kind, raw)):
		p.failed(k, f.Error)
		return vm.Outcome{Err: errorOf(k, f.Error)}, nil
	}
	return vm.Outcome{Value: raw}, nil
}

// hasExit reports whether a command ran to an end that its output tells.
func hasExit(kind string, raw json.RawMessage) bool {
	var out struct {
		ExitCode *int `json:"exitCode"`
	}
	return json.Unmarshal(raw, &out) == nil && (kind == kindVerify || out.ExitCode != nil)
}

// answerOf gives the answer itself; null when the question expired.
func answerOf(k *call, f *workflow.Settled, raw json.RawMessage, failed bool) vm.Outcome {
	if failed {
		return vm.Outcome{Err: errorOf(k, f.Error)}
	}
	var out struct {
		Response struct {
			Answer json.RawMessage `json:"answer"`
		} `json:"response"`
	}
	if json.Unmarshal(raw, &out) != nil || out.Response.Answer == nil {
		return vm.Outcome{Value: json.RawMessage("null")}
	}
	return vm.Outcome{Value: out.Response.Answer}
}

// loud are codes of agents that the script sees as errors; of others it sees null.
var loud = []workflow.Code{
	workflow.CodeStructuredOutput, workflow.CodeInvalidRoleOutput, workflow.CodeInvalidPieceParams, workflow.CodeInvalidArguments,
	workflow.CodeModelUnknown, workflow.CodeModelMissing, workflow.CodeProviderNotFound, workflow.CodeRoleNotFound, workflow.CodeInvalidWorkspace,
}

func (p *program) agentOutcome(k *call, r *Call, f *workflow.Settled, raw json.RawMessage, failed bool) vm.Outcome {
	null := vm.Outcome{Value: json.RawMessage("null")}
	why := f.Error
	if f.Outcome == outcomeSkipped || failed && why != nil && why.Code == workflow.CodeSkipped {
		p.failed(k, why) // it is listed, and the script sees null
		return null
	}
	if !failed && (raw == nil || string(raw) == "null" || blank(raw)) {
		failed, why = true, &workflow.Failure{Code: workflow.CodeIncompleteResponse, Message: "the agent ended with an empty text"}
	}
	r.Settled, r.Failed, r.Output = true, failed, f.Output
	if !failed {
		return vm.Outcome{Value: raw}
	}
	p.failed(k, why)
	if !k.optional {
		p.dead++
	}
	if why != nil && slices.Contains(loud, why.Code) {
		return vm.Outcome{Err: errorOf(k, why)}
	}
	return null
}

func blank(raw json.RawMessage) bool {
	var s string
	return raw[0] == '"' && json.Unmarshal(raw, &s) == nil && strings.TrimSpace(s) == ""
}

func errorOf(k *call, f *workflow.Failure) *vm.Thrown {
	if f == nil {
		f = &workflow.Failure{Code: workflow.CodeInternal, Message: "it failed without saying why"}
	}
	return thrown("Error", f.Code, fmt.Sprintf("%s: %s", k.kind, f.Message))
}

func (p *program) failed(k *call, f *workflow.Failure) {
	if f == nil {
		return
	}
	own := *f
	own.Node = string(k.id)
	if k.label != "" {
		own.Message = k.label + ": " + own.Message
	}
	p.failures = append(p.failures, own)
	if len(p.failures) > maxFailures {
		p.failures = p.failures[1:]
	}
}
