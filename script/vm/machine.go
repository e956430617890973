package vm

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/quickjs"
)

//go:embed prelude.js
var prelude string

// Config bounds a Machine and tells how it is answered.
type Config struct {
	Memory int64         // bytes; 0 is 256 MiB
	Depth  int           // nested calls; 0 is 4,096
	Time   time.Duration // of one drain; 0 is 30 s
	// Globals is JavaScript: an expression for a function of the host that gives
	// an object, whose members become the globals of scripts. See prelude.js for
	// what the host offers.
	Globals string
	// Query answers host.query: a name and a JSON text ("" is undefined). It is
	// pure. An error is thrown in the script.
	Query func(name string, payload json.RawMessage) (json.RawMessage, error)
	// Accept is told of each call when it is made. An error is thrown in the
	// script, and the call is not there. Nil accepts all.
	Accept func(c Call) error
	// Load finds another script by name. An error is thrown in the script.
	Load func(name string) (*Script, error)
}

// Call is a call of the host that a script made.
type Call struct {
	ID      int // for Settle; from 1
	Kind    string
	Scope   string // path of the scopes around it; "" is the body of the script
	Ordinal int    // of the calls of the kind in the scope, from 1
	Payload json.RawMessage
	stack   string
}

// Name is the structural name of the call.
func (c Call) Name() string {
	name := fmt.Sprintf("%s#%d", c.Kind, c.Ordinal)
	if c.Scope != "" {
		name = c.Scope + "/" + name
	}
	return name
}

// Outcome is how a call ends: a value (nil is undefined) or an error.
type Outcome struct {
	Value json.RawMessage
	Err   *Thrown
}

// Machine is one run of a script. One goroutine uses it at a time.
type Machine struct {
	cfg     Config
	js      *quickjs.VM
	start   quickjs.Value
	settle  quickjs.Value
	calls   []Call
	next    int
	scripts []loaded
	lines   int // of code so far
	done    *Outcome
	dead    error
	closed  bool
	work    atomic.Int64 // number of the drain that goes on; 0 is none
	drains  int64
	halted  atomic.Bool
}

// loaded is a script and the line before its code.
type loaded struct {
	script *Script
	before int
}

// firstLine keeps the lines of scripts apart from those of the preludes.
const firstLine = 2000

// New makes a Machine. The caller closes it.
func New(cfg Config) (*Machine, error) {
	if cfg.Memory == 0 {
		cfg.Memory = 256 << 20
	}
	if cfg.Depth == 0 {
		cfg.Depth = 4096
	}
	if cfg.Time == 0 {
		cfg.Time = 30 * time.Second
	}
	if cfg.Globals == "" {
		cfg.Globals = "() => ({})"
	}
	js, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("making a script machine: %w", err)
	}
	m := &Machine{cfg: cfg, js: js, lines: firstLine}
	if err := m.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("making a script machine: %w", err), m.Close())
	}
	return m, nil
}

// hosts are the functions of the prelude, in the order of its parameters.
var hosts = []string{"hostCall", "hostQuery", "hostLoad", "hostFold", "hostDone"}

func (m *Machine) prepare() error {
	m.js.SetMemoryLimit(uintptr(m.cfg.Memory))
	m.js.SetMaxStackSize(uintptr(m.cfg.Depth))
	m.js.SetGCThreshold(8 << 20) // most scripts end before they make that much garbage
	funcs := []any{m.hostCall, m.hostQuery, m.hostLoad, fold, m.hostDone}
	for i, name := range hosts {
		if err := m.js.RegisterFunc(name, funcs[i], false); err != nil {
			return err
		}
	}
	code := "(() => { const made = (" + prelude + ")(" + strings.Join(hosts, ", ") + "); made[0](" + m.cfg.Globals + "\n); return made; })()"
	made, err := m.js.EvalValue(code, quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	defer made.Free()
	for i, at := range []*quickjs.Value{1: &m.start, 2: &m.settle} {
		if at == nil {
			continue
		}
		name, err := m.js.NewAtom(fmt.Sprint(i))
		if err != nil {
			return err
		}
		if *at, err = made.GetPropertyValue(name); err != nil {
			return err
		}
	}
	forget := "delete globalThis." + strings.Join(hosts, "; delete globalThis.") + "; undefined"
	if _, err := m.js.Eval(forget, quickjs.EvalGlobal); err != nil {
		return err
	}
	return m.js.SetEvalTimeout(m.cfg.Time)
}

// fold shortens the path of a scope that is nested deep.
func fold(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "~" + hex.EncodeToString(sum[:10])
}

// hostCall gives the id of the call, or a fault.
func (m *Machine) hostCall(kind, scope string, ordinal int, payload, stack string) string {
	c := Call{ID: m.next + 1, Kind: kind, Scope: scope, Ordinal: ordinal, Payload: json.RawMessage(payload), stack: stack}
	if m.cfg.Accept != nil {
		if err := m.cfg.Accept(c); err != nil {
			raw, err := json.Marshal(faultOf(err))
			if err != nil {
				return `{"message":"the call is refused"}`
			}
			return string(raw)
		}
	} else {
		m.calls = append(m.calls, c)
	}
	m.next++
	return strconv.Itoa(c.ID)
}

// hostQuery gives {value} or {error}.
func (m *Machine) hostQuery(name, payload string) string {
	var out struct {
		Value json.RawMessage `json:"value,omitempty"`
		Error *fault          `json:"error,omitempty"`
	}
	var err error
	if m.cfg.Query == nil {
		err = fmt.Errorf("there is no %s", name)
	} else {
		out.Value, err = m.cfg.Query(name, json.RawMessage(payload))
	}
	if err != nil {
		out.Error = faultOf(err)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return `{"error":{"message":"the answer is not JSON"}}`
	}
	return string(raw)
}

func (m *Machine) hostDone(ok bool, text string) {
	if m.done != nil {
		return
	}
	m.done = &Outcome{}
	if ok {
		if text != "" {
			m.done.Value = json.RawMessage(text)
		}
		return
	}
	m.done.Err = m.thrown(text)
}

// hostLoad gives the main function of another script.
func (m *Machine) hostLoad(name string) quickjs.Value {
	v, err := m.load(name)
	if err != nil {
		raw, jerr := json.Marshal(err.Error())
		if jerr != nil {
			raw = []byte(`"the script cannot be loaded"`)
		}
		thrower, terr := m.js.EvalValue("(() => { throw new Error("+string(raw)+") })", quickjs.EvalGlobal)
		if terr != nil {
			return quickjs.UndefinedValue
		}
		return thrower
	}
	return v
}

func (m *Machine) load(name string) (quickjs.Value, error) {
	if m.cfg.Load == nil {
		return quickjs.Value{}, fmt.Errorf("there is no script %q", name)
	}
	s, err := m.cfg.Load(name)
	if err != nil {
		return quickjs.Value{}, err
	}
	return m.eval(s)
}

// eval makes the main function of a script. Its code is put on lines of its own,
// so that places in it can be told.
func (m *Machine) eval(s *Script) (quickjs.Value, error) {
	m.scripts = append(m.scripts, loaded{s, m.lines})
	v, err := m.js.EvalValue(strings.Repeat("\n", m.lines)+s.code, quickjs.EvalGlobal)
	m.lines += s.size + 1
	if err != nil {
		return v, m.refusal(s, err)
	}
	return v, nil
}

// refusal words what the engine, but not the first parser, does not take.
func (m *Machine) refusal(s *Script, err error) error {
	out := &SyntaxError{File: s.File, Line: 1, Column: 1, Msg: err.Error()}
	var e *quickjs.Error
	if errors.As(err, &e) {
		out.Msg = e.Message
		if f, ok := m.frame("", e.LineNumber, e.ColumnNumber); ok {
			out.Line, out.Column = f.Line, f.Col
		}
	}
	return out
}

// Run begins the script and drains. args is nil for undefined.
func (m *Machine) Run(s *Script, args json.RawMessage) error {
	if m.dead != nil {
		return m.dead
	}
	main, err := m.eval(s)
	if err != nil {
		m.dead = err
		return err
	}
	defer main.Free()
	return m.drain(func() error {
		_, err := m.start.Call(quickjs.UndefinedValue, main, string(args))
		return err
	})
}

// Settle ends a call and drains what follows from it. Calls made meanwhile are
// taken with Take. An error is a *Bound.
func (m *Machine) Settle(id int, o Outcome) error {
	if m.dead != nil {
		return m.dead
	}
	text := string(o.Value)
	if o.Err != nil {
		raw, err := json.Marshal(faultOf(o.Err))
		if err != nil {
			return err
		}
		text = string(raw)
	}
	return m.drain(func() error {
		_, err := m.settle.Call(quickjs.UndefinedValue, id, o.Err == nil, text)
		return err
	})
}

// drain begins something and does what follows from it.
func (m *Machine) drain(begin func() error) error {
	m.drains++
	m.halted.Store(false)
	m.work.Store(m.drains)
	defer m.work.Store(0)
	err := begin()
	if err == nil {
		_, err = m.js.ExecutePendingJobs()
	}
	if err == nil {
		return nil
	}
	m.dead = m.bound(err)
	return m.dead
}

// Work numbers the drain that goes on; 0 is none. Any goroutine may ask.
func (m *Machine) Work() int64 { return m.work.Load() }

// Halt ends the drain that goes on. Any goroutine may call it; between drains it
// does nothing.
func (m *Machine) Halt() {
	if m.work.Load() != 0 {
		m.halted.Store(true)
		m.js.Interrupt()
	}
}

// bound words the end of a machine that did too much.
func (m *Machine) bound(err error) error {
	msg := err.Error()
	switch {
	case strings.Contains(msg, "interrupted") && m.halted.Load():
		return &Bound{Kind: BoundHalt, Msg: "the script was stopped in the middle of its code"}
	case strings.Contains(msg, "interrupted"):
		return &Bound{Kind: BoundTime, Msg: fmt.Sprintf("the script ran for %v without waiting for a call: it looks like an endless loop", m.cfg.Time)}
	case strings.Contains(msg, "pending jobs"):
		return &Bound{Kind: BoundJobs, Msg: "the script awaits again and again without any call that could end it: it looks like an endless loop"}
	case strings.Contains(msg, "memory"), msg == "null", msg == "":
		return &Bound{Kind: BoundMemory, Msg: fmt.Sprintf("the script needs more than %d MiB of memory", m.cfg.Memory>>20)}
	}
	return &Bound{Kind: BoundMemory, Msg: "the script cannot go on: " + msg}
}

// Take returns the calls made since the last Take, in their order. With Accept
// there are none.
func (m *Machine) Take() []Call {
	out := m.calls
	m.calls = nil
	return out
}

// Done returns the end of the script, nil while it goes on.
func (m *Machine) Done() *Outcome { return m.done }

// Where tells the place in the scripts from which a call was made.
func (m *Machine) Where(c Call) []Frame { return m.frames(c.stack) }

// Close frees the machine. It may be called twice.
func (m *Machine) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	if m.dead == nil {
		m.dead = errors.New("the script machine is closed")
	}
	for _, v := range []*quickjs.Value{&m.start, &m.settle} {
		if v.VM() != nil {
			v.Free()
		}
	}
	return m.js.Close()
}
