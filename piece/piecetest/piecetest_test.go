package piecetest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

var _ interface {
	piece.Context
	piece.Candidater
	executor.Host
} = (*piecetest.Context)(nil)

func TestMemo(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	ex := &piecetest.Executor{Steps: []piecetest.Step{{Text: "one"}, {Err: boom}, {Text: "two"}}}
	c := &piecetest.Context{Executor: ex}
	for _, tc := range []struct {
		key, text string
		calls     int
		err       error
	}{{"a", "one", 1, nil}, {"a", "one", 1, nil}, {"b", "", 2, boom}, {"b", "two", 3, nil}, {"b", "two", 3, nil}} {
		r, err := c.Turn(t.Context(), executor.Turn{Key: tc.key})
		if r.Text != tc.text || !errors.Is(err, tc.err) || c.Calls() != tc.calls {
			t.Errorf("%s: %q, %v after %d calls", tc.key, r.Text, err, c.Calls())
		}
	}
	if len(ex.Turns()) != 5 {
		t.Errorf("%d turns", len(ex.Turns()))
	}
	if _, err := c.Turn(t.Context(), executor.Turn{Key: "c"}); err == nil {
		t.Error("a turn that is not in the list was answered")
	}
	if _, err := new(piecetest.Context).Turn(t.Context(), executor.Turn{}); err == nil {
		t.Error("answered without an executor")
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	c := &piecetest.Context{}
	if err := c.Answer(workflow.Answer{}); err == nil {
		t.Error("answered nothing")
	}
	for range 2 {
		if _, err := c.Ask(t.Context(), piece.Ask{Round: 1, Text: "x?", Bound: "c1:a"}); !errors.Is(err, piece.ErrPaused) {
			t.Fatalf("got %v", err)
		}
	}
	if err := c.Answer(workflow.Answer{Value: workflow.Text("y")}); err != nil {
		t.Fatal(err)
	}
	a, err := c.Ask(t.Context(), piece.Ask{Round: 1, Bound: "c1:b"})
	if err != nil || string(a.Value.JSON) != `"y"` || a.Bound != "c1:a" || a.Question != "q1" || c.Open() != nil {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	c := &piecetest.Context{
		State:  map[string]any{"$vars": map[string]any{"list": []any{"a", "b"}, "none": nil}},
		Values: map[workflow.Digest]json.RawMessage{"d": json.RawMessage(`1`)},
	}
	for _, tc := range []struct {
		root string
		path []string
		want any
		ok   bool
	}{{"$vars", []string{"list", "1"}, "b", true}, {"$vars", []string{"none"}, nil, true}, {"$vars", []string{"x"}, nil, false}, {"$item", nil, nil, false}} {
		if v, ok, err := c.Lookup(t.Context(), tc.root, tc.path...); v != tc.want || ok != tc.ok || err != nil {
			t.Errorf("%s %v: %v, %v, %v", tc.root, tc.path, v, ok, err)
		}
	}
	if raw, err := c.Load(workflow.Value{Digest: "d"}); string(raw) != "1" || err != nil {
		t.Errorf("%s, %v", raw, err)
	}
	if _, err := c.Load(workflow.Value{Digest: "e"}); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("got %v", err)
	}
	if err := c.Note(t.Context(), "k", "m"); err != nil || c.Notes()[0] != "k: m" {
		t.Errorf("%v, %q", err, c.Notes())
	}
}
