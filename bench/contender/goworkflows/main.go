// Command goworkflows is cschleiden/go-workflows over SQLite, with the wrapper
// for one process that its own bench uses.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"

	"github.com/tenonrun/tenon/bench/contender"
)

const patience = 10 * time.Minute

type engine struct {
	contender.Contender // what is not measured here
	client              *client.Client
	backend             backend.Backend
	worker              *worker.Worker
	stop                context.CancelFunc
	step                func()
}

func main() { contender.Main(open) }

func open(t contender.Task, step func()) (contender.Contender, error) {
	b := monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(filepath.Join(t.Dir, "workflows.db"),
		sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler)))))
	e := &engine{backend: b, client: client.New(b), step: step}
	options := worker.DefaultOptions
	e.worker = worker.New(b, &options)
	for _, err := range []error{
		e.worker.RegisterWorkflow(e.chain), e.worker.RegisterWorkflow(e.fan), e.worker.RegisterActivity(e.one),
	} {
		if err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	return e, e.worker.Start(ctx)
}

// one is the trivial step.
func (e *engine) one(_ context.Context, grow int) (string, error) {
	e.step()
	return strings.Repeat("x", grow), nil
}

func (e *engine) chain(ctx workflow.Context, n, grow int) (int, error) {
	for range n {
		if _, err := workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, e.one, grow).Get(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (e *engine) fan(ctx workflow.Context, n int) (int, error) {
	all := make([]workflow.Future[string], n)
	for i := range all {
		all[i] = workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, e.one, 0)
	}
	for _, f := range all {
		if _, err := f.Get(ctx); err != nil {
			return 0, err
		}
	}
	_, err := workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, e.one, 0).Get(ctx)
	return n, err
}

func (e *engine) run(name string, wf workflow.Workflow, args ...any) error {
	ctx := context.Background()
	i, err := e.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: name}, wf, args...)
	if err != nil {
		return err
	}
	_, err = client.GetWorkflowResult[int](ctx, e.client, i, patience)
	return err
}

// Chain implements contender.Contender.
func (e *engine) Chain(name string, n, grow int) error { return e.run(name, e.chain, n, grow) }

// Many implements contender.Contender.
func (e *engine) Many(runs, n int) error {
	errs := make(chan error, runs)
	for i := range runs {
		go func() { errs <- e.run(fmt.Sprint("many-", i), e.chain, n, 0) }()
	}
	for range runs {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// Fan implements contender.Contender.
func (e *engine) Fan(n int) error { return e.run("fan", e.fan, n) }

// Close implements contender.Contender.
func (e *engine) Close() error {
	e.stop()
	if err := e.worker.WaitForCompletion(); err != nil {
		return err
	}
	return e.backend.Close()
}
