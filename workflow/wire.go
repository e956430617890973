package workflow

import "encoding/json"

// WireEvent is an event as it is printed: one line of a stream.
type WireEvent struct {
	V          int             `json:"v"`
	Run        RunID           `json:"run"`
	Seq        int64           `json:"seq"`
	At         Time            `json:"at"`
	Epoch      int64           `json:"epoch"`
	Type       EventType       `json:"type"`
	ID         string          `json:"id,omitempty"`
	Node       string          `json:"node,omitempty"`
	Visit      int             `json:"visit,omitempty"`
	Attempt    int             `json:"attempt,omitempty"`
	Invocation int             `json:"invocation,omitempty"`
	Data       json.RawMessage `json:"data"`
}

// Wire returns the printed form of an event. A payload that does not encode
// gives no data.
func Wire(run RunID, e Event) WireEvent {
	data, err := EncodePayload(e.Payload)
	if err != nil {
		data = json.RawMessage("null")
	}
	return WireEvent{
		V: 1, Run: run, Seq: e.Seq, At: e.At, Epoch: e.Epoch, Type: e.Type(), ID: e.ID, Node: e.Node,
		Visit: e.Visit, Attempt: e.Attempt, Invocation: e.Invocation, Data: data,
	}
}
