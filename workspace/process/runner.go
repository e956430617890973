package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/tenonrun/tenon/workspace"
)

// Defaults of Config.
const (
	DefaultGrace = 2 * time.Second
	DefaultDrain = 300 * time.Millisecond
)

// giveUp is how long a killed process may take to die before it is left alone.
const giveUp = 5 * time.Second

// Config sets up a Runner. The zero value is ready for use.
type Config struct {
	// Home is the state directory of the runs whose commands are started here,
	// without a "\x00". Sweep ends only what another Runner with this Home left.
	Home string
	// Clock gives Exit.Start and Exit.End; nil means time.Now.
	Clock func() time.Time
	// NewID gives the id of a command, unique on this machine and free of "/";
	// nil means 16 random bytes in hex.
	NewID func() string
	// Environ is the inherited environment as "name=value"; nil means os.Environ.
	Environ func() []string
	// Grace is the time between TERM and KILL; 0 means DefaultGrace.
	Grace time.Duration
	// Drain is how long the output of a command that has exited is still read
	// when another process holds it open; 0 means DefaultDrain.
	Drain time.Duration
}

// Runner implements workspace.Runner. It is safe for concurrent use.
type Runner struct {
	home    string
	clock   func() time.Time
	newID   func() string
	environ func() []string
	grace   time.Duration
	drain   time.Duration
}

var _ workspace.Runner = (*Runner)(nil)

// New returns a Runner.
func New(c Config) *Runner {
	r := &Runner{home: c.Home, clock: c.Clock, newID: c.NewID, environ: c.Environ, grace: c.Grace, drain: c.Drain}
	if r.clock == nil {
		r.clock = time.Now
	}
	if r.newID == nil {
		r.newID = randomID
	}
	if r.environ == nil {
		r.environ = os.Environ
	}
	if r.grace <= 0 {
		r.grace = DefaultGrace
	}
	if r.drain <= 0 {
		r.drain = DefaultDrain
	}
	return r
}

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Run implements workspace.Runner.
func (r *Runner) Run(ctx context.Context, c workspace.Command) (workspace.Exit, error) {
	if err := ctx.Err(); err != nil {
		return workspace.Exit{}, fmt.Errorf("running a command: %w", err)
	}
	id := r.newID()
	exit := workspace.Exit{Code: -1, Dir: c.Dir}
	env := environment(r.environ(), c, r.home, id)
	exit.EnvKeys, exit.EnvDigest = describe(env)
	cmd, err := r.prepare(c, env, &exit)
	if err != nil {
		return exit, err
	}
	streams, err := openStreams(c)
	if err != nil {
		return exit, spawnError(cmd.Args[0], exit.Dir, err)
	}
	streams.attach(cmd)
	exit.Start = r.clock()
	if err := cmd.Start(); err != nil {
		streams.abandon()
		return exit, spawnError(cmd.Args[0], exit.Dir, err)
	}
	streams.start()
	child := newChild(cmd.Process, id)
	why := r.await(ctx, c, child, streams)
	if why != exited || c.KillRest {
		child.end(r.grace)
	}
	streams.finish(r.drain)
	exit.End = r.clock()
	exit.TimedOut, exit.IdleOut = why == timedOut, why == idledOut
	exit.Code, exit.Signal = child.status()
	streams.report(&exit)
	if why == cancelled {
		return exit, cancelError(ctx, cmd.Args[0])
	}
	return exit, nil
}

// prepare finds the program and fills exit.Dir and exit.Shell.
func (r *Runner) prepare(c workspace.Command, env []string, exit *workspace.Exit) (*exec.Cmd, error) {
	argv := c.Argv
	if c.Line != "" && len(argv) == 0 {
		argv, exit.Shell = shell(c.Line, env)
	}
	program := ""
	if len(argv) > 0 {
		program = argv[0]
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, spawnError(program, c.Dir, err)
	}
	exit.Dir = dir
	if (c.Line == "") == (len(c.Argv) == 0) || program == "" {
		return nil, spawnError(program, dir, errNoProgram)
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, spawnError(program, dir, fmt.Errorf("%w: %w", errDir, err))
	} else if !info.IsDir() {
		return nil, spawnError(program, dir, fmt.Errorf("%w: not a directory", errDir))
	}
	path, err := find(program, dir, env)
	if err != nil {
		return nil, spawnError(program, dir, err)
	}
	cmd := &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: env, SysProcAttr: ownGroup()}
	return cmd, nil
}

// reason says why a command ended.
type reason int

const (
	exited reason = iota
	timedOut
	idledOut
	cancelled
)

// await returns when the command has exited or has to be ended.
func (r *Runner) await(ctx context.Context, c workspace.Command, child *child, s *streams) reason {
	timeout, stopTimeout := timer(c.Timeout)
	defer stopTimeout()
	var idle *time.Timer
	var idleC <-chan time.Time
	if c.Idle > 0 {
		idle = time.NewTimer(c.Idle)
		defer idle.Stop()
		idleC = idle.C
	}
	for {
		var why reason
		select {
		case <-child.exited:
			return exited
		case <-s.activity:
			if idle != nil {
				idle.Reset(c.Idle)
			}
			continue
		case <-timeout:
			why = timedOut
		case <-idleC:
			why = idledOut
		case <-ctx.Done():
			why = cancelled
		}
		select {
		case <-child.exited: // it was quicker
			return exited
		default:
			return why
		}
	}
}

func timer(d time.Duration) (<-chan time.Time, func() bool) {
	if d <= 0 {
		return nil, func() bool { return false }
	}
	t := time.NewTimer(d)
	return t.C, t.Stop
}

func cancelError(ctx context.Context, program string) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		return fmt.Errorf("running %q: %w: %w", program, err, cause)
	}
	return fmt.Errorf("running %q: %w", program, err)
}
