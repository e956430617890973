package history

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/workflow"
)

// image is a stored snapshot of a state.
type image struct {
	Start   workflow.RunStarted `json:"start"`
	Begun   workflow.Time       `json:"begun"`
	Last    workflow.Time       `json:"last"`
	Program json.RawMessage     `json:"program"`
	Gate    json.RawMessage     `json:"gate"`
	Memory  Memory              `json:"memory"`
}

// Encode returns the state as a snapshot; workflow.ErrNoSnapshot when the
// Program keeps none.
func (s *State) Encode() ([]byte, error) {
	prog, err := s.Program.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("taking a snapshot of run %s: %w", s.ID, err)
	}
	gate, err := s.Gate.Snapshot()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(image{Start: s.Start, Begun: s.Begun, Last: s.Last, Program: prog, Gate: gate, Memory: s.Memory})
	if err != nil {
		return nil, fmt.Errorf("encoding a snapshot of run %s: %w", s.ID, err)
	}
	return raw, nil
}

// Restore sets a new State to a snapshot that was taken after the event seq.
func (s *State) Restore(raw []byte, seq int64, programs map[string]workflow.Factory) error {
	var im image
	if err := json.Unmarshal(raw, &im); err != nil {
		return err
	}
	first := workflow.Event{Seq: 1, At: im.Begun, Payload: &im.Start}
	if err := s.begin(first, programs); err != nil {
		return err
	}
	if err := s.Program.Restore(im.Program); err != nil {
		return err
	}
	gate, err := admission.Restore(im.Gate)
	if err != nil {
		return err
	}
	s.Gate, s.Last, s.Seq, s.Snapped = gate, im.Last, seq, seq
	full := newMemory()
	mem, err := json.Marshal(im.Memory)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(mem, &full); err != nil { // keeps the maps that are empty
		return err
	}
	s.Memory = full
	return nil
}
