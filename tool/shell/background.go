package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workspace"
)

// keptOutput is how much unread output of a background command is kept, in bytes.
const keptOutput = 256 << 10

// keptTasks is how many commands that have ended can still be read.
const keptTasks = 64

// task is a command in the background.
type task struct {
	id      string
	args    arguments
	command workspace.Command
	cancel  context.CancelFunc
	done    chan struct{} // closed when it has ended
	news    chan struct{} // has a value when there is output

	mu     sync.Mutex
	unread []byte
	lost   int64 // bytes that were dropped before they were read
	total  int64
	killed bool
	exit   workspace.Exit // after done
	err    error          // after done
}

// launch starts a command and returns at once.
func (s *Shell) launch(ctx context.Context, c tool.Call, a arguments, dir string) (tool.Result, error) {
	command, err := s.command(a, dir, "")
	if err != nil {
		return tool.Result{}, err
	}
	command.Timeout = time.Duration(a.TimeoutMs) * time.Millisecond
	leave, err := s.guarded(ctx, c, a, dir)
	if err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	t := &task{id: s.config.NewID(), args: a, cancel: cancel, done: make(chan struct{}), news: make(chan struct{}, 1)}
	command.OnOutput = t.take
	command.OutputCap = workspace.MinOutputCap // the task keeps it
	t.command = command
	if err := s.register(t); err != nil {
		cancel()
		leave()
		return tool.Result{}, err
	}
	s.tasks.Go(func() {
		defer cancel()
		exit, err := s.config.Runner.Run(ctx, command)
		leave()
		t.mu.Lock()
		t.exit, t.err = exit, err
		t.mu.Unlock()
		close(t.done)
	})
	r := Report{Command: text.Head(text.Repair(a.Command), 2000, "…"), Dir: dir, ID: t.id, Running: true, Code: -1, Confined: string(s.kind)}
	return tool.Result{Text: fmt.Sprintf("[started in the background with id %s; {\"id\": %q} gives its output, with \"kill\": true it ends]", t.id, t.id), Data: data(r)}, nil
}

// register keeps a task, and forgets the oldest that have ended.
func (s *Shell) register(t *task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for _, id := range s.order {
		if !s.background[id].ended() {
			running++
		}
	}
	if s.ctx.Err() != nil {
		return &tool.Failed{What: "nothing is started any more: the turn is over"}
	}
	if running >= s.config.MaxBackground {
		return &tool.Failed{What: fmt.Sprintf("%d commands run in the background, and no more may", running), Next: "kill one of " + strings.Join(s.order, ", ")}
	}
	for i := 0; i < len(s.order) && len(s.order) >= keptTasks; {
		if id := s.order[i]; s.background[id].ended() {
			delete(s.background, id)
			s.order = slices.Delete(s.order, i, i+1)
			continue
		}
		i++
	}
	s.background[t.id] = t
	s.order = append(s.order, t.id)
	return nil
}

func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// take keeps a chunk of output.
func (t *task) take(_ workspace.Stream, p []byte) {
	t.mu.Lock()
	t.total += int64(len(p))
	t.unread = append(t.unread, p...)
	if over := len(t.unread) - keptOutput; over > 0 {
		t.lost += int64(over)
		t.unread = append(t.unread[:0], t.unread[over:]...)
	}
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// follow tells about a background command, or ends it.
func (s *Shell) follow(ctx context.Context, c tool.Call, a arguments) (tool.Result, error) {
	if a.Background || a.Cwd != "" {
		return tool.Result{}, &tool.BadArguments{Tool: c.Tool, Problems: []string{"background and cwd go with command, not with id"}}
	}
	s.mu.Lock()
	t, order := s.background[a.ID], slices.Clone(s.order)
	s.mu.Unlock()
	if t == nil {
		next := "no command runs in the background"
		if len(order) > 0 {
			next = "the ids are: " + strings.Join(order, ", ")
		}
		return tool.Result{}, &tool.Failed{What: "there is no background command " + tool.Quote(a.ID) + "; one that ran before the program was started again has ended", Next: next}
	}
	if a.Kill {
		t.mu.Lock()
		t.killed = t.killed || !t.ended()
		t.mu.Unlock()
		t.cancel()
	}
	if err := t.await(ctx, a); err != nil {
		return tool.Result{}, err
	}
	return s.told(t)
}

// await waits for the end of a task that is killed, or as long as the call says
// for something new.
func (t *task) await(ctx context.Context, a arguments) error {
	wait := time.Duration(a.TimeoutMs) * time.Millisecond
	if a.Kill {
		wait = time.Minute
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	news := t.news
	if a.Kill {
		news = nil
	}
	select {
	case <-t.done:
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// told gives what is new of a task.
func (s *Shell) told(t *task) (tool.Result, error) {
	ended := t.ended() // before the output is taken: then all of it is there
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.unread
	var notes []string
	if over := len(out) - s.config.OutputCap; over > 0 {
		t.lost += int64(over)
		out = out[over:]
	}
	if t.lost > 0 {
		notes = append(notes, fmt.Sprintf("[%d bytes of output before this are not shown]", t.lost))
	}
	truncated := t.lost > 0
	body := string(out)
	t.unread, t.lost = nil, 0
	r := Report{Command: text.Head(text.Repair(t.args.Command), 2000, "…"), Dir: t.command.Dir, ID: t.id, Running: true, Code: -1}
	if !ended {
		notes = append(notes, fmt.Sprintf("[%s still runs; %d bytes of output so far]", t.id, t.total))
	} else {
		if t.err != nil && !t.killed {
			return tool.Result{}, startError(t.err)
		}
		r = s.report(t.args, t.exit)
		r.ID, r.Killed = t.id, t.killed
		notes = append(notes, s.ending(Report{Code: r.Code, Signal: r.Signal, TimedOut: r.TimedOut, IdleOut: r.IdleOut, Killed: r.Killed}, t.exit, t.command)...)
	}
	r.Bytes, r.Truncated, r.Confined = t.total, truncated, string(s.kind)
	return tool.Result{Text: s.tell(body, notes), Data: data(r)}, nil
}
