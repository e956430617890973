package graph_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workflow"
)

// What a map runs over is fixed when it begins: a snapshot that would read
// another list is refused, so that the history is read instead.
func TestSnapshotOfAMapWhoseListChanged(t *testing.T) {
	t.Parallel()
	p := prepare(t, doc2(graphOf("a", node("a", "assign", `{"set":{"list":[1,2,3]}}`, "next>m", "failed>bad"), node("m", "map", `{"over":{"expr":"$vars.list"},"body":"one","concurrency":1}`, "next>j"), node("j", "join", `{"reduce":"all-ok"}`, "next>done", "fail>bad")),
		components("one", body("w", task("w", "")))))
	p.open()
	for _, list := range []any{[]int{1, 2, 4}, []int{1}} {
		p.fork(workflow.Patch{Vars: map[string]workflow.Value{"list": value(list)}})
		raw, err := p.prog.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.fresh().Restore(raw); err == nil || !strings.Contains(err.Error(), "m#1") {
			t.Errorf("a snapshot with another list is restored: %v", err)
		}
	}
	p.next("m/w", "m/w")
	p.wantLookup("m/w", "3", "$item", "value")
}

func TestSnapshotsThatDoNotFit(t *testing.T) {
	t.Parallel()
	p := prepare(t, doc2(graphOf("w", task("w", "p"), node("p", "parallel", `{"branches":{"a":`+body("w", task("w", ""))+`}}`, "next>done", "fail>bad"))))
	p.open()
	p.next("w")
	good, err := p.prog.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for what, raw := range map[string]string{
		"no JSON":           `{`,
		"a missing scope":   `{"visits":[{"id":"w#1","node":"w","scope":"gone","number":1,"state":"wanted"}]}`,
		"a missing node":    `{"scopes":[{"id":""}],"visits":[{"id":"x#1","node":"x","number":1,"state":"wanted"}]}`,
		"a missing origin":  `{"scopes":[{"id":""},{"id":"x","origin":"c#1"}]}`,
		"a missing branch":  strings.ReplaceAll(string(good), `"path":"p/a"`, `"path":"p/b"`),
		"a branch of no id": strings.ReplaceAll(string(good), `"path":"p/a"`, `"path":""`),
	} {
		if err := p.fresh().Restore([]byte(raw)); err == nil {
			t.Errorf("%s: it is restored", what)
		}
	}
	if err := p.apply(about("p#1[a]/w#1", "", 1, 1), &workflow.Admitted{Kind: "work"}); err != nil {
		t.Fatal(err)
	}
	p.must(p.apply(about("p#1[a]/w#1", "", 1, 1), &workflow.Settled{Outcome: "next"}))
	if _, err := p.prog.Snapshot(); err == nil {
		t.Error("a snapshot is taken before the wishes are handed out")
	}
}
