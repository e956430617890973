// Command dbos is DBOS Transact for Go over SQLite that really syncs: the handle
// is our own, because the one that DBOS opens from a URL does not.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"

	"github.com/tenonrun/tenon/bench/contender"
)

const topic = "answers"

// plan is the input of every workflow of the bench.
type plan struct {
	Steps, Grow int
	Wait        bool // for a message after the steps, then one more step
}

type engine struct {
	ctx  dbos.Context
	db   *sql.DB
	step func()
	seen chan struct{} // one per step, as far as there is room
}

func main() { contender.Main(open) }

func open(t contender.Task, step func()) (contender.Contender, error) {
	// The options of DBOS's own handle, with FULL in place of NORMAL.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.Dir, "dbos.db")+
		"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	e := &engine{db: db, step: step, seen: make(chan struct{}, 1)}
	e.ctx, err = dbos.NewContext(context.Background(), dbos.Config{
		AppName: "bench", SQLiteSystemDB: db, ApplicationVersion: "bench", ExecutorID: "bench",
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(e.ctx, e.chain, dbos.WithWorkflowName("chain"))
	dbos.RegisterWorkflow(e.ctx, e.fan, dbos.WithWorkflowName("fan"))
	return e, dbos.Launch(e.ctx)
}

// one is the trivial step.
func (e *engine) one(grow int) dbos.Step[string] {
	return func(context.Context) (string, error) {
		e.step()
		select {
		case e.seen <- struct{}{}:
		default:
		}
		return strings.Repeat("x", grow), nil
	}
}

func (e *engine) chain(ctx dbos.Context, p plan) (int, error) {
	for range p.Steps {
		if _, err := dbos.RunAsStep(ctx, e.one(p.Grow)); err != nil {
			return 0, err
		}
	}
	if !p.Wait {
		return p.Steps, nil
	}
	if _, err := dbos.Recv[string](ctx, topic, time.Hour); err != nil {
		return 0, err
	}
	_, err := dbos.RunAsStep(ctx, e.one(0))
	return p.Steps + 1, err
}

func (e *engine) fan(ctx dbos.Context, n int) (int, error) {
	all := make([]<-chan dbos.StepOutcome[string], n)
	for i := range all {
		var err error
		if all[i], err = dbos.Go(ctx, e.one(0)); err != nil {
			return 0, err
		}
	}
	for _, c := range all {
		if o := <-c; o.Err != nil {
			return 0, o.Err
		}
	}
	_, err := dbos.RunAsStep(ctx, e.one(0))
	return n, err
}

func (e *engine) start(name string, p plan) (dbos.WorkflowHandle[int], error) {
	return dbos.RunWorkflow(e.ctx, e.chain, p, dbos.WithWorkflowID(name))
}

// Chain implements contender.Contender.
func (e *engine) Chain(name string, n, grow int) error {
	h, err := e.start(name, plan{Steps: n, Grow: grow})
	if err != nil {
		return err
	}
	_, err = h.GetResult()
	return err
}

// Many implements contender.Contender.
func (e *engine) Many(runs, n int) error {
	errs := make(chan error, runs)
	for i := range runs {
		go func() { errs <- e.Chain(fmt.Sprint("many-", i), n, 0) }()
	}
	for range runs {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// Fan implements contender.Contender.
func (e *engine) Fan(n int) error {
	h, err := dbos.RunWorkflow(e.ctx, e.fan, n, dbos.WithWorkflowID("fan"))
	if err != nil {
		return err
	}
	_, err = h.GetResult()
	return err
}

// Ask implements contender.Contender. That the run waits is seen in the
// database: a step of Recv is written when it begins to wait.
func (e *engine) Ask(name string, n int) error {
	if _, err := e.start(name, plan{Steps: n, Wait: true}); err != nil {
		return err
	}
	for done := 0; done < n; {
		time.Sleep(5 * time.Millisecond)
		err := e.db.QueryRow("SELECT count(*) FROM operation_outputs WHERE workflow_uuid = ?", name).Scan(&done)
		if err != nil {
			return err
		}
	}
	time.Sleep(20 * time.Millisecond)
	return nil
}

// Answer implements contender.Contender: Launch has recovered the run already.
func (e *engine) Answer(name string) error {
	if err := dbos.Send(e.ctx, name, "yes", topic); err != nil {
		return err
	}
	return e.Resume(name)
}

// Resume implements contender.Contender.
func (e *engine) Resume(name string) error {
	h, err := dbos.RetrieveWorkflow[int](e.ctx, name)
	if err != nil {
		return err
	}
	_, err = h.GetResult()
	return err
}

// Fork implements contender.Contender.
func (e *engine) Fork(name string, step int) error {
	select {
	case <-e.seen:
	default:
	}
	h, err := dbos.ForkWorkflow[int](e.ctx, dbos.ForkWorkflowInput{OriginalWorkflowID: name, StartStep: uint(step - 1)})
	if err != nil {
		return err
	}
	<-e.seen
	_, err = h.GetResult()
	return err
}

// Close implements contender.Contender.
func (e *engine) Close() error {
	if err := dbos.Shutdown(e.ctx, 5*time.Second); err != nil {
		return err
	}
	return e.db.Close()
}
