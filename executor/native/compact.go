package native

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/executor/talk"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed compact.md
var compactText string

// Sizes of a compaction.
const (
	perToken      = 3    // bytes of a token, cautiously
	maxEntry      = 3000 // of a part of the transcript, in bytes
	maxSummaries  = 3    // tries with a shorter and shorter transcript
	minTranscript = 4000 // in bytes
)

// errFits says that there is nothing to compact: it settles no step.
var errFits = errors.New("the conversation fits")

// squeeze is the decision to compact a conversation.
type squeeze struct {
	Why  string `json:"why,omitempty"` // empty: it fits
	Room int    `json:"room"`          // for what stays as it is, in bytes
}

// tooLong decides whether the conversation has to be compacted before round n.
// The decision is a step, so that a turn that is run again does the same whatever
// the limit is then. said is the provider's word, if it spoke.
func (l *loop) tooLong(ctx context.Context, n, try int, said string) (squeeze, error) {
	if l.journal == nil || n < 2 {
		return squeeze{}, nil
	}
	raw, err := l.journal.Step(ctx, executor.Step{
		Key: fmt.Sprintf("%s/%d/long/%d", l.Turn.Key, n, try), Tool: "compaction",
		Do: func(context.Context, json.RawMessage, func(json.RawMessage) error) (executor.Outcome, error) {
			limit, size := l.cfg.ContextLimit(l.Model), l.size()
			var why string
			switch {
			case said != "":
				why = text.Head(said, maxEntry, "…")
			case limit > 0 && try == 1 && size+l.reserve(limit) > limit && !l.compacted():
				why = fmt.Sprintf("it has about %d tokens, and the model holds %d", size, limit)
			default:
				return executor.Outcome{}, errFits
			}
			memo, err := json.Marshal(squeeze{Why: why, Room: l.room(limit)})
			return executor.Outcome{Memo: memo, About: "the conversation is too long: " + why}, err
		}})
	if errors.Is(err, errFits) {
		return squeeze{}, nil
	}
	if err != nil {
		return squeeze{}, err
	}
	q := squeeze{Room: l.room(l.cfg.ContextLimit(l.Model))}
	if err := json.Unmarshal(raw, &q.Why); err == nil { // as old runs have it
		return q, nil
	}
	err = l.recall(raw, &q, "why the conversation was compacted")
	return q, err
}

// room is what may stay as it is, in bytes, of a conversation that its model holds
// no longer.
func (l *loop) room(limit int) int {
	room := bytesOf(l.messages) / 4
	if limit > 0 {
		room = min(room, limit/4*perToken)
	}
	return room
}

// compacted reports whether nothing can be gained any more.
func (l *loop) compacted() bool {
	return l.journal == nil || l.reply.Rounds == 0 || l.reply.Compactions >= l.cfg.Limits.Compactions
}

// reserve is the part of a limit that is kept for the answer.
func (l *loop) reserve(limit int) int { return min(l.maxOutput, limit/4) }

// size estimates the tokens of the conversation.
func (l *loop) size() int {
	n := 0
	if l.known > 0 {
		return int(l.known) + bytesOf(l.messages[l.told:])/perToken
	}
	for _, t := range l.tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return (n + len(l.system) + bytesOf(l.messages)) / perToken
}

func bytesOf(messages []provider.Message) int {
	n := 0
	for _, m := range messages {
		for _, p := range m.Parts {
			n += len(p.Text) + len(p.Input) + len(p.RawInput) + len(p.State)
		}
	}
	return n
}

// compact replaces the oldest part of the conversation by a summary. The task,
// the list of tasks and the last calls stay. It reports whether the conversation is shorter now.
func (l *loop) compact(ctx context.Context, key string, q squeeze) (bool, error) {
	l.progress("compacting the conversation: %s", q.Why)
	before := bytesOf(l.messages)
	at := l.tail(q.Room)
	if at > 1 {
		if err := l.summarise(ctx, key, l.messages[1:at], 2*q.Room); err != nil {
			return false, err
		}
	}
	first := l.task
	if l.summary != "" {
		first += "\n\n[The conversation was too long. Summary of its oldest part:]\n" + l.summary
	}
	if l.todo != "" {
		first += "\n\n[Your list of tasks:]\n" + l.todo
	}
	l.messages = append([]provider.Message{provider.UserText(first)}, trimmed(l.messages[at:], q.Room)...)
	l.known, l.told = 0, 0
	l.reply.Compactions++
	after := bytesOf(l.messages)
	l.progress("compacted the conversation: %d bytes of %d are left", after, before)
	return after < before, nil
}

// tail is where the part of the conversation begins that stays: the last
// responses with what came after them that fit into room bytes, and the very last
// one anyway.
func (l *loop) tail(room int) int {
	at := len(l.messages)
	for i := len(l.messages) - 1; i > 0; i-- {
		if l.messages[i].Role != provider.RoleAssistant {
			continue
		}
		if at < len(l.messages) && bytesOf(l.messages[i:]) > room {
			break
		}
		at = i
	}
	return at
}

// trimmed cuts the texts of what stays, the results first, where all together
// they are more than room bytes.
func trimmed(messages []provider.Message, room int) []provider.Message {
	results := 0
	for _, m := range messages {
		if m.Role == provider.RoleTool {
			results += len(m.Parts)
		}
	}
	if results == 0 || bytesOf(messages) <= room {
		return messages
	}
	share := max(room/results, 200)
	out := make([]provider.Message, len(messages))
	for i, m := range messages {
		out[i] = m
		if m.Role != provider.RoleTool {
			continue
		}
		out[i].Parts = make([]provider.Part, len(m.Parts))
		for j, p := range m.Parts {
			if size := len(p.Text); size > share {
				p.Text = text.HeadBytes(p.Text, share, fmt.Sprintf("\n[cut: the result had %d bytes; call again for a part of it]", size))
			}
			out[i].Parts[j] = p
		}
	}
	return out
}

// summarise asks for the summary of the oldest part. A transcript that is too
// long for the model is shortened.
func (l *loop) summarise(ctx context.Context, key string, old []provider.Message, room int) error {
	transcript := l.transcript(old)
	for try := 1; ; try++ {
		room = max(room, minTranscript)
		r := provider.Request{System: strings.TrimSpace(compactText), Effort: l.Turn.Effort,
			Messages: []provider.Message{provider.UserText("The task:\n" + text.HeadBytes(l.task, room, "…") +
				"\n\nThe conversation:\n" + text.TailBytes(transcript, room, "[the oldest part is left out]\n"))}}
		err := l.summaryCall(ctx, fmt.Sprintf("%s/%d", key, try), r)
		if workflow.CodeOf(err) != workflow.CodeContextLength || try == maxSummaries || room == minTranscript {
			return err
		}
		room /= 2
	}
}

// unavailable are the failures of the model for summaries that the model of the turn
// can make good.
var unavailable = []workflow.Code{
	workflow.CodeQuotaExhausted, workflow.CodeRateLimited, workflow.CodeProviderOverloaded, workflow.CodeModelUnknown, workflow.CodeProviderAuth,
}

// summaryCall makes one call for a summary, or takes its memo. What the model of
// another purpose cannot give, that of the turn is asked for.
func (l *loop) summaryCall(ctx context.Context, key string, r provider.Request) error {
	k := l.compactor(ctx)
	if k == l.Talk {
		return l.summaryBy(ctx, k, key, r)
	}
	left, err := l.left(ctx, key, nil)
	if err == nil && !left {
		if err = l.summaryBy(ctx, k, key, r); !slices.Contains(unavailable, workflow.CodeOf(err)) {
			return err
		}
		_, err = l.left(ctx, key, err)
	}
	if err != nil {
		return err
	}
	return l.summaryBy(ctx, l.Talk, key+"/own", r)
}

// left records why the model for summaries was left, or tells whether it was.
func (l *loop) left(ctx context.Context, key string, why error) (bool, error) {
	_, err := l.journal.Step(ctx, executor.Step{Key: key + "/left", Tool: "routing",
		Do: func(context.Context, json.RawMessage, func(json.RawMessage) error) (executor.Outcome, error) {
			if why == nil {
				return executor.Outcome{}, errFits
			}
			memo, err := json.Marshal(map[string]any{"code": workflow.CodeOf(why), "why": text.Head(why.Error(), maxEntry, "…")})
			return executor.Outcome{Memo: memo, About: "asks the agent's own model for the summary: " + text.Head(why.Error(), maxEntry, "…")}, err
		}})
	if errors.Is(err, errFits) {
		return false, nil
	}
	return err == nil, err
}

// summaryBy makes the call of one model.
func (l *loop) summaryBy(ctx context.Context, k *talk.Talk, key string, r provider.Request) error {
	r.Model = k.Model
	c, err := k.Call(key, PurposeCompaction, r, l.maxOutput)
	if err != nil {
		return err
	}
	c.Agent, c.Last = l.Turn.Agent, l.drained > 0
	c.Do = func(ctx context.Context, g executor.Grant) (executor.Done, error) {
		r.MaxOutputTokens, r.Metadata = g.MaxOutput, l.Labels(g)
		response, done, err := k.Send(ctx, r)
		if err == nil {
			err = errors.Join(k.Refused(response), k.Empty(response))
		}
		if err == nil {
			done.Memo, err = json.Marshal(response)
		}
		return done, err
	}
	memo, err := l.Host.Call(ctx, c)
	if workflow.CodeOf(err) == workflow.CodeAgentBudget {
		l.summary = strings.TrimSpace(l.summary + "\n" + noSummary)
		return nil
	}
	if err != nil {
		return err
	}
	var response provider.Response
	if err := l.recall(memo, &response, "the memo of a summary"); err != nil {
		return err
	}
	l.reply.Usage = talk.Sum(l.reply.Usage, talk.UsageOf(response.Usage), l.reply.Rounds == 0)
	l.reply.Rounds++
	l.summary = response.Text()
	return nil
}

// noSummary stands for one that the limits of the agent leave no room for.
const noSummary = "[The oldest part is left out: the limits leave nothing for a summary.]"

// compactor is the side of the turn that speaks to the model for summaries.
func (l *loop) compactor(ctx context.Context) *talk.Talk {
	if l.cfg.Elsewhere == nil {
		return l.Talk
	}
	w, ok := l.cfg.Elsewhere(ctx, l.Turn, PurposeCompaction)
	if !ok {
		return l.Talk
	}
	k := *l.Talk
	k.Provider, k.Model = w.Provider, w.Model
	k.Turn.Provider, k.Turn.Model, k.Turn.Effort, k.Turn.Reason, k.Turn.Rule = w.Provider.Name(), w.Model, "", w.Reason, w.Rule
	return &k
}

// transcript spells a part of the conversation for the summary.
func (l *loop) transcript(messages []provider.Message) string {
	var b strings.Builder
	if l.summary != "" {
		b.WriteString("[summary of what came before]\n" + l.summary + "\n\n")
	}
	for _, m := range messages {
		for _, p := range m.Parts {
			head, body := "person", p.Text
			switch {
			case p.Kind == provider.PartToolUse:
				head, body = "agent calls "+p.Name, string(arguments(p))
			case p.Kind == provider.PartToolResult:
				head = "result of " + p.Name
			case p.Kind == provider.PartReasoning:
				continue
			case m.Role == provider.RoleAssistant:
				head = "agent"
			}
			if size := len(body); size > maxEntry {
				body = text.HeadBytes(body, maxEntry*2/3, "\n…\n") + text.TailBytes(body, maxEntry/3, "") + fmt.Sprintf("\n[%d bytes]", size)
			}
			fmt.Fprintf(&b, "[%s]\n%s\n\n", head, body)
		}
	}
	return b.String()
}
