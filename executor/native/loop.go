package native

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/talk"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

var (
	//go:embed system.md
	systemText string
	//go:embed finish_text.md
	finishText string
	//go:embed finish_submit.md
	finishSubmit string
)

// submitName is the tool that gives a structured answer.
const submitName = "submit"

// loop is one turn at work. Only progress is used from more than one goroutine.
type loop struct {
	*talk.Talk
	cfg       Config
	journal   executor.Journal
	gear      Gear
	opened    bool       // the gear
	fence     tool.Fence // of the gear, with what a person allowed for the turn
	session   *tool.Session
	submit    *tool.Set // of the one tool; nil when the answer is text
	schema    *schema.Schema
	system    string
	tools     []provider.ToolSpec
	maxOutput int

	task     string // the first user text
	summary  string // of what was compacted away
	todo     string // the agent's list, as it last wrote it
	messages []provider.Message
	fresh    fresh
	repairs  int // answers that were asked for again
	same     streak
	known    int64 // tokens of the conversation up to told messages, as the provider counted; 0 when unknown
	told     int
	reply    executor.Reply

	said       int  // of Turn.Then
	refusals   int  // responses in a row of which no agent was started that was wanted
	refusedNow bool // an agent of this response
	warned     bool // the agent knows that it is near a limit
	drained    int  // the round since which it comes to an end; 0 is none
	drain      mark // why

	errands errands // what calls have begun
	closing int     // the round after the last one, in which the agent only hears an end and answers

	opening sync.Mutex // of the account
	showing sync.Mutex
}

// fresh is the last response that this process received itself, with arguments
// as they came.
type fresh struct {
	round    int
	response provider.Response
}

func (e *Executor) begin(t executor.Turn, h executor.Host) (*loop, error) {
	base, err := talk.Begin(t, h, e.cfg.Provider, e.cfg.Model, e.cfg.Clock)
	if err != nil {
		return nil, err
	}
	l := &loop{Talk: base, cfg: e.cfg, session: &tool.Session{}, system: t.Instructions, maxOutput: t.MaxOutput}
	if l.maxOutput <= 0 {
		l.maxOutput = e.cfg.MaxOutput
	}
	if l.task, err = l.Prompt(e.cfg.Command, e.cfg.Native); err != nil {
		return nil, err
	}
	if len(t.Schema) > 0 {
		if l.schema, err = schema.Compile(t.Schema); err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalidPieceParams, "%s: the schema of the answer is not usable: %w", l.Where(), err)
		}
	}
	if e.Capabilities(l.Model).Tools {
		if err := l.equip(); err != nil {
			return nil, err
		}
	}
	if l.schema != nil && l.submit == nil {
		l.task += "\n\n" + talk.Wish(t.Schema)
	}
	l.messages = []provider.Message{provider.UserText(l.task)}
	return l, nil
}

// equip gives the turn its tools, its fence, and the text about them.
func (l *loop) equip() error {
	var ok bool
	if l.journal, ok = l.Host.(executor.Journal); !ok {
		return workflow.Errorf(workflow.CodeInternal, "%s: the host of the turn keeps no journal of steps, so no tools can be used", l.Where())
	}
	var list []tool.Tool
	if l.schema != nil && l.cfg.Submit != nil {
		submit, err := l.cfg.Submit(l.Turn.Schema)
		if err == nil {
			l.submit, err = tool.NewSet(submit)
		}
		if err != nil {
			return workflow.Errorf(workflow.CodeInvalidPieceParams, "%s: the schema of the answer is not usable: %w", l.Where(), err)
		}
		list = []tool.Tool{submit}
	}
	var err error
	if l.gear, err = l.cfg.Equip(l.Turn); err != nil {
		return fmt.Errorf("%s: making the tools of the turn ready: %w", l.Where(), err)
	}
	if l.gear.Tools == nil {
		l.gear.Tools = &tool.Set{}
	}
	if l.Turn.Tools != nil {
		if l.gear.Tools, err = l.gear.Tools.Narrow(l.Turn.Tools...); err != nil {
			return workflow.Errorf(workflow.CodeInvalidPieceParams, "%s: the tools of %s: %w", l.Where(), l.name(), err)
		}
	}
	given := slices.DeleteFunc(l.gear.Tools.Tools(), func(t tool.Tool) bool { return t.Name == submitName && l.submit != nil })
	list = append(given, list...)
	for _, t := range list {
		about := t.Description
		if note := l.gear.Notes[t.Name]; note != "" {
			about += "\n\n" + note
		}
		l.tools = append(l.tools, provider.ToolSpec{Name: t.Name, Description: about, Schema: t.Schema})
	}
	l.system = strings.TrimSpace(l.Turn.Instructions + "\n\n" + l.about())
	return nil
}

// open makes the fence ready, once.
func (l *loop) open(ctx context.Context) error {
	if l.opened || l.gear.Open == nil {
		return nil
	}
	var err error
	if l.fence, err = l.gear.Open(ctx); err != nil {
		return fmt.Errorf("%s: making the fence of the turn ready: %w", l.Where(), err)
	}
	l.opened = true
	return nil
}

// about is the text for the model about the tools of the turn.
func (l *loop) about() string {
	roots, access, finish := "", "This turn may only read: calls that write are denied.", finishText
	if len(l.Turn.Roots) > 0 {
		roots = " The work is in: " + strings.Join(l.Turn.Roots, ", ") + "."
	}
	if l.Turn.Access == workflow.EffectWrite {
		access = "This turn may change files."
	}
	if l.submit != nil {
		finish = finishSubmit
	}
	return strings.TrimSpace(strings.NewReplacer("{dir}", l.Turn.Dir, "{roots}", roots, "{access}", access, "{finish}", finish).Replace(systemText))
}

// set returns the tools among which a name is looked for.
func (l *loop) set(name string) *tool.Set {
	if l.submit != nil && name == submitName {
		return l.submit
	}
	return l.gear.Tools
}

// rounds is how many responses the turn may take.
func (l *loop) rounds() int {
	if l.Turn.MaxTurns > 0 {
		return l.Turn.MaxTurns
	}
	return l.cfg.Limits.Rounds
}

func (l *loop) progress(format string, a ...any) {
	l.showing.Lock()
	defer l.showing.Unlock()
	l.Host.Progress(executor.Progress{Kind: "tool", Text: fmt.Sprintf(format, a...), Model: l.Model, Agent: l.Turn.Label})
}

// round makes the n-th model call and does what it asks for. It reports whether
// the turn has its answer.
func (l *loop) round(ctx context.Context, n int) (bool, error) {
	if err := l.steer(ctx, n); err != nil {
		return false, err
	}
	if err := l.limits(ctx, n); err != nil {
		return false, err
	}
	if n > 1 && n == l.rounds() && l.drained == 0 {
		l.messages = append(l.messages, provider.UserText(lastRound))
	}
	memo, err := l.ask(ctx, n)
	if l.drained > 0 && workflow.CodeOf(err) == workflow.CodeAgentBudget {
		return true, nil // not even a last word fits any more
	}
	if err != nil {
		return false, err
	}
	files, err := talk.Apply(l.Turn, memo.Files, memo.Before, l.fresh.round == n)
	if err != nil {
		return false, err
	}
	l.wrote(files...)
	l.count(memo.Response)
	l.reply.Text = memo.Text()
	l.messages = append(l.messages, memo.Message())
	l.told = len(l.messages)
	if len(l.calls(memo.Response)) == 0 {
		return l.answer(memo.Response), nil
	}
	return l.use(ctx, n, memo)
}

// lastRound is said before the last response that a turn may take.
const lastRound = "You have no calls left. Answer now, with what you have, and say what is missing."

// steer adds what a person says meanwhile.
func (l *loop) steer(ctx context.Context, n int) error {
	s, ok := l.Host.(executor.Steerer)
	if !ok {
		return nil
	}
	words, err := s.Steer(ctx, l.callKey(n), l.Turn.Label)
	for _, w := range words {
		l.messages = append(l.messages, provider.UserText("[The operator of this run says, while you work:]\n"+w))
	}
	return err
}

// count adds a response to the reply.
func (l *loop) count(r provider.Response) {
	l.reply.Usage = talk.Sum(l.reply.Usage, talk.UsageOf(r.Usage), l.reply.Rounds == 0)
	l.reply.Rounds++
	l.reply.Model = r.Model
	l.known, _ = r.Usage.Total()
}

// wrote adds paths to the files of the reply.
func (l *loop) wrote(names ...string) {
	for _, name := range names {
		if !slices.Contains(l.reply.Files, name) {
			l.reply.Files = append(l.reply.Files, name)
		}
	}
}

// answer takes a response without calls as the answer, or asks for it again.
func (l *loop) answer(r provider.Response) bool {
	if l.schema == nil {
		return true
	}
	value, problems := talk.Fit(l.schema, r)
	if problems == nil {
		l.reply.Structured = value
		return true
	}
	l.repairs++
	again := "Send the whole answer again, mended, as one JSON value and nothing else."
	if l.submit != nil {
		again = "If the work is done, call " + submitName + " with the whole answer; otherwise go on."
	}
	l.messages = append(l.messages, provider.UserText("This answer does not fit the schema:\n- "+strings.Join(problems, "\n- ")+"\n"+again))
	return false
}
