package native

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Answers to the question what becomes of a call that a crash left open.
const (
	leftRedo = "redo"
	leftKeep = "keep"
	leftFail = "fail"
)

// resolve decides about a call that a crash left open. It reports whether that
// is the end of it; otherwise the call is to be done.
func (w *work) resolve(ctx context.Context, left json.RawMessage) (s settled, over bool, err error) {
	if err := w.l.recall(left, &w.intent, "what step "+w.key+" intended"); err != nil {
		return s, false, err
	}
	changes := w.intent.Changes
	if w.intent.Stopped {
		return s, false, nil
	}
	if w.blind() {
		return w.undecided(ctx, "Nothing tells whether it did what it should.")
	}
	if len(changes) == 0 {
		return s, false, nil
	}
	fate, err := tool.Resolve(ctx, w.l.fence, changes)
	if ctx.Err() != nil {
		return s, false, context.Cause(ctx)
	}
	switch {
	case err == nil && fate == tool.NotDone:
		return s, false, nil
	case err == nil && fate == tool.Done:
		return w.finished(changes), true, nil
	}
	return w.undecided(ctx, w.evidence(ctx, changes))
}

// finished is the result of a write that was published before the crash.
func (w *work) finished(changes []tool.Change) settled {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s is written: it has %d bytes\n", tool.Quote(c.Path), c.Size)
	}
	b.WriteString("[the turn was interrupted in this call; the file shows that the call was done]")
	return settled{Text: b.String(), Changes: changes, Left: string(tool.Done)}
}

// evidence tells what announced changes were and what the files are now.
func (w *work) evidence(ctx context.Context, changes []tool.Change) string {
	var b strings.Builder
	b.WriteString("The file is neither as it was nor as the call leaves it: somebody else wrote it.")
	for _, c := range changes {
		now, err := w.l.fence.Digest(ctx, c.Path)
		if err != nil {
			now = "unknown: " + err.Error()
		}
		fmt.Fprintf(&b, "\nfile: %s\n  before the call: %s\n  after the call:  %s (%d bytes)\n  now:             %s", tool.Quote(c.Path), c.Before, c.After, c.Size, now)
	}
	return b.String()
}

// undecided asks a person about a call that a crash left open. A call that was
// begun again and left open again is another question.
func (w *work) undecided(ctx context.Context, evidence string) (s settled, over bool, err error) {
	answer, err := w.put(ctx, executor.Question{
		Key: fmt.Sprintf("left/%d", w.intent.Try), Kind: workflow.AskQuestion, Options: []string{leftRedo, leftKeep, leftFail},
		Text: fmt.Sprintf("The agent at %s was interrupted while it used the tool %s. %s\n%s\n%s: do the call again, on what is there now. %s: leave everything as it is and go on. %s: end the turn as failed.",
			w.l.Where(), tool.Quote(w.part.Name), evidence, w.arguments(), leftRedo, leftKeep, leftFail),
	})
	if err != nil {
		return s, false, err
	}
	label := leftFail
	if !answer.Denied && !answer.Expired {
		if err := w.value(answer, &label); err != nil {
			return s, false, err
		}
	}
	switch label {
	case leftRedo:
		return s, false, nil
	case leftKeep:
		s = failed(&tool.Failed{What: "this call was interrupted, and nobody knows whether it was done: a person decided that everything stays as it is",
			Next: "look at what is there before you go on"})
		s.Left = leftKeep
		return s, true, nil
	}
	return s, false, workflow.Errorf(workflow.CodeRecoveredFailed, "%s: the tool %s was interrupted, and it is not known whether it was done%s",
		w.l.Where(), w.brief, told("", answer)).WithHint("look at what it changed, and run the node again")
}
