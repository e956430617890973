// Package turn is the Executor of one plain model turn over a provider.
//
// Holds: Executor, which sends instructions and prompt, asks again while a
// structured answer does not fit, and writes the files that a scripted answer
// carries.
//
// Guarantees: every answer that counts is the memo of a call, so a turn that is
// run again makes the same calls with the same keys. The files of an answer are
// written once: after a crash the file itself tells whether it was, and what a
// person changed since stays. Files are written only by turns with write access
// and only below the turn's roots, links included.
//
// Does not: offer tools, keep sessions, honour Turn.Thinking, or retry a call
// that failed.
package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
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
	// Command renders a native command as a prompt; ok is false when there is
	// no command of that id. Nil knows no commands.
	Command func(id, args string) (prompt string, ok bool)
	// Native says that the provider knows native commands by their id, in
	// provider.MetaCommand, also where Command does not.
	Native bool
	// Clock measures how long calls take; nil means time.Now.
	Clock func() time.Time
}

// Executor carries out plain turns with one provider. It is safe for concurrent
// use.
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
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Executor{cfg: c}
}

// Capabilities tells what the provider can do with a model.
func (e *Executor) Capabilities(model string) executor.Capabilities {
	caps := executor.Capabilities{Model: e.cfg.Model, Native: e.cfg.Native}
	if c, ok := e.cfg.Provider.(provider.Capable); ok {
		if can := c.Capabilities(model); can.Effort {
			caps.Efforts = can.Efforts
		}
	}
	return caps
}

// Execute runs one turn.
func (e *Executor) Execute(ctx context.Context, t executor.Turn, h executor.Host) (executor.Reply, error) {
	talk, err := e.begin(t, h)
	if err != nil {
		return executor.Reply{}, err
	}
	reply := executor.Reply{}
	for round := 1; ; round++ {
		memo, err := talk.call(ctx, round)
		if err != nil {
			return executor.Reply{}, err
		}
		response := memo.Response
		files, err := apply(t, memo, talk.fresh == round)
		if err != nil {
			return executor.Reply{}, err
		}
		reply.Files = append(reply.Files, files...)
		reply.Usage = sum(reply.Usage, usageOf(response.Usage), round)
		reply.Text, reply.Model, reply.Rounds = response.Text(), response.Model, round
		if talk.schema == nil {
			return reply, nil
		}
		value, problems := fit(talk.schema, response)
		if problems == nil {
			reply.Structured = value
			return reply, nil
		}
		if round > talk.repairs() {
			return executor.Reply{}, talk.misfit(response, problems)
		}
		talk.repair(response, problems)
	}
}

// talk is the conversation of one turn.
type talk struct {
	cfg      Config
	turn     executor.Turn
	host     executor.Host
	schema   *schema.Schema
	model    string
	messages []provider.Message
	left     time.Duration // of Turn.Timeout
	fresh    int           // the last round that was really sent
}

// kept is the memo of a call: the answer, and what tells after a crash whether
// its files were written.
type kept struct {
	provider.Response
	Before []string `json:"before,omitempty"` // digest of each file before it was written, "" for none
}

func (e *Executor) begin(t executor.Turn, h executor.Host) (*talk, error) {
	k := &talk{cfg: e.cfg, turn: t, host: h, model: t.Model, left: t.Timeout}
	if k.model == "" {
		k.model = e.cfg.Model
	}
	if t.Session != "" {
		return nil, workflow.Errorf(workflow.CodeSessionNotFound, "%s: provider %s keeps no sessions", k.where(), e.cfg.Provider.Name())
	}
	prompt, err := e.prompt(t)
	if err != nil {
		return nil, err
	}
	if len(t.Schema) > 0 {
		if k.schema, err = schema.Compile(t.Schema); err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalidPieceParams, "%s: the schema of the answer is not usable: %w", k.where(), err)
		}
		prompt += "\n\n" + wish(t.Schema)
	}
	k.messages = []provider.Message{provider.UserText(prompt)}
	return k, nil
}

// prompt returns the text of the turn, or of the native command it names.
func (e *Executor) prompt(t executor.Turn) (string, error) {
	if t.Native == nil {
		return t.Prompt, nil
	}
	if text, ok := e.cfg.Command(t.Native.ID, t.Native.Args); ok {
		return text, nil
	}
	if !e.cfg.Native {
		return "", workflow.Errorf(workflow.CodeNativeCommand, "%s: provider %s knows no native command %q, and no file renders it",
			where(t), e.cfg.Provider.Name(), t.Native.ID).
			WithHint("add .claude/commands/%s.md, or a skill of that name", t.Native.ID)
	}
	if t.Native.Args == "" {
		return "/" + t.Native.ID, nil
	}
	return "/" + t.Native.ID + " " + t.Native.Args, nil
}

// repairs is how often an answer may be asked for again.
func (k *talk) repairs() int {
	if k.turn.MaxTurns > 0 {
		return min(k.turn.Repairs, k.turn.MaxTurns-1)
	}
	return k.turn.Repairs
}

func (k *talk) where() string { return where(k.turn) }

func where(t executor.Turn) string {
	if t.Node != "" {
		return t.Node
	}
	return t.Key
}

func (k *talk) request(g executor.Grant) provider.Request {
	r := provider.Request{
		Model: k.model, System: k.turn.Instructions, Messages: k.messages, Schema: k.turn.Schema,
		MaxOutputTokens: g.MaxOutput, Effort: k.turn.Effort,
		Metadata: map[string]string{provider.MetaNode: k.turn.Node, provider.MetaAttempt: strconv.Itoa(max(1, g.Ordinal))},
	}
	if k.turn.Native != nil {
		r.Metadata[provider.MetaCommand] = k.turn.Native.ID
	}
	return r
}

// call makes the round's model call, or takes its memo.
func (k *talk) call(ctx context.Context, round int) (kept, error) {
	kind := k.turn.Kind
	if round > 1 {
		kind = "repair"
	}
	wanted := k.turn.MaxOutput
	if wanted <= 0 {
		wanted = k.cfg.MaxOutput
	}
	digest, size, err := measure(k.request(executor.Grant{}))
	if err != nil {
		return kept{}, fmt.Errorf("%s: %w", k.where(), err)
	}
	memo, err := k.host.Call(ctx, executor.Call{
		Key: fmt.Sprintf("%s/%d", k.turn.Key, round), Kind: kind,
		Provider: k.cfg.Provider.Name(), Model: k.model, Effort: k.turn.Effort,
		ContextMode: "full", PromptBytes: size, MaxOutput: wanted, Request: digest,
		Do: func(ctx context.Context, g executor.Grant) (executor.Done, error) { return k.do(ctx, g, round) },
	})
	if err != nil {
		return kept{}, err
	}
	var r kept
	if err := json.Unmarshal(memo, &r); err != nil {
		return kept{}, workflow.Errorf(workflow.CodeStoreDamaged, "%s: reading the memo of call %d: %w", k.where(), round, err)
	}
	return r, nil
}
