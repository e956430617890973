package native

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/tool"
)

// Config sets up an Executor.
type Config struct {
	// Provider carries out the calls.
	Provider provider.Provider
	// Model is used by turns that name none.
	Model string
	// MaxOutput bounds the output tokens of a call of a turn that names no
	// bound; 0 means provider.DefaultMaxOutputTokens.
	MaxOutput int
	// Equip gives a turn its tools and its fence; it is called at each turn and should
	// be cheap. Nil, or a provider that cannot call
	// tools, makes turns that only answer.
	Equip func(executor.Turn) (Gear, error)
	// Spawn finds the agent that a turn wants to start; an error that the model can
	// act on is told to it. Nil starts none.
	Spawn func(ctx context.Context, parent executor.Turn, t tool.Task) (Child, error)
	// Elsewhere finds the model for the calls of a turn that serve a purpose of their
	// own, such as PurposeCompaction; ok is false for the model of the turn. It says the
	// same for the same turn. Nil is never.
	Elsewhere func(ctx context.Context, t executor.Turn, purpose string) (w Where, ok bool)
	// Submit makes the tool by which the model gives an answer that fits a JSON
	// Schema: its result is Final. Nil asks for the answer as text.
	Submit func(answer json.RawMessage) (tool.Tool, error)
	// ContextLimit gives the tokens that a model can hold; 0 is unknown: then the
	// conversation is compacted when the provider says that it is too long.
	ContextLimit func(model string) int
	// Limits of every turn.
	Limits Limits
	// Command renders a native command as a prompt; ok is false when there is
	// no command of that id. Nil knows no commands.
	Command func(id, args string) (prompt string, ok bool)
	// Native says that the provider knows native commands by their id, in
	// provider.MetaCommand, also where Command does not.
	Native bool
	// Clock measures how long things take; nil means time.Now.
	Clock func() time.Time
}

// PurposeCompaction is that of the summary of a conversation that is too long.
const PurposeCompaction = "compaction"

// Where is a model, and why it was chosen.
type Where struct {
	Provider     provider.Provider
	Model        string
	Reason, Rule string
}

// Gear is what one turn works with.
type Gear struct {
	Tools *tool.Set
	// Notes are what a model is told about a tool beside its description, by its name.
	Notes map[string]string
	// Open makes the fence ready, before the first call of a tool: a turn that only
	// answers needs none. Nil denies every call.
	Open func(ctx context.Context) (tool.Fence, error)
	// Unasked denies what a person would have to allow, and asks nobody.
	Unasked bool
	// Strict ends the turn at the first call that the fence denies.
	Strict bool
	// Await waits for what a call has begun, by its Result, and gives what the model
	// is told of its end. It may be called again, in another process too. Nil waits
	// for nothing.
	Await func(ctx context.Context, c tool.Call, begun string) (string, error)
	// Close undoes Open and ends what tools run in the background; it may be nil.
	Close func() error
}

// Limits bound a turn. A zero means the default.
type Limits struct {
	Rounds      int // model responses of a turn that names no MaxTurns; default 200
	Calls       int // tool calls of one response that are done; default 64
	Parallel    int // read tools and agents at one time; default 16
	Result      int // bytes of a result that the model sees; default 64 KiB
	Compactions int // of one turn; default 10
}

func (l Limits) filled() Limits {
	for _, f := range []struct {
		at   *int
		want int
	}{{&l.Rounds, 200}, {&l.Calls, 64}, {&l.Parallel, 16}, {&l.Result, 64 << 10}, {&l.Compactions, 10}} {
		if *f.at <= 0 {
			*f.at = f.want
		}
	}
	return l
}

// Granter is a fence that can let through what a person allowed.
type Granter interface {
	// Grant returns the fence with what was asked about let through, and nothing
	// else.
	Grant(a Allowance) tool.Fence
}

// Allowance is what a person allowed.
type Allowance struct {
	tool.Verdict
	// Command is the whole command line and Cwd the directory where it starts, when
	// the Fence stopped one; the Verdict is then about the first thing in it that
	// stopped it.
	Command string `json:"command,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
}

// Executor carries out turns with one provider. It is safe for concurrent use.
// Its Host must be an executor.Journal for turns with tools, and is an
// executor.Person where a person can be asked; it is used from many goroutines.
type Executor struct{ cfg Config }

var _ executor.Executor = (*Executor)(nil)

// New returns an Executor.
func New(c Config) *Executor {
	if c.MaxOutput <= 0 {
		c.MaxOutput = provider.DefaultMaxOutputTokens
	}
	if c.Command == nil {
		c.Command = func(string, string) (string, bool) { return "", false }
	}
	if c.ContextLimit == nil {
		c.ContextLimit = func(string) int { return 0 }
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Limits = c.Limits.filled()
	return &Executor{cfg: c}
}

// Capabilities tells what the executor can do with a model.
func (e *Executor) Capabilities(model string) executor.Capabilities {
	caps := executor.Capabilities{Model: e.cfg.Model, Native: e.cfg.Native, Tools: e.cfg.Equip != nil}
	if c, ok := e.cfg.Provider.(provider.Capable); ok {
		can := c.Capabilities(model)
		caps.Tools = caps.Tools && can.Tools
		if can.Effort {
			caps.Efforts = can.Efforts
		}
	}
	return caps
}

// goesOn says what is said after an answer, if anything is. An agent that came to
// an end at a limit has no more to say.
func (l *loop) goesOn() bool {
	if l.said == len(l.Turn.Then) || l.drained > 0 {
		return false
	}
	l.messages = append(l.messages, provider.UserText(l.Turn.Then[l.said]))
	l.said++
	l.reply.Structured, l.repairs = nil, 0
	return true
}

// Execute runs one turn. The reply beside an error tells what was done before it.
func (e *Executor) Execute(ctx context.Context, t executor.Turn, h executor.Host) (reply executor.Reply, err error) {
	ctx = tree(ctx)
	l, err := e.begin(t, h)
	if err == nil {
		err = l.account(ctx, t.Limits)
	}
	if err != nil {
		return executor.Reply{}, err
	}
	if l.gear.Close != nil {
		defer func() { err = errors.Join(err, l.gear.Close()) }()
	}
	defer l.errands.leave()
	for n := 1; ; n++ {
		done, err := l.round(ctx, n)
		if err == nil {
			done, err = l.notices(ctx, n, done)
		}
		if err != nil {
			return l.reply, err
		}
		if !done {
			continue
		}
		l.reply.Drained = l.drained > 0 && l.drain.Limit != agentsLimit
		more, err := l.raised(ctx, n)
		if err == nil && !more {
			more = l.goesOn()
		}
		if err != nil || !more {
			return l.reply, err
		}
	}
}
