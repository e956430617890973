// Package talk is what executors over a provider have in common: the calls of one
// turn, and what their answers mean.
//
// Holds: Talk, which sends the calls of a turn within its time and says why one
// failed; the size and digest of a request; sums of usage; the JSON that an answer
// holds; the files that come with a scripted answer.
//
// Guarantees: an error names the node, the provider and what to do next, and keeps
// the provider's own error in its chain. Usage that nobody told stays unknown. Files
// of an answer are written once: after a crash the file itself tells whether it
// was. They are written only below the roots of a turn with write access, links
// included.
//
// Does not: decide what is said next, or keep memos.
package talk

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

// Talk is the side of one turn that speaks to its provider. Only one call is made
// at a time.
type Talk struct {
	Turn     executor.Turn
	Host     executor.Host
	Provider provider.Provider
	Model    string
	Clock    func() time.Time

	spent time.Duration // of Turn.Timeout
}

// Begin checks what no provider can do, and returns the talk of a turn. model is
// for turns that name none.
func Begin(t executor.Turn, h executor.Host, p provider.Provider, model string, clock func() time.Time) (*Talk, error) {
	k := &Talk{Turn: t, Host: h, Provider: p, Model: t.Model, Clock: clock}
	if k.Model == "" {
		k.Model = model
	}
	if t.Session != "" {
		return nil, workflow.Errorf(workflow.CodeSessionNotFound, "%s: provider %s keeps no sessions", k.Where(), p.Name())
	}
	return k, nil
}

// Where names the place of a turn in errors.
func Where(t executor.Turn) string {
	if t.Node != "" {
		return t.Node
	}
	return t.Key
}

// Where names the place of the turn in errors.
func (k *Talk) Where() string { return Where(k.Turn) }

// Named names provider and model in errors.
func (k *Talk) Named() string { return k.Provider.Name() + " " + k.Model }

// Prompt returns the text of a turn, or of the native command it names: rendered,
// or spelled as a command where the provider knows those by themselves.
func (k *Talk) Prompt(render func(id, args string) (string, bool), native bool) (string, error) {
	n := k.Turn.Native
	if n == nil {
		return k.Turn.Prompt, nil
	}
	if text, ok := render(n.ID, n.Args); ok {
		return text, nil
	}
	if !native {
		return "", workflow.Errorf(workflow.CodeNativeCommand, "%s: provider %s knows no native command %q, and no file renders it",
			k.Where(), k.Provider.Name(), n.ID).WithHint("add .claude/commands/%s.md, or a skill of that name", n.ID)
	}
	if n.Args == "" {
		return "/" + n.ID, nil
	}
	return "/" + n.ID + " " + n.Args, nil
}

// Labels are the metadata of a call under a grant.
func (k *Talk) Labels(g executor.Grant) map[string]string {
	m := map[string]string{provider.MetaNode: k.Turn.Node, provider.MetaAttempt: strconv.Itoa(max(1, g.Ordinal))}
	if k.Turn.Space != "" {
		m[provider.MetaSpace] = k.Turn.Space
	}
	if k.Turn.Native != nil {
		m[provider.MetaCommand] = k.Turn.Native.ID
	}
	return m
}

// Call describes the call of a request, all but its Do.
func (k *Talk) Call(key, kind string, r provider.Request, wanted int) (executor.Call, error) {
	digest, size, err := Measure(r)
	if err != nil {
		return executor.Call{}, fmt.Errorf("%s: %w", k.Where(), err)
	}
	c := executor.Call{
		Key: key, Kind: kind, Provider: k.Provider.Name(), Model: k.Model, Effort: k.Turn.Effort,
		ContextMode: "full", PromptBytes: size, MaxOutput: wanted, Request: digest, Reason: k.Turn.Reason,
	}
	if p, ok := k.Provider.(provider.Priced); ok {
		if most, known := p.MaxCost(r, size); known {
			c.MaxCost = &workflow.MaxCost{Sent: most.Sent, Token: most.Token}
		}
	}
	return c, nil
}

// Send makes one physical call within the time of the turn, and shows it. Done
// holds what is known of the call, also beside an error, and no memo.
func (k *Talk) Send(ctx context.Context, r provider.Request) (provider.Response, executor.Done, error) {
	limited, alive, stop := k.Limit(ctx, k.Turn.Idle)
	defer stop()
	if err := context.Cause(limited); errors.Is(err, errTotal) {
		return provider.Response{}, executor.Done{}, k.Overtime(limited)
	}
	response, err := k.Provider.Stream(limited, r, func(d provider.Delta) {
		alive()
		k.show(d)
	})
	if err != nil {
		done := executor.Done{Model: k.Model}
		if known := provider.AsError(err); known != nil {
			done.Usage = UsageOf(known.Usage)
		}
		return response, done, k.failure(ctx, limited, err)
	}
	return response, executor.Done{Usage: UsageOf(response.Usage), Model: response.Model, ToolCalls: len(response.ToolUses())}, nil
}

// Refused returns the error of an answer that declines to answer, nil for others.
// Such a call fails and leaves no memo, so that a retry asks again.
func (k *Talk) Refused(r provider.Response) error {
	if r.Stop != provider.StopRefusal {
		return nil
	}
	return workflow.Errorf(workflow.CodeProviderRefused, "%s: %s refused to answer%s", k.Where(), k.Named(), detail(r)).WithHint("change the prompt")
}

// Empty returns the error of an answer without text, nil for others.
func (k *Talk) Empty(r provider.Response) error {
	if strings.TrimSpace(r.Text()) != "" {
		return nil
	}
	return workflow.Errorf(workflow.CodeIncompleteResponse, "%s: the answer of %s holds no text (stopped: %s%s)", k.Where(), k.Named(), r.Stop, detail(r)).
		WithHint("resume to ask again, or choose another model")
}

// CutOff returns the error of an answer that met its output limit, nil for others.
func (k *Talk) CutOff(r provider.Response) error {
	if r.Stop != provider.StopMaxTokens {
		return nil
	}
	return workflow.Errorf(workflow.CodeIncompleteResponse, "%s: the answer of %s was cut off at its output limit", k.Where(), k.Named()).
		WithHint("raise the model's output limit or the budget, or ask for less")
}

func detail(r provider.Response) string {
	if r.StopDetail == "" {
		return ""
	}
	return ": " + r.StopDetail
}

func (k *Talk) show(d provider.Delta) {
	p := executor.Progress{Text: d.Text, Model: k.Model}
	switch d.Kind {
	case provider.DeltaText:
		p.Kind = "text"
	case provider.DeltaReasoning:
		p.Kind = "reasoning"
	default:
		p.Kind, p.Text = "tool", d.Name
	}
	k.Host.Progress(p)
}
