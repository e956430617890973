package history_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

const secret = "hunter2-swordfish"

// nothing is a store without values.
type nothing struct{}

func (nothing) Load(d workflow.Digest) ([]byte, error) {
	return nil, workflow.Errorf(workflow.CodeNotFound, "value %s is not there", d)
}

func newSink() *history.Sink {
	return &history.Sink{Redact: text.NewRedactor(nil, secret), Values: history.NewLayered(nothing{})}
}

func told(s string) string { return "it said " + s + " twice" }

func toldAll(s string) []string { return []string{told(s), s} }

func quoted(s string) workflow.Value {
	return workflow.Inline(json.RawMessage(`{"deep":["` + s + `"]}`))
}

func named(s string) map[string]workflow.Value {
	return map[string]workflow.Value{"a": quoted(s), "b": {}}
}

// payloads are all types with a text in every place that may hold one.
func payloads(s string) []workflow.Payload {
	return []workflow.Payload{
		&workflow.RunStarted{Inputs: quoted(s), Launch: workflow.Launch{Tickets: quoted(s), Specs: quoted(s)}, Options: workflow.Options{Session: quoted(s)}},
		&workflow.Settled{
			Output: quoted(s), Vars: named(s), Private: quoted(s), History: told(s), Error: &workflow.Failure{Code: "c", Message: told(s)},
			Answers: []workflow.NamedAnswer{{Value: quoted(s)}}, Completion: &workflow.Completion{Reasons: toldAll(s)}, Warnings: toldAll(s),
			Made: &workflow.Made{Title: told(s)},
		},
		&workflow.StepSettled{Memo: quoted(s), About: told(s), Why: told(s), Made: &workflow.Made{Title: told(s), Mime: told(s)}},
		&workflow.InvocationReserved{RouteReason: told(s)},
		&workflow.InvocationSettled{Memo: quoted(s), Message: told(s)},
		&workflow.Progress{Message: told(s), Data: quoted(s)},
		&workflow.Retrying{Message: told(s)},
		&workflow.Lost{Message: told(s)},
		&workflow.Refused{Message: told(s)},
		&workflow.BreakerOpened{Message: told(s)},
		&workflow.QuestionOpened{Question: workflow.Question{Text: told(s), Options: toldAll(s), Schema: json.RawMessage(`{"enum":["` + s + `"]}`)}},
		&workflow.QuestionAnswered{Answer: workflow.Answer{Value: quoted(s), Reason: told(s)}},
		&workflow.ChildStarted{Inputs: quoted(s)},
		&workflow.ChildEnded{Outputs: quoted(s), Reasons: toldAll(s), Made: []workflow.MadeBy{{Made: workflow.Made{Title: told(s)}}}},
		&workflow.Signal{Value: quoted(s)},
		&workflow.Steered{Text: told(s)},
		&workflow.CancelRequested{Reason: told(s)},
		&workflow.Forked{Request: quoted(s), Patch: workflow.Patch{Vars: named(s), Outputs: named(s), Answers: named(s)}},
		&workflow.Ended{
			Outputs: named(s), Completion: &workflow.Completion{Reasons: toldAll(s)}, Failures: []workflow.Failure{{Message: told(s)}}, Warnings: toldAll(s),
		},
	}
}

func encoded(t *testing.T, p workflow.Payload) string {
	t.Helper()
	raw, err := workflow.EncodePayload(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSinkHidesSecrets(t *testing.T) {
	t.Parallel()
	plain := payloads("quite ordinary")
	for i, p := range payloads(secret) {
		typ := p.EventType()
		before := strings.Count(encoded(t, p), secret)
		s := newSink()
		s.Clean(p)
		got := encoded(t, p)
		if strings.Contains(got, secret) || strings.Count(got, text.Mark) != before {
			t.Errorf("%s keeps a secret or loses its place: %s", typ, got)
		}
		if s.Bytes < before*len(text.Mark) {
			t.Errorf("%s counts %d bytes", typ, s.Bytes)
		}
		want := encoded(t, plain[i])
		newSink().Clean(plain[i])
		if got := encoded(t, plain[i]); got != want {
			t.Errorf("%s without a secret changes from %s to %s", typ, want, got)
		}
	}
}

// The shortest secret that is known is hidden too.
func TestSinkHidesShortSecrets(t *testing.T) {
	t.Parallel()
	s := &history.Sink{Redact: text.NewRedactor(nil, "s3cret-8"), Values: history.NewLayered(nothing{})}
	p := &workflow.Steered{Text: "s3cret-8"}
	s.Clean(p)
	if p.Text != text.Mark {
		t.Errorf("it is told: %s", p.Text)
	}
}

// Lists that the program may still hold are not written to.
func TestSinkCopiesLists(t *testing.T) {
	t.Parallel()
	failures, reasons, vars := []workflow.Failure{{Message: told(secret)}}, toldAll(secret), named(secret)
	c := workflow.Completion{Reasons: reasons}
	newSink().Clean(&workflow.Ended{Failures: failures, Completion: &c, Outputs: vars})
	if failures[0].Message != told(secret) || reasons[1] != secret || !strings.Contains(string(vars["a"].JSON), secret) {
		t.Errorf("they are now %v, %v, %v", failures, reasons, vars)
	}
}

func TestSinkStoresLargeValues(t *testing.T) {
	t.Parallel()
	textOf := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	for n, inline := range map[int]bool{2: true, 4095: true, workflow.InlineLimit: true, workflow.InlineLimit + 1: false, 100_000: false} {
		s := newSink()
		p := &workflow.Signal{Name: "go", Value: workflow.Inline(textOf(n))}
		s.Clean(p)
		if (p.Value.JSON != nil) != inline || s.Bytes != n {
			t.Errorf("a value of %d bytes: inline %v, %d bytes are counted", n, p.Value.JSON != nil, s.Bytes)
		}
		if !inline && p.Value.Size != n {
			t.Errorf("its size is told as %d", p.Value.Size)
		}
		raw, err := p.Value.Load(s.Values)
		if err != nil || !bytes.Equal(raw, textOf(n)) {
			t.Errorf("a value of %d bytes comes back as %d (%v)", n, len(raw), err)
		}
		blobs := s.Values.Take()
		if len(blobs) == 0 != inline {
			t.Errorf("%d values are to be stored", len(blobs))
		}
		s.Values.Clear()
		if _, err := p.Value.Load(s.Values); (err == nil) != inline {
			t.Errorf("after the append a value of %d bytes gives %v", n, err)
		}
		was := p.Value
		s.Clean(p) // a reference stays as it is
		if !inline && p.Value.Digest != was.Digest {
			t.Errorf("a reference became %+v", p.Value)
		}
	}
}

// The same text is one value, and a secret never reaches the store.
func TestSinkSharesValues(t *testing.T) {
	t.Parallel()
	s := newSink()
	big := func() workflow.Value {
		return workflow.Inline(json.RawMessage(`["` + strings.Repeat("y", 5000) + secret + `"]`))
	}
	p := &workflow.Settled{Output: big(), Vars: map[string]workflow.Value{"v": big()}}
	s.Clean(p)
	blobs := s.Values.Take()
	if len(blobs) != 1 || p.Output.Digest != p.Vars["v"].Digest || blobs[0].Digest != p.Output.Digest {
		t.Fatalf("%d values for one text", len(blobs))
	}
	if bytes.Contains(blobs[0].Data, []byte(secret)) {
		t.Error("the stored value holds the secret")
	}
}
