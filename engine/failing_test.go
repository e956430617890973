package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// failing is a store whose n-th append from now fails.
type failing struct {
	store.Store
	left atomic.Int64
}

var errFull = workflow.Errorf(workflow.CodeStoreFull, "the disk is full")

func (f *failing) Append(ctx context.Context, a store.Append) error {
	if f.left.Add(-1) == 0 {
		return errFull
	}
	return f.Store.Append(ctx, a)
}

// An append that fails ends the command at once, wherever it strikes, and loses
// nothing that was recorded: the next resume goes on, and no settled call is
// made again.
func TestAppendThatFails(t *testing.T) {
	t.Parallel()
	doc := def2("a", step("a", `,"model":"A"`, "both")+`,`+
		`"both":{"kind":"parallel","params":{"branches":{`+
		`"l":{"entry":"x","nodes":{"x":{"kind":"step","params":{"name":"l","model":"L"},"ends":{"next":null,"failed":null}}}},`+
		`"r":{"entry":"x","nodes":{"x":{"kind":"step","params":{"name":"r","effect":"write"},"ends":{"next":null,"failed":null}}}}`+
		`}},"ends":{"next":"done","fail":"bad"}},`+ends)
	for n := int64(1); n < 30; n++ {
		r := newRig(t)
		bad := &failing{Store: r.store}
		bad.left.Store(n)
		r.store = bad
		r.reopen()
		l := launch(t, doc)
		l.ID = "rtest"
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		res, err := r.engine.Start(ctx, l)
		cancel()
		if err == nil {
			wantStatus(t, res, workflow.StatusSucceeded)
			if n < 5 {
				t.Fatalf("only %d appends for this run", n)
			}
			return
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("append %d failed, and the run told %v", n, err)
		}
		if n == 1 {
			if _, err := r.engine.Inspect(t.Context(), "rtest"); workflow.CodeOf(err) != workflow.CodeRunNotFound {
				t.Fatalf("a run whose first append failed is there: %v", err)
			}
			continue
		}
		wantStatus(t, r.drive("rtest"), workflow.StatusSucceeded)
		for _, call := range []string{"call:A", "call:L"} {
			if got := r.w.count(call); got > 2 {
				t.Errorf("append %d failed: %s was made %d times", n, call, got)
			}
		}
	}
	t.Fatal("the run never came to its end")
}

// An append that fails under pieces that ask and look, and above a child run,
// ends the command too, and the run goes on later.
func TestAppendThatFailsUnderQuestionsAndChildren(t *testing.T) {
	t.Parallel()
	child := def2("k", step("k", `,"model":"K"`, "done")+","+ends)
	doc := def2("both", `"both":{"kind":"parallel","params":{"branches":{`+
		`"look":{"entry":"x","nodes":{"x":{"kind":"step","params":{"name":"look","look":true,"model":"L"},"ends":{"next":null,"failed":null}}}},`+
		`"kid":{"entry":"x","nodes":{"x":{"kind":"workflow","params":{"name":"child"},"ends":{"next":null,"failed":null}}}},`+
		`"q":{"entry":"x","nodes":{"x":{"kind":"question","params":{"text":"?"},"ends":{"next":null}}}}`+
		`}},"ends":{"next":"done","fail":"bad"}},`+ends)
	for n := int64(1); n < 40; n++ {
		r := newRig(t)
		bad := &failing{Store: r.store}
		bad.left.Store(n)
		r.store = bad
		r.reopen()
		l := launch(t, doc)
		l.ID = "rtest"
		l.Blobs = [][]byte{[]byte(child)}
		l.Started.Children = map[string]workflow.Ref{"child": launch(t, child).Started.Workflow}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		res, err := r.engine.Start(ctx, l)
		cancel()
		if err == nil && bad.left.Load() > 0 {
			wantStatus(t, res, workflow.StatusWaiting)
			return
		}
		if n == 1 {
			continue
		}
		res = r.drive("rtest")
		wantStatus(t, res, workflow.StatusWaiting)
		r.answer(res.Questions[0], "yes")
		wantStatus(t, r.drive("rtest"), workflow.StatusSucceeded)
		if got := r.w.count("call:K"); got > 2 {
			t.Errorf("append %d failed: the child's call was made %d times", n, got)
		}
	}
	t.Fatal("the run never came to rest")
}
