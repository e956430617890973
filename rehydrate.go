package tenon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// lostWrite is a call of artifact_write as the history of a run tells it.
type lostWrite struct {
	visit workflow.VisitID
	step  string
	args  json.RawMessage
}

// rehydrate writes again what the agents of a run wrote, as far as its history
// tells, in the order of the calls. The keys are those of then, so that it may be
// stopped at any point and done by several processes.
func (a *Artifacts) rehydrate(ctx context.Context, h store.Head, name string, to artifact.Store) error {
	writes, err := a.lostWrites(ctx, h, name)
	if err != nil || len(writes) == 0 {
		return err
	}
	set, err := a.t.gear.tools()
	if err != nil {
		return err
	}
	for _, w := range writes {
		args, err := set.Read(artifact.WriteTool, w.args)
		if err != nil {
			continue
		}
		d, err := artifact.DecodeWrite(args.Raw)
		if err != nil {
			continue
		}
		d.Key = artifact.Key(string(h.Run), string(w.visit), w.step)
		if _, err := to.Put(ctx, d); err != nil && !refusedArtifact(err) {
			return fmt.Errorf("writing the artifacts of run %s again: %w", h.Run, err)
		}
	}
	return nil
}

func refusedArtifact(err error) bool {
	switch workflow.CodeOf(err) {
	case workflow.CodeInvalidArtifact, workflow.CodeInvalidArtifactID, workflow.CodeArtifactTooLarge:
		return true
	}
	return false
}

// lostWrites are the calls of artifact_write that a history says were done. What
// a fork shares with its parent is the parent's.
func (a *Artifacts) lostWrites(ctx context.Context, h store.Head, name string) ([]lostWrite, error) {
	type call struct {
		visit workflow.VisitID
		key   string
	}
	memos := map[call]workflow.Value{} // of model calls
	var done []lostWrite
	err := a.t.Store.Events(ctx, h.Run, h.Cut, func(e workflow.Event) error {
		switch p := e.Payload.(type) {
		case *workflow.InvocationSettled:
			if p.Status == workflow.InvocationOK {
				memos[call{e.VisitID(), p.Key}] = p.Memo
			}
		case *workflow.StepSettled:
			if p.Made != nil && p.Made.Collection == name && p.Tool == artifact.WriteTool {
				done = append(done, lostWrite{visit: e.VisitID(), step: p.Key})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range done {
		w := &done[i]
		at := bytes.LastIndexByte([]byte(w.step), '/')
		if at < 0 {
			continue
		}
		if w.args, err = a.argsOf(ctx, memos[call{w.visit, w.step[:at]}], w.step[at+1:]); err != nil {
			return nil, fmt.Errorf("reading the history of run %s: %w", h.Run, err)
		}
	}
	return done, nil
}

// argsOf returns the arguments of the n-th call in the memo of a model call; nil
// when it has none.
func (a *Artifacts) argsOf(ctx context.Context, memo workflow.Value, n string) (json.RawMessage, error) {
	raw := memo.JSON
	if memo.Digest != "" {
		var err error
		if raw, err = a.t.Store.Blob(ctx, memo.Digest); err != nil {
			return nil, err
		}
	}
	var r provider.Response
	if len(raw) == 0 || json.Unmarshal(raw, &r) != nil {
		return nil, nil //nolint:nilerr // it is no answer of a model: then nothing is known of the call
	}
	for i, p := range r.ToolUses() {
		if fmt.Sprint(i+1) == n && p.Name == artifact.WriteTool {
			return p.Input, nil
		}
	}
	return nil, nil
}
