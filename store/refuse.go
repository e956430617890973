package store

import (
	"fmt"

	"github.com/tenonrun/tenon/workflow"
)

// NoRun is the error of a run that is not there.
func NoRun(run workflow.RunID) error {
	return workflow.Errorf(workflow.CodeRunNotFound, "there is no run %s", run).WithHint("see `tenon ls`")
}

// RunExists is the error of a Create of a run that is there.
func RunExists(run workflow.RunID) error {
	return workflow.Errorf(workflow.CodeRunExists, "run %s exists already", run).WithHint("start the run under a new id")
}

// NoCut is the error of a fork at an event that its parent does not have.
func NoCut(parent workflow.RunID, cut, last int64) error {
	return workflow.Errorf(workflow.CodeForkNotFound, "run %s has no event %d to fork from: its last is %d", parent, cut, last)
}

// NoBlob is the error of a blob that is not there.
func NoBlob(d workflow.Digest) error {
	return workflow.Errorf(workflow.CodeNotFound, "there is no blob %s", d)
}

// BadBlob is the error of a blob whose content does not have its digest.
func BadBlob(d workflow.Digest) error {
	return workflow.Errorf(workflow.CodeStoreDamaged, "blob %s is damaged: its content has another digest", d).
		WithHint("run `tenon doctor` to see which runs use it")
}

// NoControl is the error of an Append that takes a control that is not waiting.
func NoControl(run workflow.RunID, id string) error {
	return workflow.Errorf(workflow.CodeNotFound, "no message %q is waiting for run %s", id, run)
}

// Conflict is the error of a Post whose ID was used for something else.
func Conflict(c Control) error {
	return workflow.Errorf(workflow.CodeControlConflict, "%s %q of run %s was given before, with another content", c.Kind, c.ID, c.Run).
		WithHint("the first one counts; see `tenon show %s`", c.Run)
}

// InboxFull is the error of a Post to a run with MaxInbox untaken messages.
func InboxFull(run workflow.RunID) error {
	return workflow.Errorf(workflow.CodeInboxFull, "run %s has %d messages that nothing has read yet", run, MaxInbox).
		WithHint("continue it with `tenon resume %s`, then send again", run)
}

// StaleAfter is the Stale of an Append that missed a batch.
func StaleAfter(run workflow.RunID, after, last int64) error {
	return &Stale{Run: run, What: fmt.Sprintf("its last event is %d, not %d", last, after)}
}

// StaleEpoch is the Stale of an Append under a hold that is over.
func StaleEpoch(run workflow.RunID, epoch, now int64) error {
	return &Stale{Run: run, What: fmt.Sprintf("its epoch is %d, not %d", now, epoch)}
}

// Problem tells a damage as a Keeper reports it.
func (d *Damaged) Problem() Problem {
	next := "this run cannot be continued; start it again"
	if d.LastGood > 0 {
		next = fmt.Sprintf("events 1 to %d are good: fork from there with `tenon fork %s`", d.LastGood, d.Run)
	}
	return Problem{Run: d.Run, Seq: d.Seq, What: d.Why, Next: next}
}
