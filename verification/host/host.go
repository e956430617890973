// Package host runs verification plans.
//
// Holds: the run of a plan in waves, the place and limits of every command, the
// checks of files, of JSON and of a clean tree, the reuse of results over
// unchanged inputs, and the receipt that is kept before and after.
//
// Guarantees: a receipt is kept as pending before its first command starts. A
// command starts inside its repository and its scope, links resolved, and so does
// a program that is named by a relative path. What a command leaves running is
// ended before the work tree is hashed again. The deadline is measured by a clock
// that cannot be set back. What is kept is bounded, valid UTF-8 and without known
// secrets. The first check that does not pass stops the others.
//
// Does not: choose what to check, mend what fails, confine commands, or read what
// anybody says about a check.
package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// DefaultIdle is how long a check may be silent.
const DefaultIdle = 5 * time.Minute

// Config sets up a Runner.
type Config struct {
	// Runner runs the commands. It must be set before a plan is run.
	Runner workspace.Runner
	// Redactor hides secrets in what is kept; nil hides what looks like one.
	Redactor *text.Redactor
	// Candidate hashes the work trees for requests that bring no hash of their own.
	Candidate func(context.Context) (string, error)
	// Now gives the times in receipts; nil means the clock of the machine.
	Now func() workflow.Time
	// Idle is how long a check may be silent; 0 means DefaultIdle, less than 0 no
	// limit.
	Idle time.Duration
	// Cache is the directory where passing results are kept for reuse, outside of
	// every work tree; "" reuses nothing.
	Cache string
}

// Runner runs plans. It is safe for concurrent use.
type Runner struct{ cfg Config }

// New returns a Runner.
func New(c Config) *Runner {
	switch {
	case c.Idle == 0:
		c.Idle = DefaultIdle
	case c.Idle < 0:
		c.Idle = 0
	}
	if c.Now == nil {
		c.Now = func() workflow.Time { return workflow.TimeOf(time.Now()) }
	}
	return &Runner{cfg: c}
}

// Request is a plan to run.
type Request struct {
	ID               string // of the receipt
	Run, Visit, Node string // "" outside of a run
	Attempt          int
	Repositories     []workflow.RepositoryInfo
	// Checks are the plan; Setup prepares it, one after the other. Both may be
	// empty.
	Checks, Setup []verification.Check
	// Scope is workflow.ReceiptFull or workflow.ReceiptScoped; "" is full when
	// every repository has a check that nobody proposed.
	Scope string
	// Unverified lets a full plan leave repositories out. They are named in the
	// receipt, which then certifies nothing.
	Unverified bool
	// MaxConcurrency bounds the checks that run at once, 1 to 4; 0 is 1.
	MaxConcurrency int
	// Deadline is when the time is up; 0 is never.
	Deadline workflow.Time
	// Candidate hashes the work trees; nil means that of the Config.
	Candidate func(context.Context) (string, error)
	// Keep records the receipt, once pending and once with its end; nil keeps
	// nothing.
	Keep func(context.Context, workflow.EvidenceKept) error
	// Progress sees whole lines of output without secrets, one call at a time;
	// nil sees nothing.
	Progress func(line string)
}

// Run runs the plan and returns its receipt, which tells everything that a check
// did or could not do. An error means that ctx ended first, with code aborted, or
// that the receipt could not be kept; a receipt that was kept as pending then
// stays so.
func (r *Runner) Run(ctx context.Context, q Request) (verification.Receipt, error) {
	w, err := r.begin(ctx, q)
	if err == nil && w.stopped == "" {
		err = w.run(ctx)
	}
	if err == nil {
		err = w.end(ctx)
	}
	if ctx.Err() != nil {
		err = workflow.Errorf(workflow.CodeAborted, "%s: the checks were stopped: %w", w.where(), ctx.Err())
	}
	return w.receipt, err
}

// work is one run of a plan.
type work struct {
	*Runner
	q       Request
	receipt verification.Receipt
	start   time.Time // for the deadline: its difference is not touched by a clock that is set
	left    time.Duration
	stopped string // why no more checks are started, from outside of the plan
	unknown string // why the work tree could not be hashed
	show    func(line string)
}

// begin checks the request and keeps the pending receipt.
func (r *Runner) begin(ctx context.Context, q Request) (*work, error) {
	w := &work{Runner: r, q: q, start: time.Now(), show: serial(q.Progress)}
	if w.q.Candidate == nil {
		w.q.Candidate = r.cfg.Candidate
	}
	w.receipt = verification.Receipt{
		ID: q.ID, Run: q.Run, Visit: q.Visit, Node: q.Node, Attempt: q.Attempt, State: workflow.ReceiptPending,
		Commands: []verification.Evidence{}, Started: r.cfg.Now(),
	}
	if len(q.Checks) > verification.MaxChecks || len(q.Setup) > verification.MaxChecks {
		return w, fmt.Errorf("%s: a plan has at most %d checks and as many commands that prepare them", w.where(), verification.MaxChecks)
	}
	var err error
	if w.receipt.Plan, err = verification.PlanDigest(q.Checks); err != nil {
		return w, fmt.Errorf("%s: digesting the plan: %w", w.where(), err)
	}
	w.cover()
	for i, c := range q.Setup {
		w.receipt.Setup = append(w.receipt.Setup, w.blank("setup-", i, c))
	}
	for i, c := range q.Checks {
		w.receipt.Commands = append(w.receipt.Commands, w.blank("", i, c))
	}
	if q.Deadline != 0 {
		if w.left = time.Duration(q.Deadline-w.receipt.Started) * time.Microsecond; w.left <= 0 {
			w.stopped = timeUp
		}
	}
	w.receipt.Candidate = w.hash(ctx)
	return w, w.keep(ctx)
}

const timeUp = "the time of the run was up"

// where names the plan in errors.
func (w *work) where() string {
	if w.q.Node != "" {
		return w.q.Node
	}
	return "verification"
}

// cover finds the repositories that no check of the host is about. A proposed
// check covers nothing, and its repository is always named.
func (w *work) cover() {
	covered, proposed := map[string]bool{}, map[string]bool{}
	for _, c := range w.q.Checks {
		if repo, err := repository(w.q.Repositories, c); err == nil && c.Proposed {
			proposed[repo.ID] = true
		} else if err == nil {
			covered[repo.ID] = true
		}
	}
	var claimed []string // with proposed checks alone
	for _, repo := range w.q.Repositories {
		if covered[repo.ID] {
			continue
		}
		w.receipt.Unverified = append(w.receipt.Unverified, repo.ID)
		if proposed[repo.ID] {
			claimed = append(claimed, repo.ID)
		}
	}
	w.receipt.Scope = w.q.Scope
	switch full := len(w.receipt.Unverified) == 0; {
	case full && w.q.Scope == "", w.q.Unverified && w.q.Scope == "":
		w.receipt.Scope = workflow.ReceiptFull
	case !full && !w.q.Unverified:
		w.receipt.Scope, w.receipt.Unverified = workflow.ReceiptScoped, claimed
	}
}

// blank is the evidence of a check that has not run.
func (w *work) blank(kind string, i int, c verification.Check) verification.Evidence {
	return verification.Evidence{
		ID: fmt.Sprintf("%s/%s%d", w.q.ID, kind, i+1), Check: w.cleaned(c), State: verification.StateNotRun, ExitCode: -1,
	}
}

// hash returns the candidate, or "": the checks run all the same, and the receipt
// is invalid.
func (w *work) hash(ctx context.Context) string {
	err := errors.New("nothing can hash it here")
	var digest string
	if w.q.Candidate != nil {
		digest, err = w.q.Candidate(ctx)
	}
	if err != nil {
		w.unknown = "the work tree could not be hashed: " + err.Error()
		return ""
	}
	w.unknown = ""
	return digest
}

func (w *work) keep(ctx context.Context) error {
	if w.q.Keep == nil {
		return nil
	}
	if err := w.q.Keep(ctx, w.receipt.Kept()); err != nil {
		return fmt.Errorf("%s: keeping receipt %s: %w", w.where(), w.receipt.ID, err)
	}
	return nil
}

// run runs the setup and the checks. The error is that of a context that ended.
func (w *work) run(ctx context.Context) error {
	if w.left > 0 {
		timed, cancel := context.WithDeadlineCause(ctx, w.start.Add(w.left), errTimeUp)
		defer cancel()
		ctx = timed
	}
	ok, err := w.setup(ctx)
	if err != nil || !ok {
		return err
	}
	return w.waves(ctx)
}

// end judges and keeps the receipt.
func (w *work) end(ctx context.Context) error {
	if w.receipt.Candidate != "" && w.stopped == "" {
		w.receipt.After = w.hash(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err // what was hashed or not is no judgement
	}
	if w.left > 0 && time.Since(w.start) > w.left {
		w.stopped = timeUp
	}
	if w.stopped == "" && w.receipt.Bad() == nil {
		w.stopped = w.unknown
	}
	w.receipt.Ended = max(w.receipt.Started, w.cfg.Now())
	w.receipt.Judge(w.stopped)
	return w.keep(ctx)
}
