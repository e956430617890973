package admission

import (
	"encoding/json"
	"fmt"

	"github.com/tenonrun/tenon/workflow"
)

type image struct {
	Options     workflow.Options           `json:"options"`
	Open        map[workflow.VisitID]*Open `json:"open"`
	Wanted      []workflow.VisitID         `json:"wanted,omitempty"`
	Transitions int                        `json:"transitions"`
	Fails       int                        `json:"fails"`
	Breakers    map[string]Breaker         `json:"breakers,omitempty"`
	Steering    []Steer                    `json:"steering,omitempty"`
	Paused      bool                       `json:"paused,omitempty"`
	Cancelled   bool                       `json:"cancelled,omitempty"`
	Ledger      ledger                     `json:"ledger"`
	Clock       activity                   `json:"clock"`
}

// Snapshot returns the state of the Gate.
func (g *Gate) Snapshot() ([]byte, error) {
	im := image{
		Options: g.opts, Open: g.open, Transitions: g.transitions, Fails: g.fails, Breakers: g.breakers,
		Steering: g.steering, Paused: g.paused, Cancelled: g.cancelled, Ledger: g.ledger, Clock: g.clock,
	}
	for _, o := range g.wanted {
		im.Wanted = append(im.Wanted, o.Command.Visit)
	}
	raw, err := json.Marshal(im)
	if err != nil {
		return nil, fmt.Errorf("encoding admission: %w", err)
	}
	return raw, nil
}

// Restore returns the Gate of a snapshot.
func Restore(raw []byte) (*Gate, error) {
	var im image
	if err := json.Unmarshal(raw, &im); err != nil {
		return nil, fmt.Errorf("decoding admission: %w", err)
	}
	g := New(im.Options)
	g.transitions, g.fails, g.steering, g.paused, g.cancelled = im.Transitions, im.Fails, im.Steering, im.Paused, im.Cancelled
	g.clock = im.Clock
	g.ledger = im.Ledger
	if g.ledger.Live == nil {
		g.ledger.Live = map[string]Reservation{}
	}
	if im.Open != nil {
		g.open = im.Open
	}
	if im.Breakers != nil {
		g.breakers = im.Breakers
	}
	for _, v := range im.Wanted {
		o := g.open[v]
		if o == nil {
			return nil, fmt.Errorf("decoding admission: visit %s is wanted and not open", v)
		}
		g.wanted = append(g.wanted, o)
	}
	g.reacquire()
	return g, nil
}

// reacquire counts the permits of what was running.
func (g *Gate) reacquire() {
	clock := g.clock
	for _, o := range g.open {
		if o.State == Running {
			g.acquire(&o.Command)
		}
	}
	g.clock = clock
}
