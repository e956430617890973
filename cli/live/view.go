package live

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/workflow"
)

// Config opens a View.
type Config struct {
	Out     io.Writer               // the terminal
	Size    func() (cols, rows int) // of the terminal, now; 0 is unknown
	Color   bool
	ASCII   bool
	Reflow  bool // the terminal wraps old lines again when it gets narrower
	Reply   func(workflow.Question) []string
	Recover func(workflow.RunID, workflow.VisitID) []string
	Every   time.Duration // between two frames; 0 is 100 ms
	Now     func() time.Time
}

// View draws a Tree on a terminal while it changes. Its methods may be called
// from many goroutines and do not wait for the terminal, but for Write and
// Close.
type View struct {
	cfg  Config
	mu   sync.Mutex // of the tree
	tree Tree
	show sync.Mutex // of the terminal
	p    painter
	quit chan struct{}
	gone chan struct{}
}

// Open begins to draw. Close ends it.
func Open(cfg Config) *View {
	if cfg.Every == 0 {
		cfg.Every = 100 * time.Millisecond
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	v := &View{cfg: cfg, p: painter{out: cfg.Out, reflow: cfg.Reflow}, quit: make(chan struct{}), gone: make(chan struct{})}
	go v.loop()
	return v
}

// Know is Tree.Know.
func (v *View) Know(name string, def *workflow.Definition) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tree.Know(name, def)
}

// Event is Tree.Event.
func (v *View) Event(run workflow.RunID, e workflow.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tree.Event(run, e)
}

// Progress is Tree.Progress.
func (v *View) Progress(run workflow.RunID, visit workflow.VisitID, p executor.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tree.Progress(run, visit, p)
}

// Write puts whole lines above the tree, where they stay.
func (v *View) Write(b []byte) (int, error) {
	v.show.Lock()
	defer v.show.Unlock()
	cols, rows := v.size()
	if err := v.p.erase(cols, rows); err != nil {
		return 0, err
	}
	n, err := v.cfg.Out.Write(b)
	if err == nil && !strings.HasSuffix(string(b), "\n") {
		_, err = io.WriteString(v.cfg.Out, "\r\n")
	}
	return n, err
}

// Close draws the last tree as plain text and leaves the terminal alone. It
// returns when nothing more will be written.
func (v *View) Close() error {
	close(v.quit)
	<-v.gone
	v.show.Lock()
	defer v.show.Unlock()
	cols, rows := v.size()
	lines := v.draw(Look{Width: cols, Now: workflow.TimeOf(v.cfg.Now()), ASCII: v.cfg.ASCII, Final: true})
	if len(lines) == 0 {
		return nil
	}
	return v.p.paint(lines, cols, rows)
}

func (v *View) loop() {
	defer close(v.gone)
	tick := time.NewTicker(v.cfg.Every)
	defer tick.Stop()
	woken, stop := continued()
	defer stop()
	drawn := time.Now()
	for {
		select {
		case <-v.quit:
			return
		case <-woken:
			v.forget()
			continue
		case <-tick.C:
		}
		if time.Since(drawn) > stall+v.cfg.Every { // stopped? the signal may come after the tick
			select {
			case <-woken:
				v.forget()
			case <-time.After(stall / 10):
			}
		}
		v.frame()
		drawn = time.Now()
	}
}

// stall is a pause between two frames that is long enough for a person to have
// stopped the process and gone on with it.
const stall = 300 * time.Millisecond

// forget begins a new block: the shell has written below the one before.
func (v *View) forget() {
	v.show.Lock()
	defer v.show.Unlock()
	v.p.forget()
}

// frame draws the tree as it is now. A terminal that cannot be written to is
// not worth stopping a run for.
func (v *View) frame() {
	v.show.Lock()
	defer v.show.Unlock()
	cols, rows := v.size()
	lines := v.draw(Look{
		Width: cols, Height: rows, Now: workflow.TimeOf(v.cfg.Now()), Color: v.cfg.Color, ASCII: v.cfg.ASCII,
		Reply: v.cfg.Reply, Recover: v.cfg.Recover,
	})
	if len(lines) > 0 {
		_ = v.p.paint(lines, cols, rows)
	}
}

func (v *View) draw(l Look) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.tree.Draw(l)
}

// size of the terminal; 80 by 24 when it does not tell.
func (v *View) size() (cols, rows int) {
	if v.cfg.Size != nil {
		cols, rows = v.cfg.Size()
	}
	if cols <= 0 {
		cols = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return cols, rows
}
