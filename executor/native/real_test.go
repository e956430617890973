package native_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/files"
	"github.com/tenonrun/tenon/tool/plan"
)

const realScript = `
version: 1
replies:
  - {turn: 1, tool_calls: [{name: ls, args: {}}, {name: read, args: {path: main.go}}, {name: todo_write, args: {todos: [{id: a, content: mend it, status: in_progress}]}}]}
  - {turn: 2, tool_calls: [{name: edit, args: {path: main.go, old_string: bug, new_string: fix}}, {name: write, args: {path: doc/new.md, content: "words\n"}}]}
  - {turn: 3, tool_calls: [{name: grep, args: {pattern: fix}}, {name: glob, args: {pattern: "**/*.md"}}, {name: read, args: {path: doc/new.md}}]}
  - {turn: 4, tool_calls: [{name: submit, args: {answer: {n: 2}}}]}
`

// The floor tools and the loop agree about evidence, sessions and the answer.
func TestFloorToolsKilled(t *testing.T) {
	t.Parallel()
	records := 0
	for n := 0; n == 0 || n <= records; n++ {
		for _, lazy := range []bool{false, true} {
			h, j := newHands(t), newJournal()
			h.fence.Put(t, "main.go", "package main // bug\n")
			set, err := tool.NewSet(append(files.Tools(files.Config{}), plan.Tools(nil)...)...)
			if err != nil {
				t.Fatal(err)
			}
			e := native.New(native.Config{Provider: script(t, realScript), Submit: plan.Submit,
				Equip: func(executor.Turn) (native.Gear, error) {
					return native.Gear{Tools: set, Open: func(context.Context) (tool.Fence, error) { return h.fence, nil }}, nil
				}})
			in := h.turn()
			in.Schema = json.RawMessage(shape)
			if j.lazy = lazy; n > 0 {
				j.left = n
			}
			r, err := e.Execute(t.Context(), in, j)
			if errors.Is(err, errDead) {
				j.reopen(-1)
				r, err = e.Execute(t.Context(), in, j)
			}
			if err != nil || string(r.Structured) != `{"n":2}` || r.ToolCalls != 9 || strings.Join(r.Files, " ") != "main.go doc/new.md" {
				t.Fatalf("lazy %v, killed after record %d: %+v, %v", lazy, n, r, err)
			}
			if h.fence.Get(t, "main.go") != "package main // fix\n" || h.fence.Get(t, "doc/new.md") != "words\n" || len(j.changed) > 0 {
				t.Errorf("lazy %v, killed after record %d: %v, changed requests %v", lazy, n, onDisk(h), j.changed)
			}
			for key, memo := range j.memos {
				var s struct{ Error bool }
				if json.Unmarshal(memo, &s) == nil && s.Error {
					t.Errorf("lazy %v, killed after record %d: step %s: %s", lazy, n, key, memo)
				}
			}
			if n == 0 {
				records = j.records
			}
		}
	}
	if records != 15 {
		t.Errorf("there are %d records", records)
	}
}
