package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/script/vm"
	"github.com/tenonrun/tenon/workflow"
)

// maxFailures is how many failures the end of a run lists, the newest last.
const maxFailures = 8

// program is the state of one run. Commands are queued by Apply.
type program struct {
	factory     *Factory
	run         workflow.RunID
	start       workflow.RunStarted
	values      workflow.Values
	script      *vm.Script
	meta        Meta
	limits      workflow.ScriptOptions
	machine     *vm.Machine
	queue       []workflow.Command
	calls       map[workflow.VisitID]*call // open
	records     []Call                     // all, in start order
	occurrences map[string]int             // of a digest in a scope
	schemas     map[string]error           // verdicts by text
	phase       string
	agents      int
	dead        int // required agents that died
	notes       int
	spent       int64
	budget      int64 // 0 is none
	reuse       *reuse
	failures    []workflow.Failure
	warnings    []string
	ending      *workflow.Ended // given when nothing runs any more
	begun       bool
	ended       bool
	due         func() error // what the script does next; it is done before anything else happens
	halted      halt         // a person stopped what is due
}

// halt is how far what a person stopped is from being done again.
type halt int

const (
	notHalted halt = iota
	halted         // nobody goes on
	resumed        // somebody goes on, and may be about to cancel
)

// Kinds of notes of the dialect.
const (
	noteLog   = "log"
	noteLost  = "lost" // an item of a list that threw
	notePhase = "phase"
)

// States of a call.
const (
	stateWanted  = "wanted"
	stateRunning = "running"
	stateWaiting = "waiting" // for an answer
	stateRefused = "refused"
	stateUnsure  = "uncertain"
)

// call is an open call of the script.
type call struct {
	id       workflow.VisitID
	at       vm.Call
	kind     string
	params   json.RawMessage
	digest   workflow.Digest
	traits   Traits
	label    string
	phase    string
	optional bool
	self     bool // carried out here: a child run, or a result that is taken over
	state    string
	refusal  workflow.Code
	settling bool
	record   int      // index in records
	taken    *Carried // result that is taken over
}

// thrown makes an error that the script sees.
func thrown(name string, code workflow.Code, message string) *vm.Thrown {
	return &vm.Thrown{Name: name, Code: string(code), Message: message}
}

func (p *program) give(c workflow.Command) { p.queue = append(p.queue, c) }

// Decide hands out what Apply queued.
func (p *program) Decide(dst []workflow.Command) ([]workflow.Command, error) {
	if err := p.goOn(); err != nil {
		return dst, err
	}
	dst = append(dst, p.queue...)
	p.queue = p.queue[:0]
	return dst, nil
}

// Snapshot returns ErrNoSnapshot: scripts are replayed.
func (p *program) Snapshot() ([]byte, error) { return nil, workflow.ErrNoSnapshot }

// Restore returns ErrNoSnapshot.
func (p *program) Restore([]byte) error { return workflow.ErrNoSnapshot }

// Close frees the machine.
func (p *program) Close() error {
	if p.machine == nil {
		return nil
	}
	p.factory.works(p.machine, "")
	return p.machine.Close()
}

// begin runs the script up to its first calls.
func (p *program) begin(e workflow.Event) error {
	if p.begun {
		return &workflow.Divergence{Seq: e.Seq, Want: "one start of the run", Got: "a second one"}
	}
	p.begun = true
	raw, err := p.start.Inputs.Load(p.values)
	if err != nil {
		return &workflow.Damage{Run: p.run, Seq: e.Seq, Err: err}
	}
	args, warning, err := Arguments(p.meta, raw)
	if err != nil {
		p.fail(workflow.CodeOf(err), err.Error())
		return nil
	}
	if warning != "" {
		p.warn(warning)
	}
	p.machine, err = vm.New(vm.Config{
		Memory: p.factory.cfg.Memory, Time: p.factory.cfg.Time,
		Globals: dialect, Query: p.query, Accept: p.accept, Load: p.load,
	})
	if err != nil {
		return fmt.Errorf("starting the script of run %s: %w", p.run, err)
	}
	p.factory.works(p.machine, p.run)
	p.due = func() error { return p.moved(p.machine.Run(p.script, args)) }
	return nil
}

// goOn lets the script do what it does next. What a person stopped waits until
// somebody goes on.
func (p *program) goOn() error {
	if p.due == nil || p.halted == halted {
		return nil
	}
	do := p.due
	p.due, p.halted = nil, notHalted
	return do()
}

// accept takes a call of the script.
func (p *program) accept(c vm.Call) error {
	if p.ending != nil || p.ended {
		return errors.New("the run is over")
	}
	if c.Kind == noteLog || c.Kind == noteLost || c.Kind == notePhase {
		return p.note(c)
	}
	r, err := p.readRequest(c.Kind, c.Payload)
	if err != nil {
		return err
	}
	if len(p.records) >= maxCalls {
		return thrown("Error", workflow.CodeRecursionLimit, fmt.Sprintf("the script has made %d calls; that is the most for one run", maxCalls))
	}
	if c.Kind == kindAgent {
		if err := p.allow(); err != nil {
			return err
		}
	}
	params, err := json.Marshal(r.params)
	if err != nil {
		return invalid("%s(): %v", c.Kind, err)
	}
	k := &call{id: workflow.VisitID(c.Name()), at: c, kind: c.Kind, params: params, label: r.label, phase: r.phase, optional: r.optional}
	if k.phase == "" {
		k.phase = p.phase
	}
	if k.kind == workflow.KindWorkflow {
		k.self = true
	} else if k.traits, err = p.factory.cfg.Traits(k.kind, params, p.start.Options); err != nil {
		return thrown("TypeError", workflow.CodeOf(err), err.Error())
	}
	k.at.Payload = nil
	p.enter(k)
	return nil
}

// allow counts an agent, or says why it may not start.
func (p *program) allow() error {
	if p.budget > 0 && p.spent >= p.budget {
		return thrown("Error", workflow.CodeBudgetExhausted,
			fmt.Sprintf("the token budget of the run is used up (%d of %d); no further agent starts", p.spent, p.budget))
	}
	if p.agents >= p.limits.MaxAgents {
		return thrown("Error", workflow.CodeRecursionLimit,
			fmt.Sprintf("the run has started its %d agents (maxAgents); raise maxAgents if that is meant", p.agents))
	}
	if p.agents++; p.agents == p.limits.WarnAgents+1 {
		p.warn(fmt.Sprintf("the script starts more than %d agents; it may start %d", p.limits.WarnAgents, p.limits.MaxAgents))
	}
	return nil
}

// enter opens a call and wants it, unless its result can be taken over.
func (p *program) enter(k *call) {
	k.digest = workflow.Digest(canon.Sum(append([]byte(k.kind+"\x00"), k.params...)))
	place := k.at.Scope + "\x00" + string(k.digest)
	p.occurrences[place]++
	k.record = len(p.records)
	p.records = append(p.records, Call{
		ID: k.id, Kind: k.kind, Scope: k.at.Scope, Digest: k.digest, Occurrence: p.occurrences[place], Label: k.label, Phase: k.phase,
		Writes: k.traits.Effect == workflow.EffectWrite,
	})
	p.calls[k.id] = k // names are unique, see package vm
	if p.reuse != nil {
		if c := p.reuse.find(p.records[k.record]); c != nil {
			k.taken, k.self = c, true
			r := &p.records[k.record]
			r.Reused, r.Tokens = ReusedInPlace, c.Tokens
			if c.moved {
				r.Reused = ReusedMoved
			}
			p.reuse.wait(k)
			return
		}
	}
	p.want(k)
}

// want wishes for an attempt of a call.
func (p *program) want(k *call) {
	k.state, k.refusal = stateWanted, ""
	c := workflow.StartVisit{
		Visit: k.id, Node: string(k.id), Number: k.at.Ordinal, Scope: k.at.Scope, Kind: k.kind, Params: k.params, Self: k.self,
		Context: workflow.VisitContext{Group: k.phase, Label: k.label},
	}
	if !k.self {
		t := k.traits
		c.Effect, c.AI, c.Provider, c.Uncertain, c.Steerable = t.Effect, t.AI, t.Provider, t.Uncertain, t.Steerable
		if k.kind == kindAgent {
			c.Limits = []workflow.Limit{{ID: "agents", Max: p.limits.Concurrency}}
		}
	}
	p.give(c)
}

// note takes a line of the script.
func (p *program) note(c vm.Call) error {
	var message string
	if err := json.Unmarshal(c.Payload, &message); err != nil {
		return invalid("%s() takes a text", c.Kind)
	}
	if p.notes++; p.notes > maxNotes {
		if p.notes == maxNotes+1 {
			p.warn(fmt.Sprintf("the script logs more than %d lines; the rest is dropped", maxNotes))
		}
		return nil
	}
	kind := workflow.NoteLog
	switch c.Kind {
	case notePhase:
		p.phase, kind = message, workflow.NotePhase
	case noteLost:
		kind = workflow.NoteWarning
	}
	message = text.Head(message, maxNote, "…")
	p.give(workflow.Log{ID: c.Name(), Kind: kind, Message: message})
	return nil
}

// Bounds of notes, in characters and of a run.
const (
	maxNote  = 4000
	maxNotes = 10_000
)

// maxCalls bounds all calls of a run, agents or not.
const maxCalls = 2 * workflow.HighestMaxAgents

// warn leaves a warning of the host.
func (p *program) warn(message string) {
	p.warnings = append(p.warnings, message)
	p.give(workflow.Log{ID: fmt.Sprintf("warning#%d", len(p.warnings)), Kind: workflow.NoteWarning, Message: message})
}

// query answers the script at once.
func (p *program) query(name string, payload json.RawMessage) (json.RawMessage, error) {
	if name == "budget" {
		var total *int64
		if p.budget > 0 {
			total = &p.budget
		}
		return json.Marshal(map[string]any{"total": total, "spent": p.spent})
	}
	var in struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	doc, err := p.child(in.Name)
	if err != nil {
		return nil, err
	}
	if !IsScript(doc) {
		return json.RawMessage(`"definition"`), nil
	}
	s := p.factory.parse(in.Name, p.start.Children[in.Name].Digest, p.values)
	if s.err != nil {
		return nil, thrown("Error", workflow.CodeOf(s.err), s.err.Error())
	}
	if _, _, err := Arguments(s.meta, in.Args); err != nil {
		return nil, thrown("TypeError", workflow.CodeOf(err), err.Error())
	}
	return json.RawMessage(`"script"`), nil
}

// child returns the document of a workflow that the run is pinned to.
func (p *program) child(name string) ([]byte, error) {
	ref, ok := p.start.Children[name]
	if !ok {
		message := fmt.Sprintf("there is no workflow %q", name)
		if near := text.Nearest(name, slices.Sorted(maps.Keys(p.start.Children))); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, thrown("Error", workflow.CodeWorkflowNotFound, message)
	}
	return p.values.Load(ref.Digest)
}

// load gives the machine a script that the script calls.
func (p *program) load(name string) (*vm.Script, error) {
	ref := p.start.Children[name]
	ref.Name = name
	s := p.factory.parse(fileOf(ref), ref.Digest, p.values)
	return s.script, s.err
}

// where tells a call and its place for people.
func (p *program) where(k *call) string {
	out := string(k.id)
	if k.label != "" {
		out += fmt.Sprintf(" %q", k.label)
	}
	if f := p.machine.Where(k.at); len(f) > 0 {
		out += " (" + f[0].String() + ")"
	}
	return out
}
