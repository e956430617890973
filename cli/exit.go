package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/source"
	short "github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/script/vm"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/load"
)

// statusError ends a command with the exit code of a run's status; everything
// is printed already.
type statusError struct{ status workflow.Status }

func (s statusError) Error() string { return "the run is " + string(s.status) }

// usageError is a command line that makes no sense.
type usageError struct {
	err     error
	command string // to ask help for; "" is the one that was run
}

func (u usageError) Error() string { return u.err.Error() }

func (u usageError) Unwrap() error { return u.err }

func usage(err error) error { return usageError{err: err} }

// misuse marks what the library of commands finds wrong with a command line.
func misuse(err error) error {
	if err == nil {
		return nil
	}
	for _, beginning := range []string{"unknown command", "required flag", "if any flags in the group", "at least one of the flags in the group"} {
		if strings.HasPrefix(err.Error(), beginning) {
			return usage(errors.New(strings.TrimSpace(err.Error())))
		}
	}
	return err
}

// invalid are the codes that mean: correct what you gave.
var invalid = map[workflow.Code]bool{
	workflow.CodeInvalidArguments: true, workflow.CodeInvalidInputs: true, workflow.CodeMapInputMissing: true,
	workflow.CodeCostUnknown: true, workflow.CodePieceNotAvailable: true, workflow.CodeNotTrusted: true,
	workflow.CodeRunNotFound: true, workflow.CodeRunAmbiguous: true, workflow.CodeRunExists: true,
	workflow.CodeRunTerminal: true, workflow.CodeQuestionNotFound: true, workflow.CodeQuestionAmbiguous: true,
	workflow.CodeQuestionClosed: true, workflow.CodeInvalidAnswer: true, workflow.CodeRecoveryNotFound: true,
	workflow.CodeForkNotFound: true, workflow.CodeForkAmbiguous: true, workflow.CodeControlConflict: true,
	workflow.CodeStoreNewer: true, workflow.CodeWorkflowNotFound: true, workflow.CodeProviderNotFound: true,
	workflow.CodeModelUnknown: true, workflow.CodeModelMissing: true, workflow.CodeInvalidDefinition: true,
	workflow.CodeHashMismatch: true, workflow.CodeProviderAuth: true, workflow.CodeStoreUnavailable: true,
	workflow.CodeComponentCycle: true, workflow.CodeResumeIncompatible: true, workflow.CodeRoleNotFound: true,
	workflow.CodeVersionMissing: true, workflow.CodeInvalidComposition: true, workflow.CodeNotPublished: true,
	workflow.CodeLockMismatch: true, workflow.CodeVersionConflict: true, workflow.CodeInvalidWorkspace: true,
	workflow.CodeOverlayConflict: true, workflow.CodeDeliverableUnknown: true, workflow.CodeNotFound: true,
	workflow.CodeInvalidArtifactID: true, workflow.CodeInvalidArtifact: true, workflow.CodeArtifactTooLarge: true, workflow.CodeArtifactConflict: true,
}

// exitOf returns the exit code of an error.
func exitOf(ctx context.Context, err error) int {
	var status statusError
	var issues load.Issues
	var misread source.Errors
	var bad usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return status.status.Exit()
	case errors.As(err, &issues), errors.As(err, &misread), errors.As(err, &bad):
		return workflow.StatusInvalid.Exit()
	case ctx.Err() != nil:
		return workflow.StatusInterrupted.Exit()
	case invalid[workflow.CodeOf(err)]:
		return workflow.StatusInvalid.Exit()
	}
	return workflow.StatusFailed.Exit()
}

// problem is an error as --json shows it.
type problem struct {
	Status workflow.Status `json:"status"`
	Exit   int             `json:"exit"`
	Error  struct {
		Code    workflow.Code `json:"code"`
		Message string        `json:"message"`
		Hint    string        `json:"hint,omitempty"`
		Issues  []load.Issue  `json:"issues,omitempty"`
		// Problems are findings in files that are no workflows.
		Problems []finding `json:"problems,omitempty"`
	} `json:"error"`
}

// finish prints the error of a command, if any, and returns the exit code.
func (a *app) finish(ctx context.Context, command string, err error) int {
	code := exitOf(ctx, err)
	var status statusError
	if err == nil || errors.As(err, &status) {
		return code
	}
	if !a.printed && (a.json || a.jsonl) {
		a.printProblem(err, code)
	}
	fmt.Fprintln(a.std.Err, "tenon:", a.here(text(err)))
	var bad usageError
	if errors.As(err, &bad) {
		fmt.Fprintln(a.std.Err, "see:", first(bad.command, command), "--help")
	}
	return code
}

// advised finds the commands of this program that a message names.
var advised = short.MustPattern("((?:with: |`)tenon)( [a-z])")

// here makes the commands that a message names those for the project at hand.
func (a *app) here(message string) string {
	flags := a.flagsOf()
	if flags == "" {
		return message
	}
	return advised().ReplaceAllString(message, "${1}"+strings.ReplaceAll(flags, "$", "$$")+"$2")
}

func (a *app) printProblem(err error, code int) {
	p := problem{Status: workflow.StatusFailed, Exit: code}
	if code == workflow.StatusInvalid.Exit() {
		p.Status = workflow.StatusInvalid
	}
	p.Error.Code, p.Error.Message = workflow.CodeOf(err), err.Error()
	var coded *workflow.Error
	if errors.As(err, &coded) {
		p.Error.Hint = a.here(coded.Hint)
	}
	var bad usageError
	if errors.As(err, &bad) {
		p.Error.Code = workflow.CodeInvalidArguments
	}
	var issues load.Issues
	var misread source.Errors
	var syntax *vm.SyntaxError
	switch {
	case errors.As(err, &syntax):
		p.Error.Problems = problemsOf(err)
	case errors.As(err, &issues):
		p.Error.Issues = issues
	case errors.As(err, &misread):
		p.Error.Problems = findingsOf(err)
	}
	if a.jsonl {
		a.begin("")
		a.line(struct {
			Type string `json:"type"`
			problem
		}{"result", p})
		return
	}
	a.document(p)
}

// text is an error for people: issues one a line.
func text(err error) string {
	var issues load.Issues
	if !errors.As(err, &issues) {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the workflow is not valid (%d)", len(issues))
	for _, i := range issues {
		b.WriteString("\n" + i.String())
		if i.Excerpt != "" {
			b.WriteString("\n" + i.Excerpt)
		}
	}
	return b.String()
}

// document prints the one JSON document of --json.
func (a *app) document(v any) {
	e := json.NewEncoder(a.std.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		fmt.Fprintln(a.std.Err, "tenon: printing:", err)
	}
	a.printed = true
}

// begin prints the first line of --jsonl, once. The id is null when something
// went wrong before there was a run.
func (a *app) begin(run workflow.RunID) {
	if a.begun {
		return
	}
	a.begun = true
	var id *workflow.RunID
	if run != "" {
		id = &run
	}
	a.line(map[string]any{"type": "run", "run": id, "schema": 1})
}

// line prints one line of --jsonl.
func (a *app) line(v any) {
	e := json.NewEncoder(a.std.Out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		fmt.Fprintln(a.std.Err, "tenon: printing:", err)
	}
}

// show prints a run that a command ends with, and gives the command its exit
// code.
func (a *app) show(res history.Result) error {
	res.Next = a.next(res)
	switch {
	case a.json:
		a.document(res)
	case a.jsonl:
		a.begin(res.Run)
		a.line(struct {
			Type string `json:"type"`
			history.Result
		}{"result", res})
		a.printed = true
	default:
		a.summary(res)
		if res.Workflow.Kind == workflow.KindScript { // what it is run for
			a.outputs(res)
		}
	}
	for _, n := range res.Next {
		fmt.Fprintln(a.std.Err, "next:", n)
	}
	if res.Exit == 0 || res.Status == workflow.StatusRunning { // another process drives it
		return nil
	}
	return statusError{res.Status}
}
