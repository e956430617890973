package engine_test

import (
	"testing"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/workflow"
)

// TestForkIsDrivenByAnother: who made a fork remembers it, and what another
// process did with it meanwhile counts all the same.
func TestForkIsDrivenByAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("a", step("a", "", "ask")+`,"ask":{"kind":"question","params":{"text":"Which?"},"ends":{"next":"b"}},`+
		step("b", `,"output":"{{answers.ask}}"`, "done")+","+ends))
	wantStatus(t, res, workflow.StatusWaiting)
	maker := r.engine
	fork := func() workflow.RunID {
		t.Helper()
		id, err := maker.Fork(t.Context(), engine.ForkRequest{Run: res.Run, Node: "ask", Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first, second := fork(), fork() // only the second is remembered
	r.reopen()
	for _, id := range []workflow.RunID{first, second} {
		got := r.drive(id)
		wantStatus(t, got, workflow.StatusWaiting)
		r.answer(got.Questions[0], "this")
		end, err := maker.Drive(t.Context(), id, "tester")
		if err != nil {
			t.Fatal(err)
		}
		wantStatus(t, end, workflow.StatusSucceeded)
		if got := string(end.Outputs["b"]); got != `"this"` {
			t.Errorf("run %s gives %s", id, got)
		}
		wantStatus(t, r.drive(id), workflow.StatusSucceeded)
	}
	third := fork()
	got, err := maker.Drive(t.Context(), third, "tester")
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, got, workflow.StatusWaiting)
	r.answer(got.Questions[0], "that")
	wantStatus(t, r.drive(third), workflow.StatusSucceeded)
	if r.w.count("a") != 1 {
		t.Errorf("the shared visit was made %d times", r.w.count("a"))
	}
}
