package native_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/native"
)

// longScript is a turn of 20 responses with every kind of tool.
func longScript() string {
	var b strings.Builder
	b.WriteString("version: 1\nreplies:\n")
	for n := 1; n < 20; n++ {
		fmt.Fprintf(&b, "  - turn: %d\n    text: step %d\n    usage: auto\n    tool_calls:\n", n, n)
		switch n % 4 {
		case 1:
			fmt.Fprintf(&b, "      - {name: put, args: {path: f%d, text: one %d}}\n      - {name: get, args: {path: f%d}}\n      - {name: get, args: {path: base}}\n", n, n, n)
		case 2:
			fmt.Fprintf(&b, "      - {name: get, args: {path: f%d}}\n      - {name: get, args: {path: nowhere}}\n      - {name: swap, args: {path: f%d, from: one, to: two}}\n", n-1, n-1)
		case 3:
			fmt.Fprintf(&b, "      - {name: shell, args: {text: line %d}}\n      - {name: todo_write, args: {text: after %d}}\n", n, n)
		default:
			fmt.Fprintf(&b, "      - {name: gett, args: {}}\n      - {name: put, args: {path: f%d, text: three %d}}\n      - {name: put, args: {path: d/e%d, text: four}}\n", n-3, n, n)
		}
	}
	b.WriteString("  - turn: 20\n    text: all done\n    usage: auto\n")
	return b.String()
}

// killed runs the long turn, dying after every after-th record until it ends.
func killed(t *testing.T, first, every int, lazy bool) (executor.Reply, *journal, *hands) {
	t.Helper()
	h, j := newHands(t), newJournal()
	h.fence.Put(t, "base", "the base")
	p := script(t, longScript())
	j.lazy, j.left = lazy, first
	for range 1000 {
		reply, err := native.New(h.config(t, p)).Execute(t.Context(), h.turn(), j)
		switch {
		case err == nil:
			return reply, j, h
		case errors.Is(err, errDead), errors.Is(err, errParked):
		default:
			t.Fatalf("after record %d: %v", j.records, err)
		}
		for _, q := range j.questions {
			if lazy {
				j.say(q.Key, "keep") // it had been done
			} else {
				j.say(q.Key, "redo")
			}
		}
		j.reopen(every)
	}
	t.Fatal("the turn does not end")
	return executor.Reply{}, nil, nil
}

func TestKilledAtEveryRecord(t *testing.T) {
	t.Parallel()
	whole, wholeJournal, wholeHands := killed(t, -1, -1, false)
	if whole.Rounds != 20 || whole.Text != "all done" || wholeJournal.records < 80 || whole.ToolCalls != 52 {
		t.Fatalf("the whole turn: %+v, %d records", whole, wholeJournal.records)
	}
	want := onDisk(wholeHands)
	for n := 1; n <= wholeJournal.records; n++ {
		if testing.Short() && n%9 != 0 {
			continue
		}
		for _, lazy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d lazy %v", n, lazy), func(t *testing.T) {
				t.Parallel()
				got, j, h := killed(t, n, -1, lazy)
				sameEnd(t, got, whole, j, h, want)
			})
		}
	}
	for _, every := range []int{2, 3, 7} {
		t.Run(fmt.Sprintf("every %d", every), func(t *testing.T) {
			t.Parallel()
			got, j, h := killed(t, every, every, false)
			sameEnd(t, got, whole, j, h, want)
		})
	}
}

func sameEnd(t *testing.T, got, whole executor.Reply, j *journal, h *hands, want map[string]string) {
	t.Helper()
	if got.Text != whole.Text || got.Rounds != whole.Rounds || got.ToolCalls != whole.ToolCalls || !reflect.DeepEqual(got.Files, whole.Files) {
		t.Errorf("the reply is %+v, want %+v", got, whole)
	}
	if len(j.changed) > 0 {
		t.Errorf("the requests of %v are others than before", j.changed)
	}
	for key, n := range j.sent {
		if n != 1 {
			t.Errorf("call %s was sent %d times", key, n)
		}
	}
	for what, n := range h.wrote {
		if n != 1 {
			t.Errorf("%s was written %d times", what, n)
		}
	}
	ran := map[string]int{}
	for _, r := range h.ran {
		if strings.HasPrefix(r, "shell") {
			ran[r]++
		}
	}
	for what, n := range ran {
		if n != 1 {
			t.Errorf("%q ran %d times", what, n)
		}
	}
	if len(ran) != 5 {
		t.Errorf("%d commands ran", len(ran))
	}
	if have := onDisk(h); !reflect.DeepEqual(have, want) {
		t.Errorf("the files are %v, want %v", have, want)
	}
}
