package workflow

import (
	"errors"
	"fmt"
)

// Code names a kind of failure. Codes are stored and printed: the list only
// grows, and a code never changes its meaning.
type Code string

// Codes of documents.
const (
	CodeInvalidDefinition    Code = "invalid_definition"
	CodeVersionMissing       Code = "definition_version_missing"
	CodeHashMismatch         Code = "definition_hash_mismatch"
	CodeRoleNotFound         Code = "role_not_found"
	CodeRoleUndeclared       Code = "role_undeclared"
	CodeInvalidRoleAccess    Code = "invalid_role_access"
	CodeNodeNotFound         Code = "node_not_found"
	CodeNoTerminalPath       Code = "no_terminal_path"
	CodeUnreachableNode      Code = "unreachable_node"
	CodeDeadEndCycle         Code = "dead_end_cycle"
	CodeUnknownPiece         Code = "unknown_piece"
	CodeInvalidPieceParams   Code = "invalid_piece_params"
	CodeInvalidInterpolation Code = "invalid_interpolation"
	CodeUnsafeInterpolation  Code = "unsafe_interpolation"
	CodeUncheckedPipe        Code = "unchecked_pipe"
	CodeInvalidExpression    Code = "invalid_expression"
	CodeInvalidOutcomes      Code = "invalid_outcomes"
	CodeInvalidExit          Code = "invalid_component_exit"
	CodeInvalidMapJoin       Code = "invalid_map_join"
	CodeComponentNotFound    Code = "component_not_found"
	CodeComponentCycle       Code = "component_cycle"
	CodeComponentDepth       Code = "component_depth"
	CodeComplexity           Code = "definition_complexity"
	CodeInvalidPiece         Code = "invalid_piece"
	CodeJournalMismatch      Code = "journal_mismatch"
	CodeVerificationRequired Code = "verification_required"
	CodeProviderNotFound     Code = "provider_not_found"
	CodeModelUnknown         Code = "model_unknown"
	CodeModelMissing         Code = "model_missing"
	CodeWorkflowNotFound     Code = "workflow_not_found"
	CodeInvalidWorkspace     Code = "invalid_workspace"
	CodeOverlayConflict      Code = "overlay_conflict"
	CodeMountFailed          Code = "mount_failed"
	CodeInvalidComposition   Code = "invalid_composition"
	CodeNotPublished         Code = "composition_not_published"
	CodeLockMismatch         Code = "lock_mismatch"
	CodeVersionConflict      Code = "version_conflict"
)

// Codes of launches and of commands about runs.
const (
	CodeInvalidArguments   Code = "invalid_arguments"
	CodeInvalidInputs      Code = "invalid_inputs"
	CodeMapInputMissing    Code = "map_input_missing"
	CodeMapInputLimit      Code = "map_input_limit"
	CodeCostUnknown        Code = "cost_unknown"
	CodePieceNotAvailable  Code = "piece_not_available"
	CodeNotTrusted         Code = "not_trusted"
	CodeRunNotFound        Code = "run_not_found"
	CodeRunAmbiguous       Code = "run_ambiguous"
	CodeRunExists          Code = "run_exists"
	CodeRunTerminal        Code = "run_terminal"
	CodeRunHeld            Code = "run_held"
	CodeRunStale           Code = "run_stale"
	CodeQuestionNotFound   Code = "question_not_found"
	CodeQuestionAmbiguous  Code = "question_ambiguous"
	CodeQuestionClosed     Code = "question_closed"
	CodeInvalidAnswer      Code = "invalid_answer"
	CodeRecoveryNotFound   Code = "recovery_not_found"
	CodeForkNotFound       Code = "fork_point_not_found"
	CodeForkAmbiguous      Code = "fork_ambiguous"
	CodeInboxFull          Code = "inbox_full"
	CodeControlConflict    Code = "control_conflict"
	CodeStoreUnavailable   Code = "store_unavailable"
	CodeStoreFull          Code = "store_full"
	CodeStoreNewer         Code = "store_newer"
	CodeStoreDamaged       Code = "store_damaged"
	CodeNotFound           Code = "not_found"
	CodeDivergence         Code = "divergence"
	CodeResumeIncompatible Code = "resume_incompatible"
)

// Codes of visits and invocations.
const (
	CodeAborted            Code = "aborted"
	CodeInterrupted        Code = "interrupted"
	CodeOwnerLost          Code = "owner_lost"
	CodeTimeout            Code = "timeout"
	CodeIdleTimeout        Code = "idle_timeout"
	CodeBudgetExhausted    Code = "budget_exhausted"
	CodeSkipped            Code = "skipped"
	CodeAgentBudget        Code = "agent_budget_exhausted"
	CodeCompositionBudget  Code = "composition_budget_exceeded"
	CodeFailFast           Code = "fail_fast"
	CodeRecursionLimit     Code = "recursion_limit"
	CodeNoProgress         Code = "no_progress"
	CodeRunVarMissing      Code = "run_var_missing"
	CodeInvalidAssignment  Code = "invalid_assignment"
	CodeInvalidInput       Code = "invalid_component_input"
	CodeInvalidOutcome     Code = "invalid_piece_outcome"
	CodeInvalidOutput      Code = "invalid_piece_output"
	CodeExitMissing        Code = "component_exit_missing"
	CodeApprovalDenied     Code = "approval_denied"
	CodeToolDenied         Code = "tool_denied"
	CodeShellFailed        Code = "shell_execution_error"
	CodeVerifyFailed       Code = "verification_execution_error"
	CodeVerifyNoProgress   Code = "verification_no_progress"
	CodeHostPrecondition   Code = "verification_host_precondition"
	CodeUnverified         Code = "unverified"
	CodeInvalidRoleOutput  Code = "invalid_role_output"
	CodeStructuredOutput   Code = "invalid_structured_output"
	CodeRoleFailed         Code = "role_failed"
	CodeProviderRequest    Code = "provider_request_error"
	CodeProviderOverloaded Code = "provider_overloaded"
	CodeRateLimited        Code = "rate_limited"
	CodeQuotaExhausted     Code = "quota_exhausted"
	CodeProviderAuth       Code = "provider_auth"
	CodeProviderRefused    Code = "provider_refused"
	CodeContextLength      Code = "context_length"
	CodeIncompleteResponse Code = "incomplete_response"
	CodeNativeCommand      Code = "native_command_unsupported"
	CodeSessionNotFound    Code = "session_not_found"
	CodeChildFailed        Code = "child_failed"
	CodeRecoveredFailed    Code = "recovered_as_failed"
	CodeCandidateChanged   Code = "candidate_changed"
	CodeDeliverableUnknown Code = "deliverable_unknown"
	CodeDeliverable        Code = "deliverable_contract_violated"
	CodeHarvest            Code = "deliverable_harvest_failed"
	CodePublishConflict    Code = "publish_conflict"
	CodeArtifactScope      Code = "artifact_scope_mismatch"
	CodeArtifactLimit      Code = "artifact_limit"
	CodeInvalidArtifactID  Code = "invalid_artifact_id"
	CodeInvalidArtifact    Code = "invalid_artifact"
	CodeArtifactTooLarge   Code = "artifact_too_large"
	CodeArtifactConflict   Code = "artifact_conflict"
	CodeSeqOutOfRange      Code = "seq_out_of_range"
	CodeChangeNotFound     Code = "openspec_change_not_found"
	CodeOpenSpecNotFound   Code = "openspec_not_found"
	CodeOpenSpecFailed     Code = "openspec_command_failed"
	CodeOpenSpecOutput     Code = "openspec_invalid_output"
	CodeChangeScope        Code = "change_scope_error"
	CodePanic              Code = "panic"
	CodeInternal           Code = "internal"
)

// Error is a failure with a code, told for the person who reads it: what
// happened, where, and what to do next.
type Error struct {
	Code Code
	Msg  string // what happened and where
	Hint string // what to do next; may be empty
	Err  error  // the cause; may be nil
}

// Errorf makes an Error; the format may wrap a cause with %w.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns e with the next step for the reader.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// Error returns the message and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + "; " + e.Hint
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error of the same code and without a
// message of its own, so that errors.Is(err, &Error{Code: c}) asks for a code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Msg == "" && t.Code == e.Code
}

// CodeOf returns the code of the first Error in err's chain, else of the first
// error there with a method Code; CodeInternal when there is none, and "" for
// nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var typed interface{ Code() Code }
	if errors.As(err, &typed) {
		return typed.Code()
	}
	return CodeInternal
}
