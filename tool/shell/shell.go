package shell

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell/confine"
	"github.com/tenonrun/tenon/tool/shell/guard"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
)

// Defaults of Config.
const (
	DefaultTimeout       = 2 * time.Minute
	DefaultMaxTimeout    = 30 * time.Minute
	DefaultOutputCap     = 32 << 10
	DefaultMaxBackground = 16
)

// Config sets up a Shell. Runner and Dir are needed.
type Config struct {
	Runner workspace.Runner
	// Dir is the absolute directory of a call whose session has none.
	Dir string
	// Access is read when commands may write nothing but temporary files.
	Access workflow.Effect
	// Roots are the absolute directories below which confined commands may write.
	Roots []string
	// Hide are absolute paths that confined commands cannot read.
	Hide []string
	// Read are absolute directories in what is hidden that they can read.
	Read []string
	// Scratch is an absolute directory for the temporary files of commands, which
	// they may always write. Empty means a new one that Close removes.
	Scratch string
	// Guard puts back what commands change in places that run code later, unless the
	// fence lets the command write there; nil guards nothing.
	Guard *guard.Guard
	// Home is what "~" means; empty means the user's.
	Home string
	// Env is added to the environment of commands; Unset names variables that they
	// must not see.
	Env   map[string]string
	Unset []string
	// Marker is the id of the run, see workspace.Command.
	Marker string
	// Timeout is that of a call that names none, MaxTimeout the longest; Idle ends
	// a command that is silent for so long, 0 means never.
	Timeout, MaxTimeout, Idle time.Duration
	// OutputCap is the size of the output of one call, in bytes.
	OutputCap int
	// MaxBackground is how many commands run in the background at a time.
	MaxBackground int
	// Available tells what confines commands; nil means confine.Available.
	Available func() (confine.Kind, string)
	// NewID names background commands; nil means ident.New.
	NewID func() string
}

// Shell runs the commands of one agent. It may be used by any number of
// goroutines. Close must be called.
type Shell struct {
	config Config
	bash   string // absolute
	kind   confine.Kind
	why    string // nothing confines

	ctx   context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup
	made  string // scratch directory to remove

	mu         sync.Mutex
	calls      int            // names the reports of working directories
	undone     []guard.Change // not told yet
	background map[string]*task
	order      []string
}

// New returns a Shell. The error says what is missing: bash, or a directory.
func New(c Config) (*Shell, error) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, fmt.Errorf("setting up the tool bash: %w: install bash", err)
	}
	if bash, err = filepath.Abs(bash); err != nil {
		return nil, fmt.Errorf("setting up the tool bash: %w", err)
	}
	if c.Runner == nil || !filepath.IsAbs(c.Dir) {
		return nil, errors.New("setting up the tool bash: it needs a runner and an absolute directory")
	}
	s := &Shell{config: c, bash: bash, background: map[string]*task{}}
	if err := s.defaults(); err != nil {
		return nil, fmt.Errorf("setting up the tool bash: %w", err)
	}
	s.kind, s.why = s.config.Available()
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

func (s *Shell) defaults() error {
	c := &s.config
	c.Timeout, c.MaxTimeout = cmp.Or(c.Timeout, DefaultTimeout), cmp.Or(c.MaxTimeout, DefaultMaxTimeout)
	c.OutputCap, c.MaxBackground = cmp.Or(c.OutputCap, DefaultOutputCap), cmp.Or(c.MaxBackground, DefaultMaxBackground)
	if c.Available == nil {
		c.Available = confine.Available
	}
	if c.NewID == nil {
		c.NewID = func() string { return ident.New("b") }
	}
	if c.Home = cmp.Or(c.Home, c.Env["HOME"]); c.Home == "" {
		c.Home, _ = os.UserHomeDir() // without one "~" is not shown
	}
	if c.Scratch == "" {
		dir, err := os.MkdirTemp("", "tenon-bash-")
		if err != nil {
			return err
		}
		s.made, c.Scratch = dir, dir
	}
	real, err := filepath.EvalSymlinks(c.Scratch)
	if err != nil {
		return err
	}
	c.Scratch = real
	return os.MkdirAll(filepath.Join(real, "tmp"), 0o700)
}

// Close ends what runs in the background and removes the temporary files that the
// Shell made itself.
func (s *Shell) Close() error {
	s.stop()
	s.tasks.Wait()
	if s.made != "" {
		return os.RemoveAll(s.made)
	}
	return nil
}

// Confined tells what the operating system holds commands to.
func (s *Shell) Confined() tool.Confinement {
	switch {
	case s.kind == confine.None:
		return tool.ConfinedNot
	case s.config.Access == workflow.EffectRead:
		return tool.ConfinedReads
	}
	return tool.ConfinedWrites
}

// Message says at the start of a run, in one line, what holds commands.
func (s *Shell) Message() string {
	hidden := ""
	if len(s.config.Hide) > 0 {
		hidden = fmt.Sprintf(" %d places are hidden from them;", len(s.config.Hide))
	}
	switch s.Confined() {
	case tool.ConfinedReads:
		return fmt.Sprintf("commands are confined by %s: they write nothing but temporary files;%s other reading and the network are not confined", s.kind, hidden)
	case tool.ConfinedWrites:
		return fmt.Sprintf("commands are confined by %s: they write only below %s, and temporary files;%s other reading and the network are not confined", s.kind, s.places(), hidden)
	}
	return fmt.Sprintf("commands are not confined on this machine (%s): what their text shows is judged, and a command whose text does not show all that it does needs a rule that allows it, or a person", s.why)
}

// places names where commands may write.
func (s *Shell) places() string {
	roots := s.config.Roots
	if len(roots) < 2 {
		return strings.Join(roots, "")
	}
	if len(roots) == 2 {
		return roots[0] + " and 1 other place"
	}
	return fmt.Sprintf("%s and %d other places", roots[0], len(roots)-1)
}

// spec is what a confined command may do.
func (s *Shell) spec() confine.Spec {
	spec := confine.Spec{Write: []string{s.config.Scratch}, Hide: s.config.Hide, Read: s.config.Read}
	if s.config.Access != workflow.EffectRead {
		spec.Write = append(spec.Write, s.config.Roots...)
	}
	return spec
}

//go:embed bash.md
var description string

//go:embed bash.schema.json
var schema []byte

// Tool returns the tool bash.
func (s *Shell) Tool() tool.Tool { return Tool(s.Run) }

// Tool returns the tool bash with run, Shell.Run of any Shell, behind it.
func Tool(run func(context.Context, tool.Call) (tool.Result, error)) tool.Tool {
	return tool.Tool{
		Name: "bash", Description: strings.TrimSpace(description), Schema: json.RawMessage(schema), Effect: workflow.EffectWrite,
		Reading: tool.Reading{Wrap: "command", Aliases: map[string]string{
			"cmd": "command", "script": "command", "timeout": "timeoutMs", "timeout_ms": "timeoutMs", "run_in_background": "background",
			"workdir": "cwd", "directory": "cwd", "bash_id": "id", "shell_id": "id",
		}},
		Run: run,
	}
}
