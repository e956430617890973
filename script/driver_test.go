package script_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/script"
	"github.com/tenonrun/tenon/workflow"
)

// failer is what the driver needs of a test; a rapid one has it too.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// blobs are the values of a test, by digest.
type blobs map[workflow.Digest][]byte

func (b blobs) Load(d workflow.Digest) ([]byte, error) {
	raw, ok := b[d]
	if !ok {
		return nil, workflow.Errorf(workflow.CodeNotFound, "value %s is not there", d)
	}
	return raw, nil
}

func (b blobs) put(raw []byte) workflow.Digest {
	sum := sha256.Sum256(raw)
	d := workflow.Digest(hex.EncodeToString(sum[:]))
	b[d] = raw
	return d
}

// sample is a script of testdata and what its head says about it.
type sample struct {
	name   string
	text   []byte
	args   json.RawMessage
	result string // "" when it fails
	fails  string
	status workflow.Status
	order  bool // its calls depend on the order of completion
}

func samples(f failer) []sample {
	f.Helper()
	files, err := filepath.Glob("testdata/*.js")
	if err != nil {
		f.Fatalf("%v", err)
	}
	var out []sample
	for _, file := range files {
		if strings.HasSuffix(file, ".workflow.js") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatalf("%v", err)
		}
		s := sample{name: strings.TrimSuffix(filepath.Base(file), ".js"), text: text, status: workflow.StatusSucceeded}
		for line := range strings.Lines(string(text)) {
			what, rest, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "// ")), ": ")
			if !ok || !strings.HasPrefix(line, "// ") {
				break
			}
			switch what {
			case "args":
				s.args = json.RawMessage(rest)
			case "result":
				s.result = rest
			case "fails":
				s.fails, s.status = rest, workflow.StatusFailed
			case "status":
				s.status = workflow.Status(rest)
			case "order":
				s.order = true
			}
		}
		out = append(out, s)
	}
	return out
}

// play is a run without an engine: the test is the world.
type play struct {
	f       failer
	factory *script.Factory
	start   workflow.RunStarted
	values  blobs
	prog    workflow.Program
	rnd     *rand.Rand
	events  []workflow.Event
	wishes  []workflow.Command
	running map[workflow.VisitID]workflow.StartVisit
	order   []workflow.VisitID // of running
	lanes   int                // of agents at once
	started map[workflow.VisitID]int
	settled map[workflow.VisitID]int
	answer  func(workflow.StartVisit) workflow.Settled
	ended   *workflow.Ended
}

var tokens = int64(50)

func begin(f failer, s sample, seed uint64, tune ...func(*play)) *play {
	f.Helper()
	p := &play{
		f: f, factory: script.New(script.Config{}), values: blobs{}, rnd: rand.New(rand.NewPCG(seed, 11)),
		answer: reply, lanes: 16,
	}
	p.start = workflow.RunStarted{
		Workflow: workflow.Ref{Name: s.name, Digest: p.values.put(s.text)}, Kind: workflow.KindScript, Level: 1,
		Children: map[string]workflow.Ref{
			"graph":     {Name: "graph", Digest: p.values.put([]byte(`{"schemaVersion":2}`))},
			"bad-graph": {Name: "bad-graph", Digest: p.values.put([]byte(`{"schemaVersion":2,"x":1}`))},
		},
	}
	if s.args != nil {
		p.start.Inputs = workflow.Inline(s.args)
	}
	for _, name := range []string{"helper", "deep"} {
		text, err := os.ReadFile("testdata/" + name + ".workflow.js")
		if err != nil {
			f.Fatalf("%v", err)
		}
		p.start.Children[name] = workflow.Ref{Name: name, Digest: p.values.put(text)}
	}
	switch s.name {
	case "budget-loop":
		p.start.Options.Budget.MaxTokens = 1000
	case "too-many-agents":
		p.start.Options.Script.MaxAgents = 40
	}
	for _, t := range tune {
		t(p)
	}
	p.renew()
	return p
}

// renew makes a new Program and forgets what runs.
func (p *play) renew() {
	p.f.Helper()
	prog, err := p.factory.New("rtest", p.start, p.values)
	if err != nil {
		p.f.Fatalf("New: %v", err)
	}
	p.prog, p.wishes, p.ended, p.order = prog, nil, nil, nil
	p.running, p.started, p.settled = map[workflow.VisitID]workflow.StartVisit{}, map[workflow.VisitID]int{}, map[workflow.VisitID]int{}
}

// record applies an event and takes the wishes that follow.
func (p *play) record(id workflow.VisitID, payload workflow.Payload) {
	p.f.Helper()
	e := workflow.Event{Seq: int64(len(p.events) + 1), At: workflow.Time(len(p.events)), ID: string(id), Payload: payload}
	p.events = append(p.events, e)
	p.apply(e)
}

func (p *play) apply(e workflow.Event) {
	p.f.Helper()
	if err := p.prog.Apply(e); err != nil {
		p.f.Fatalf("apply %d %s %s: %v", e.Seq, e.Type(), e.ID, err)
	}
	p.note(e)
	var err error
	if p.wishes, err = p.prog.Decide(p.wishes); err != nil {
		p.f.Fatalf("decide: %v", err)
	}
}

// note keeps what runs, and strikes the wish that an event answers.
func (p *play) note(e workflow.Event) {
	id := e.VisitID()
	for i, w := range p.wishes {
		if w.CommandID() != e.ID && e.Type() != workflow.TypeEnded {
			continue
		}
		hit := false
		switch w := w.(type) {
		case workflow.StartVisit:
			if hit = e.Type() == workflow.TypeAdmitted; hit {
				p.running[id] = w
				p.order = append(p.order, id)
				p.started[id]++
			}
		case workflow.SettleVisit:
			hit = e.Type() == workflow.TypeSettled
		case workflow.StartChild:
			hit = e.Type() == workflow.TypeChildStarted
		case workflow.Log:
			hit = e.Type() == workflow.TypeProgress
		case workflow.Complete:
			hit = e.Type() == workflow.TypeEnded
		case workflow.CancelVisit:
			hit = e.Type() == workflow.TypeLost
		}
		if hit {
			p.wishes = slices.Delete(p.wishes, i, i+1)
			break
		}
	}
	switch f := e.Payload.(type) {
	case *workflow.Settled:
		p.settled[id]++
		p.leave(id)
	case *workflow.Lost:
		p.leave(id)
	case *workflow.Ended:
		p.ended = f
	}
}

func (p *play) leave(id workflow.VisitID) {
	delete(p.running, id)
	p.order = slices.DeleteFunc(p.order, func(v workflow.VisitID) bool { return v == id })
}

// step does one thing that a driver would do; false when there is nothing.
func (p *play) step() bool {
	p.f.Helper()
	if p.ended != nil {
		return false
	}
	for i, w := range p.wishes {
		if s, ok := w.(workflow.StartVisit); ok && s.Kind == "agent" && !s.Self && len(p.order) >= p.lanes {
			continue
		}
		p.carryOut(i)
		return true
	}
	var leafs []workflow.VisitID
	for _, id := range p.order {
		if !p.running[id].Self {
			leafs = append(leafs, id)
		}
	}
	if len(leafs) == 0 {
		return false
	}
	id := leafs[p.rnd.IntN(len(leafs))]
	c := p.running[id]
	if c.AI {
		p.record(id, &workflow.InvocationSettled{Status: workflow.InvocationOK, Usage: workflow.Usage{Input: &tokens, Output: &tokens}})
	}
	r := p.answer(c)
	p.record(id, &r)
	return true
}

func (p *play) carryOut(i int) {
	p.f.Helper()
	switch w := p.wishes[i].(type) {
	case workflow.StartVisit:
		a := &workflow.Admitted{Kind: w.Kind, Effect: w.Effect, AI: w.AI, Self: w.Self, Limits: w.Limits}
		if !w.Self {
			a.Params = workflow.Digest(canon.Sum(w.Params))
		}
		p.record(w.Visit, a)
	case workflow.SettleVisit:
		p.record(w.Visit, &w.Result)
	case workflow.StartChild:
		p.record(w.Visit, &workflow.ChildStarted{Run: "rchild", Ref: w.Ref})
		end := &workflow.ChildEnded{Run: "rchild", Status: workflow.StatusSucceeded, Outputs: workflow.Inline(json.RawMessage(`{"echo":` + string(w.Inputs.JSON) + `}`))}
		if w.Ref == "bad-graph" {
			end = &workflow.ChildEnded{Run: "rchild", Status: workflow.StatusFailed, Reasons: []string{"poor"}}
		}
		p.record(w.Visit, end)
	case workflow.Log:
		p.record(workflow.VisitID(w.ID), &workflow.Progress{Kind: w.Kind, Message: w.Message})
	case workflow.Complete:
		e := w.Ended
		p.record("", &e)
	case workflow.CancelVisit:
		if _, ok := p.running[w.Visit]; ok {
			p.record(w.Visit, &workflow.Lost{Code: workflow.CodeAborted})
			return
		}
		p.wishes = slices.DeleteFunc(p.wishes, func(c workflow.Command) bool { return c.CommandID() == string(w.Visit) })
	default:
		p.f.Fatalf("the driver cannot do %T", w)
	}
}

// finish plays to the end.
func (p *play) finish() *workflow.Ended {
	p.f.Helper()
	if len(p.events) == 0 {
		p.record("", &p.start)
	}
	for n := 0; p.step(); n++ {
		if n > 20000 {
			p.f.Fatalf("the run does not end")
		}
	}
	if p.ended == nil {
		p.f.Fatalf("the run rests without an end")
	}
	if err := p.prog.Close(); err != nil {
		p.f.Errorf("close: %v", err)
	}
	return p.ended
}

// cut throws all away but the first n events, as a kill does, and resumes.
func (p *play) cut(n int) {
	p.f.Helper()
	if err := p.prog.Close(); err != nil {
		p.f.Errorf("close: %v", err)
	}
	past := p.events[:n:n]
	p.renew()
	p.events = past
	for _, e := range past {
		p.apply(e)
	}
	p.record("", &workflow.Resumed{})
	for _, id := range slices.Clone(p.order) {
		if !p.running[id].Self {
			p.record(id, &workflow.Lost{Code: workflow.CodeOwnerLost})
		}
	}
}

// reply answers a visit by what its prompt says after "=> ".
func reply(c workflow.StartVisit) workflow.Settled {
	text := func(v any) workflow.Settled {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return workflow.Settled{Outcome: "next", Output: workflow.Inline(raw)}
	}
	failed := func(code workflow.Code) workflow.Settled {
		return workflow.Settled{Outcome: "failed", Status: workflow.VisitFailed, Error: &workflow.Failure{Code: code, Message: "as asked"}}
	}
	switch c.Kind {
	case "question":
		return text(map[string]any{"response": map[string]any{"answer": "red"}})
	case "shell":
		return text(map[string]any{"exitCode": 0, "stdout": "clean", "stderr": ""})
	case "verify":
		return text(map[string]any{"verified": true})
	case "artifact":
		return text(map[string]any{"ok": true})
	}
	var in script.AgentParams
	if err := json.Unmarshal(c.Params, &in); err != nil {
		panic(err)
	}
	_, out, _ := strings.Cut(in.Prompt, "=> ")
	switch out {
	case "!die":
		return failed(workflow.CodeProviderAuth)
	case "!schema":
		return failed(workflow.CodeStructuredOutput)
	case "!empty":
		return text(" ")
	case "!skip":
		return workflow.Settled{Outcome: "skipped"}
	}
	if in.Schema != nil {
		return workflow.Settled{Outcome: "next", Output: workflow.Inline(json.RawMessage(out))}
	}
	return text(out)
}

// check compares the end of a run with the head of its script.
func (p *play) check(s sample) {
	p.f.Helper()
	if p.ended.Status != s.status {
		p.f.Fatalf("%s: ended %s, want %s; failures %v", s.name, p.ended.Status, s.status, p.ended.Failures)
	}
	switch got, ok := p.ended.Outputs["result"]; {
	case s.fails != "":
		if n := len(p.ended.Failures); n == 0 || !strings.Contains(p.ended.Failures[n-1].Message, s.fails) {
			p.f.Fatalf("%s: failures %v, want %q", s.name, p.ended.Failures, s.fails)
		}
	case s.result == "undefined" && ok, s.result != "undefined" && !bytes.Equal(got.JSON, []byte(s.result)):
		p.f.Fatalf("%s: result %s, want %s", s.name, got.JSON, s.result)
	}
}

// names are the visits of the run, sorted.
func (p *play) names() []string {
	var out []string
	for id := range p.started {
		out = append(out, string(id))
	}
	slices.Sort(out)
	return out
}

// commands folds a history in batches and returns all commands.
func (p *play) commands(events []workflow.Event, cut func(int) bool) []string {
	p.f.Helper()
	prog, err := p.factory.New("rtest", p.start, p.values)
	if err != nil {
		p.f.Fatalf("New: %v", err)
	}
	defer prog.Close()
	var out []string
	decide := func() {
		wishes, err := prog.Decide(nil)
		if err != nil {
			p.f.Fatalf("decide: %v", err)
		}
		for _, w := range wishes {
			raw, err := json.Marshal(w)
			if err != nil {
				p.f.Fatalf("%v", err)
			}
			out = append(out, fmt.Sprintf("%T %s", w, raw))
		}
	}
	for i, e := range events {
		if err := prog.Apply(e); err != nil {
			p.f.Fatalf("apply %d %s: %v", e.Seq, e.Type(), err)
		}
		if cut(i) {
			decide()
		}
	}
	decide()
	return out
}

var _ failer = (*testing.T)(nil)
