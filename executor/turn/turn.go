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
	"strings"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/talk"
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
	k, err := e.begin(t, h)
	if err != nil {
		return executor.Reply{}, err
	}
	reply := executor.Reply{}
	for round := 1; ; round++ {
		memo, err := k.call(ctx, round)
		if err != nil {
			return executor.Reply{}, err
		}
		response := memo.Response
		files, err := talk.Apply(t, memo.Files, memo.Before, k.fresh == round)
		if err != nil {
			return executor.Reply{}, err
		}
		reply.Files = append(reply.Files, files...)
		reply.Usage = talk.Sum(reply.Usage, talk.UsageOf(response.Usage), round == 1)
		reply.Text, reply.Model, reply.Rounds = response.Text(), response.Model, round
		if k.schema == nil {
			return reply, nil
		}
		value, problems := talk.Fit(k.schema, response)
		if problems == nil {
			reply.Structured = value
			return reply, nil
		}
		if round > k.repairs() {
			return executor.Reply{}, k.Misfit(response.Text(), problems)
		}
		k.repair(response, problems)
	}
}

// conversation is that of one turn.
type conversation struct {
	*talk.Talk
	maxOutput int
	schema    *schema.Schema
	messages  []provider.Message
	fresh     int // the last round that was really sent
}

// kept is the memo of a call: the answer, and what tells after a crash whether
// its files were written.
type kept struct {
	provider.Response
	Before []string `json:"before,omitempty"` // digest of each file before it was written, "" for none
}

func (e *Executor) begin(t executor.Turn, h executor.Host) (*conversation, error) {
	base, err := talk.Begin(t, h, e.cfg.Provider, e.cfg.Model, e.cfg.Clock)
	if err != nil {
		return nil, err
	}
	k := &conversation{Talk: base, maxOutput: t.MaxOutput}
	if k.maxOutput <= 0 {
		k.maxOutput = e.cfg.MaxOutput
	}
	prompt, err := k.Prompt(e.cfg.Command, e.cfg.Native)
	if err != nil {
		return nil, err
	}
	if len(t.Schema) > 0 {
		if k.schema, err = schema.Compile(t.Schema); err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalidPieceParams, "%s: the schema of the answer is not usable: %w", k.Where(), err)
		}
		prompt += "\n\n" + talk.Wish(t.Schema)
	}
	k.messages = []provider.Message{provider.UserText(prompt)}
	return k, nil
}

// repairs is how often an answer may be asked for again.
func (k *conversation) repairs() int {
	if k.Turn.MaxTurns > 0 {
		return min(k.Turn.Repairs, k.Turn.MaxTurns-1)
	}
	return k.Turn.Repairs
}

func (k *conversation) request(g executor.Grant) provider.Request {
	return provider.Request{
		Model: k.Model, System: k.Turn.Instructions, Messages: k.messages, Schema: k.Turn.Schema,
		MaxOutputTokens: g.MaxOutput, Effort: k.Turn.Effort, Metadata: k.Labels(g),
	}
}

// call makes the round's model call, or takes its memo.
func (k *conversation) call(ctx context.Context, round int) (kept, error) {
	kind := k.Turn.Kind
	if round > 1 {
		kind = "repair"
	}
	c, err := k.Call(fmt.Sprintf("%s/%d", k.Turn.Key, round), kind, k.request(executor.Grant{}), k.maxOutput)
	if err != nil {
		return kept{}, err
	}
	c.Do = func(ctx context.Context, g executor.Grant) (executor.Done, error) { return k.do(ctx, g, round) }
	memo, err := k.Host.Call(ctx, c)
	if err != nil {
		return kept{}, err
	}
	var r kept
	if err := json.Unmarshal(memo, &r); err != nil {
		return kept{}, workflow.Errorf(workflow.CodeStoreDamaged, "%s: reading the memo of call %d: %w", k.Where(), round, err)
	}
	return r, nil
}

// do makes one physical call.
func (k *conversation) do(ctx context.Context, g executor.Grant, round int) (executor.Done, error) {
	response, done, err := k.Send(ctx, k.request(g))
	if err == nil {
		err = k.reject(response, round)
	}
	if err != nil {
		return done, err
	}
	k.fresh = round
	if done.Memo, err = json.Marshal(kept{Response: response, Before: talk.Digests(k.Turn, response.Files)}); err != nil {
		return done, fmt.Errorf("%s: keeping the answer: %w", k.Where(), err)
	}
	return done, nil
}

// reject returns why an answer does not count. Such a call fails and leaves no
// memo, so that a retry asks again.
func (k *conversation) reject(r provider.Response, round int) error {
	if err := k.Refused(r); err != nil {
		return err
	}
	if err := k.Empty(r); err != nil {
		return err
	}
	if k.schema == nil {
		return k.CutOff(r)
	}
	if _, problems := talk.Fit(k.schema, r); problems != nil && round > k.repairs() {
		return k.Misfit(r.Text(), problems)
	}
	return nil
}

// repair asks for the answer again.
func (k *conversation) repair(r provider.Response, problems []string) {
	k.messages = append(k.messages, r.Message(), provider.UserText(
		"This answer does not fit the schema:\n- "+strings.Join(problems, "\n- ")+
			"\nSend the whole answer again, mended, as one JSON value and nothing else."))
}
