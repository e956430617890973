package process

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/tenonrun/tenon/workspace"
)

// pipeCapacity bounds what is still read from a pipe after its deadline: no more
// can lie in it from before the exit.
const pipeCapacity = 1 << 20

// streams owns the pipes of one command and the goroutines that serve them.
type streams struct {
	activity chan struct{} // has a value when output has arrived

	stdin          []byte
	inR, inW       *os.File
	outR, outW     *os.File
	errR, errW     *os.File
	stdout, stderr *capture
	held           bool // guarded by mu

	mu       sync.Mutex // one callback at a time
	onOutput func(workspace.Stream, []byte)
	done     sync.WaitGroup // all goroutines
	readers  sync.WaitGroup
}

func openStreams(c workspace.Command) (s *streams, err error) {
	s = &streams{
		activity: make(chan struct{}, 1), stdin: c.Stdin, onOutput: c.OnOutput,
		stdout: newCapture(c.OutputCap), stderr: newCapture(c.OutputCap),
	}
	defer func() {
		if err != nil {
			s.abandon()
		}
	}()
	if s.outR, s.outW, err = os.Pipe(); err != nil {
		return nil, err
	}
	if s.errR, s.errW, err = os.Pipe(); err != nil {
		return nil, err
	}
	if len(c.Stdin) > 0 {
		s.inR, s.inW, err = input(c.Stdin)
	} else {
		s.inR, err = os.Open(os.DevNull)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *streams) attach(cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.inR, s.outW, s.errW
}

// abandon closes everything of a command that was not started.
func (s *streams) abandon() {
	for _, f := range []*os.File{s.inR, s.inW, s.outR, s.outW, s.errR, s.errW} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// start serves the pipes of a command that runs.
func (s *streams) start() {
	_, _, _ = s.inR.Close(), s.outW.Close(), s.errW.Close()
	if s.inW != nil {
		s.done.Go(func() {
			_, _ = io.Copy(s.inW, bytes.NewReader(s.stdin)) // a command may read less
			_ = s.inW.Close()
		})
	}
	s.readers.Go(func() { s.read(workspace.Stdout, s.outR, s.stdout) })
	s.readers.Go(func() { s.read(workspace.Stderr, s.errR, s.stderr) })
}

func (s *streams) read(name workspace.Stream, f *os.File, c *capture) {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		s.take(name, c, buf[:n])
		if err == nil {
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			s.sweep(name, f, c, buf)
		}
		return
	}
}

// sweep takes what lies in a pipe whose time is over; another process holds the
// pipe unless its end comes up.
func (s *streams) sweep(name workspace.Stream, f *os.File, c *capture, buf []byte) {
	_ = f.SetReadDeadline(time.Time{})
	for left := pipeCapacity; left > 0; {
		n, end := readNow(f, buf)
		if end {
			return
		}
		if n == 0 {
			break
		}
		s.take(name, c, buf[:n])
		left -= n
	}
	s.mu.Lock()
	s.held = true
	s.mu.Unlock()
}

func (s *streams) take(name workspace.Stream, c *capture, p []byte) {
	if len(p) == 0 {
		return
	}
	c.add(p)
	if s.onOutput != nil {
		s.mu.Lock()
		s.onOutput(name, p)
		s.mu.Unlock()
	}
	select {
	case s.activity <- struct{}{}:
	default:
	}
}

// finish ends all goroutines: readers stop at the end of their stream, or after
// the drain time when another process holds it.
func (s *streams) finish(drain time.Duration) {
	if s.inW != nil {
		_ = s.inW.Close()
	}
	deadline := time.Now().Add(drain)
	for _, f := range []*os.File{s.outR, s.errR} {
		if f.SetReadDeadline(deadline) != nil { // pipes without deadlines
			defer time.AfterFunc(drain, func() { _ = f.Close() }).Stop()
		}
	}
	s.readers.Wait()
	s.done.Wait()
	_, _ = s.outR.Close(), s.errR.Close()
}

// report fills the output part of an Exit.
func (s *streams) report(e *workspace.Exit) {
	var cutOut, cutErr bool
	e.Stdout, cutOut = s.stdout.bytes()
	e.Stderr, cutErr = s.stderr.bytes()
	e.StdoutBytes, e.StderrBytes = s.stdout.total, s.stderr.total
	e.Truncated = cutOut || cutErr
	e.PipeHeld = s.held
	sum := sha256.Sum256(append(s.stdout.sum.Sum(nil), s.stderr.sum.Sum(nil)...))
	e.OutputDigest = "sha256:" + hex.EncodeToString(sum[:])
}
