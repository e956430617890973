package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// Config is what an Engine is made of. Store, Pieces and Programs are needed;
// the rest has useful zero values.
type Config struct {
	Store    store.Store
	Pieces   *piece.Registry
	Programs map[string]workflow.Factory // by kind: workflow.KindGraph, …
	// Executor returns the executor behind a provider's name.
	Executor func(provider string) (executor.Executor, error)
	// Candidate hashes the work tree of a run; nil when there is none.
	Candidate func(ctx context.Context, f piece.Frame) (string, error)
	// Desk makes the directory that belongs to a visit, outside of its work
	// trees; nil when there is none.
	Desk func(run workflow.RunID, visit workflow.VisitID) (string, error)
	// Child makes the launch of a child run from its parent, the pinned document
	// and the inputs; nil when there are none.
	Child func(parent workflow.RunStarted, doc workflow.Ref, text, inputs []byte) (Launch, error)
	// Sweep ends the host processes that a dead owner of the run left behind. It
	// is called before the lost attempts, of these kinds, are judged; nil when
	// there can be none.
	Sweep func(ctx context.Context, run workflow.RunID, kinds []string) error
	// Redact removes secrets from everything that is recorded or shown.
	Redact *text.Redactor
	// Observe sees events after they are recorded, and transient progress. It
	// is called from many goroutines and must not block.
	Observe  func(Notice)
	Calls    int           // model calls at once in this process; 0 is no bound
	Poll     time.Duration // how often the inbox is looked at; 0 is 200 ms
	Now      func() time.Time
	Log      *slog.Logger
	Process  string // "pid@host" in the history; "" is made up
	Binary   string // version in the history
	Probe    func(point string)
	WaitFor  Waits
	Snapshot int // events between snapshots, at least; 0 is 1,000
}

// Waits bound how long a driven run stays in the foreground for time to pass.
type Waits struct {
	Hold      time.Duration // timers; 0 is 10 min, negative is not at all
	RateLimit time.Duration // one announced wait of a rate limit; 0 is 5 min
	Quota     bool          // wait for the reset of a quota
}

// Notice is something to show: an Event that is recorded, or Progress.
type Notice struct {
	Run      workflow.RunID
	Event    *workflow.Event
	Visit    workflow.VisitID
	Node     string
	Progress *executor.Progress
}

// Engine drives runs. It may be used from many goroutines.
type Engine struct {
	cfg   Config
	calls chan struct{}
	wg    sync.WaitGroup

	mu   sync.Mutex
	made *history.State          // the fork that was made last, until it is driven
	runs map[workflow.RunID]*run // that are driven
}

// New checks the configuration and returns an Engine.
func New(cfg Config) (*Engine, error) {
	if cfg.Store == nil || cfg.Pieces == nil || len(cfg.Programs) == 0 {
		return nil, errors.New("making an engine: it needs a store, pieces and programs")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Probe == nil {
		cfg.Probe = func(string) {}
	}
	if cfg.Poll == 0 {
		cfg.Poll = 200 * time.Millisecond
	}
	if cfg.WaitFor.Hold == 0 {
		cfg.WaitFor.Hold = 10 * time.Minute
	}
	if cfg.WaitFor.RateLimit == 0 {
		cfg.WaitFor.RateLimit = 5 * time.Minute
	}
	if cfg.Snapshot == 0 {
		cfg.Snapshot = 1000
	}
	if cfg.Process == "" {
		host, _ := os.Hostname()
		cfg.Process = fmt.Sprintf("%d@%s", os.Getpid(), host)
	}
	e := &Engine{cfg: cfg}
	if cfg.Calls > 0 {
		e.calls = make(chan struct{}, cfg.Calls)
	}
	return e, nil
}

// Launch is a new run.
type Launch struct {
	ID       workflow.RunID // "" is made up
	Started  workflow.RunStarted
	Document []byte   // canonical text behind Started.Workflow.Digest
	Blobs    [][]byte // further documents: children, launch data over the inline limit
	By       string
}

// Start records a new run and drives it to its next rest.
func (e *Engine) Start(ctx context.Context, l Launch) (history.Result, error) {
	if l.ID == "" {
		l.ID = workflow.RunID(ident.New("r"))
	}
	return e.start(ctx, l)
}

// Drive goes on with a run until it ends or rests: waits for a person, a limit,
// a provider. A run that has ended gives its result. *store.Held when another
// process drives it.
func (e *Engine) Drive(ctx context.Context, id workflow.RunID, by string) (history.Result, error) {
	return e.drive(ctx, id, by)
}

// Close waits for what still runs; callers cancel their contexts first.
func (e *Engine) Close() error {
	e.wg.Wait()
	e.keep(nil)
	return nil
}

// now returns the time of the next event.
func (e *Engine) now() workflow.Time { return workflow.TimeOf(e.cfg.Now()) }

// blobs reads stored values of any run.
type blobs struct{ s store.Store }

// Load reads a blob; reads are not cancelled, they are local and short.
func (b blobs) Load(d workflow.Digest) ([]byte, error) {
	return b.s.Blob(context.Background(), d)
}
