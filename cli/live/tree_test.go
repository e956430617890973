package live_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/cli/live"
	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/workflow"
)

// start is when every test's run begins.
var start = workflow.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local))

// film makes the events of one run.
type film struct {
	tree *live.Tree
	run  workflow.RunID
	seq  int64
	at   workflow.Time
}

func newFilm(t *live.Tree, run workflow.RunID) *film { return &film{tree: t, run: run, at: start} }

func (f *film) wait(d time.Duration) *film {
	f.at = f.at.Add(d)
	return f
}

// put adds an event about a visit such as "each#1[3]/do#1".
func (f *film) put(visit string, attempt int, p workflow.Payload) *film {
	f.seq++
	f.tree.Event(f.run, workflow.Event{Seq: f.seq, At: f.at, ID: visit, Node: pathOf(visit), Attempt: attempt, Payload: p})
	return f
}

// pathOf is the path of node names of a visit: names of parallel branches are
// steps of it, numbers of map branches are not.
func pathOf(visit string) string {
	var out []string
	for step := range strings.SplitSeq(visit, "/") {
		name, rest, _ := strings.Cut(step, "#")
		if name != "" {
			out = append(out, name)
		}
		if _, branch, ok := strings.Cut(rest, "["); ok {
			if b := strings.TrimSuffix(branch, "]"); b != "" && (b[0] < '0' || b[0] > '9') {
				out = append(out, b)
			}
		}
	}
	return strings.Join(out, "/")
}

func (f *film) begin(name string) *film {
	return f.put("", 0, &workflow.RunStarted{Workflow: workflow.Ref{Name: name}, Options: workflow.Options{Budget: workflow.Budget{MaxTokens: 50_000}}})
}

func (f *film) admit(visit, kind string) *film {
	self := false
	switch kind {
	case workflow.KindMap, workflow.KindParallel, workflow.KindComponent, workflow.KindEnd, workflow.KindWait, workflow.KindWorkflow, workflow.KindCondition:
		self = true
	}
	return f.put(visit, 1, &workflow.Admitted{Kind: kind, Self: self})
}

func (f *film) call(visit string, in, out int64) *film {
	f.put(visit, 1, &workflow.InvocationReserved{Provider: "p", Model: "big"})
	return f.put(visit, 1, &workflow.InvocationSettled{Status: workflow.InvocationOK, Model: "big", Usage: workflow.Usage{Input: &in, Output: &out}})
}

func (f *film) ok(visit, outcome string) *film {
	return f.put(visit, 1, &workflow.Settled{Outcome: outcome})
}

func (f *film) fail(visit, outcome string) *film {
	return f.put(visit, 1, &workflow.Settled{Outcome: outcome, Status: workflow.VisitFailed, Error: &workflow.Failure{Code: "timeout", Message: pathOf(visit) + ": it took too long"}})
}

func (f *film) end(visit string, ok bool, reasons ...string) *film {
	f.admit(visit, workflow.KindEnd)
	return f.put(visit, 1, &workflow.Settled{Completion: &workflow.Completion{OK: ok, Reasons: reasons}})
}

func (f *film) say(visit, kind, text string) *film {
	f.tree.Progress(f.run, workflow.VisitID(visit), executor.Progress{Kind: kind, Text: text})
	return f
}

func (f *film) look() live.Look {
	return live.Look{Width: 80, Height: 24, Now: f.at, ASCII: true, Reply: func(q workflow.Question) []string { return []string{"tenon answer " + q.ID + " VALUE"} }}
}

func definition(t *testing.T, text string) *workflow.Definition {
	t.Helper()
	def := new(workflow.Definition)
	if err := json.Unmarshal([]byte(text), def); err != nil {
		t.Fatal(err)
	}
	return def
}

const fanDoc = `{"entry":"each","nodes":{
	"each":{"kind":"map","params":{"over":{"items":[1,2,3,4,5]},"body":{"entry":"do","nodes":{
		"do":{"kind":"prompt","ends":{"next":"check","failed":null}},
		"check":{"kind":"shell","ends":{"ok":null}}}}},"ends":{"next":null}},
	"fan":{"kind":"parallel","params":{"branches":{"left":{"entry":"a","nodes":{"a":{"kind":"prompt","ends":{"next":null}}}},"right":"part"}}}},
	"components":{"part":{"entry":"x","nodes":{"x":{"kind":"prompt","ends":{"next":"y"}},"y":{"kind":"component","params":{"ref":"part"}}}}}}`

func TestDraw(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		film func(*film)
		look func(*live.Look)
		want string
	}{
		{name: "nothing yet", film: func(*film) {}},
		{name: "a script", film: func(f *film) {
			f.put("", 0, &workflow.RunStarted{Kind: workflow.KindScript, Workflow: workflow.Ref{Name: "review"}})
			f.put("phase#1", 0, &workflow.Progress{Kind: workflow.NotePhase, Message: "Find"})
			f.put("log#1", 0, &workflow.Progress{Kind: workflow.NoteLog, Message: "four files"})
			f.put("parallel#1[0]/agent#1", 1, &workflow.Admitted{Kind: "agent", Label: "find: tests", Group: "Find"}).call("parallel#1[0]/agent#1", 10, 5)
			f.put("parallel#1[1]/agent#1", 1, &workflow.Admitted{Kind: "agent"}).wait(3 * time.Second)
			f.ok("parallel#1[0]/agent#1", "next").wait(9 * time.Second)
		}, want: `
> review  r1  12s
    Find: four files
  + find: tests  big  15 tokens  3s
  > parallel#1[1]/agent  agent  12s
  1 model call  15 tokens  12s`},
		{name: "steps one after the other", film: func(f *film) {
			f.begin("fix").admit("plan#1", "prompt").call("plan#1", 600, 41).wait(15*time.Second).ok("plan#1", "next")
			f.admit("check#1", "shell").wait(time.Second).ok("check#1", "fail")
			f.admit("cond#1", workflow.KindCondition).ok("cond#1", "true")
			f.admit("plan#2", "prompt").put("plan#2", 1, &workflow.InvocationReserved{Model: "big"})
			f.say("plan#2", "text", "Let me\nlook ").say("plan#2", "text", "at it").wait(65 * time.Second)
		}, want: `
> fix  r1  1m21s
  + plan  big  641 tokens  15s
  + check  -> fail  1s
  > plan#2  prompt  big  1m05s
      says: Let me look at it
  1 model call  641 of 50.0k tokens  1m21s`},
		{name: "agents below the agent that started them", film: func(f *film) {
			f.begin("fix").admit("work#1", "prompt").call("work#1", 100, 10)
			f.put("work#1", 1, &workflow.AgentStarted{Key: "k", Agent: "work"})
			f.put("work#1", 1, &workflow.AgentStarted{Key: "k/1", Parent: "k", Label: "audit", Task: "read the\nledger", Depth: 1, Model: "small"})
			f.put("work#1", 1, &workflow.AgentStarted{Key: "k/2", Parent: "k", Label: "helper", Depth: 1, Model: "big"})
			f.put("work#1", 1, &workflow.AgentStarted{Key: "k/1/1", Parent: "k/1", Label: "audit/lint", Depth: 2, Model: "tiny"})
			in, out := int64(30), int64(3)
			f.put("work#1", 1, &workflow.InvocationReserved{Agent: "k/1/1", Model: "tiny"})
			f.put("work#1", 1, &workflow.InvocationSettled{Status: workflow.InvocationOK, Model: "tiny", Usage: workflow.Usage{Input: &in, Output: &out}})
			f.tree.Progress(f.run, "work#1", executor.Progress{Kind: "tool", Text: "read go.mod", Agent: "audit/lint"})
			f.wait(2*time.Second).put("work#1", 1, &workflow.AgentEnded{Key: "k/2", Status: workflow.AgentFailed, Code: "timeout", Message: "too long"})
		}, want: `
> fix  r1  2s
  > work  prompt  big  143 tokens  2s
    > audit (read the ledger)  agent  small  33 tokens  2s
      > lint  agent  tiny  33 tokens  2s
          read go.mod
    x helper  too long (timeout)  big  2s
  2 model calls  143 of 50.0k tokens  2s`},
		{name: "a retry and a rate limit count down", film: func(f *film) {
			f.begin("fix").admit("a#1", "prompt").put("a#1", 1, &workflow.Retrying{Code: "idle_timeout", Message: "a: no sign of life", After: start.Add(9 * time.Second)})
			f.admit("b#1", "prompt").put("b#1", 1, &workflow.InvocationSettled{Status: workflow.InvocationFailed, Code: workflow.CodeRateLimited, RetryAt: start.Add(75 * time.Second), Usage: known(0, 0)})
			f.wait(2500 * time.Millisecond)
		}, want: `
~ fix  r1  2s
  ~ a  prompt  attempt 2 in 7s  no sign of life (idle_timeout)  2s
  ~ b  prompt  again in 1m13s  rate limited  2s
  1 model call  0 of 50.0k tokens  2s`},
		{name: "the next attempt and the next call take the wait away", film: func(f *film) {
			f.begin("fix").admit("a#1", "prompt").put("a#1", 1, &workflow.Retrying{Code: "timeout", After: start.Add(time.Second)})
			f.put("a#1", 2, &workflow.Admitted{Kind: "prompt"})
			f.admit("b#1", "prompt").put("b#1", 1, &workflow.InvocationSettled{RetryAt: start.Add(time.Second), Usage: known(0, 0)})
			f.put("b#1", 1, &workflow.InvocationReserved{Model: "big"})
		}, want: `
> fix  r1
  > a  prompt  attempt 2
  > b  prompt  big
  1 model call  0 of 50.0k tokens  0s`},
		{name: "a question and what to type", film: func(f *film) {
			f.begin("fix").admit("ask#1", "question").put("ask#1", 1, &workflow.QuestionOpened{Question: workflow.Question{
				ID: "q1", Kind: workflow.AskQuestion, Text: "Which one?\nThe big one?", Deadline: start.Add(time.Hour)}})
			f.admit("go#1", "gate").put("go#1", 1, &workflow.QuestionOpened{Question: workflow.Question{ID: "q2", Kind: workflow.AskGate, Text: "Go?"}})
			f.wait(time.Minute)
		}, want: `
? fix  r1  1m00s
  ? ask  question  asks, expires in 59m00s  1m00s
      Which one? The big one?
      tenon answer q1 VALUE
  ? go  gate  waits at a gate  1m00s
      Go?
      tenon answer q2 VALUE
  0 model calls  0 of 50.0k tokens  1m00s`},
		{name: "an answer lets it go on", film: func(f *film) {
			f.begin("fix").admit("ask#1", "question").put("ask#1", 1, &workflow.QuestionOpened{Question: workflow.Question{ID: "q1"}})
			f.put("ask#1", 1, &workflow.QuestionAnswered{Question: "q1"})
		}, want: `
. fix  r1
  . ask  question  waits for its turn
  0 model calls  0 of 50.0k tokens  0s`},
		{name: "a map counts what is done", film: func(f *film) {
			f.tree.Know("fan", definition(t, fanDoc))
			f.begin("fan").admit("each#1", workflow.KindMap)
			for i := range 4 {
				f.admit(fmt.Sprintf("each#1[%d]/do#1", i), "prompt")
			}
			f.wait(2*time.Second).ok("each#1[0]/do#1", "next").admit("each#1[0]/check#1", "shell").ok("each#1[0]/check#1", "ok")
			f.fail("each#1[1]/do#1", "failed")
			f.call("each#1[2]/do#1", 1000, 1).ok("each#1[2]/do#1", "next")
		}, want: `
> fan  r1  2s
  > each  map  1 of 5 done  1 failed  1 running, 1 waiting  1001 tokens  2s
    x [1] do  it took too long (timeout)  2s
    . [2]  waits for its turn  1001 tokens
    > [3] do  prompt  2s
  1 model call  1001 of 50.0k tokens  2s`},
		{name: "an outcome without an edge fails the branch", film: func(f *film) {
			f.tree.Know("fan", definition(t, fanDoc))
			f.begin("fan").admit("each#1", workflow.KindMap).admit("each#1[0]/check#1", "shell").ok("each#1[0]/check#1", "fail")
		}, want: `
> fan  r1
  > each  map  0 of 5 done  1 failed
    x [0] check  fail
  0 model calls  0 of 50.0k tokens  0s`},
		{name: "branches by name, with a component in one", film: func(f *film) {
			f.tree.Know("fan", definition(t, fanDoc))
			f.begin("fan").admit("fan#1", workflow.KindParallel).admit("fan#1[left]/a#1", "prompt").admit("fan#1[right]/x#1", "prompt")
			f.wait(3*time.Second).ok("fan#1[left]/a#1", "next").ok("fan#1[right]/x#1", "next")
			f.admit("fan#1[right]/y#1", workflow.KindComponent).admit("fan#1[right]/y#1/x#1", "prompt").wait(time.Second)
		}, want: `
> fan  r1  4s
  > fan  parallel  1 of 2 done  1 running  4s
    + [left]  3s
    > [right] y  component  1s
      > x  prompt  1s
  0 model calls  0 of 50.0k tokens  4s`},
		{name: "without the workflow a branch is done until it goes on", film: func(f *film) {
			f.begin("fan").admit("each#1", workflow.KindMap).admit("each#1[0]/do#1", "prompt").ok("each#1[0]/do#1", "next")
			f.admit("each#1[1]/do#1", "prompt").ok("each#1[1]/do#1", "next").admit("each#1[1]/check#1", "shell")
		}, want: `
> fan  r1
  > each  map  1 done  1 running
    > [1] check  shell
  0 model calls  0 of 50.0k tokens  0s`},
		{name: "the end of a branch tells how it went", film: func(f *film) {
			f.begin("fan").admit("each#1", workflow.KindMap).end("each#1[0]/good#1", true).end("each#1[1]/bad#1", false, "not_repaired")
		}, want: `
> fan  r1
  > each  map  1 done  1 failed
    x [1]  not_repaired
  0 model calls  0 of 50.0k tokens  0s`},
		{name: "a child run under the visit that started it", film: func(f *film) {
			f.begin("top").admit("sub#1", workflow.KindWorkflow).put("sub#1", 1, &workflow.ChildStarted{Run: "r2"})
			c := newFilm(f.tree, "r2")
			c.put("", 0, &workflow.RunStarted{Workflow: workflow.Ref{Name: "child"}, Parent: &workflow.ParentRef{Run: "r1", Visit: "sub#1"}})
			c.admit("one#1", "prompt").call("one#1", 10, 5).ok("one#1", "next").admit("two#1", "shell").say("two#1", "tool", "line 1").say("two#1", "tool", "line 2")
			f.wait(2 * time.Second)
		}, want: `
> top  r1  2s
  > sub  r2  15 tokens  2s
    + one  big  15 tokens
    > two  shell  2s
        line 2
  1 model call  15 of 50.0k tokens  2s`},
		{name: "a child run that was not seen counts by its end", film: func(f *film) {
			f.begin("top").admit("sub#1", workflow.KindWorkflow).put("sub#1", 1, &workflow.ChildStarted{Run: "r2"})
			f.put("sub#1", 1, &workflow.ChildEnded{Run: "r2", Status: workflow.StatusSucceeded, Usage: workflow.Totals{Calls: 3, Input: 70, Output: 7}}).ok("sub#1", "next")
		}, want: `
> top  r1
  + sub  r2  77 tokens
  3 model calls  77 of 50.0k tokens  0s`},
		{name: "waits for time and for signals", film: func(f *film) {
			f.begin("top").admit("nap#1", workflow.KindWait).put("nap#1", 1, &workflow.TimerStarted{Until: start.Add(90 * time.Second)}).admit("sig#1", workflow.KindWait)
			f.admit("long#1", workflow.KindWait).put("long#1", 1, &workflow.TimerStarted{Until: start.Add(3 * day)})
		}, want: `
~ top  r1
  ~ nap  wait  waits 1m30s  until 12:01:30
  ~ sig  wait  waits for a signal
  ~ long  wait  waits 3d  until 2026-03-04 12:00
  0 model calls  0 of 50.0k tokens  0s`},
		{name: "limits and providers that hold a run", film: func(f *film) {
			f.begin("top").admit("a#1", "prompt").put("a#1", 1, &workflow.Lost{Code: workflow.CodeQuotaExhausted, Message: "no quota", Until: start.Add(time.Hour)})
			f.put("", 0, &workflow.BreakerOpened{Provider: "p", Code: workflow.CodeQuotaExhausted, Message: "no quota", Until: start.Add(time.Hour)})
			f.put("b#1", 0, &workflow.Refused{Code: workflow.CodeBudgetExhausted, Message: "50000 tokens are spent"})
		}, want: `
! top  r1
  ! a  prompt  held until 13:00:00 (in 1h00m)  no quota (quota_exhausted)
  ! b  held  50000 tokens are spent (budget_exhausted)
! provider p takes no more calls until 13:00:00 (in 1h00m)  no quota (quota_…
  0 model calls  0 of 50.0k tokens  0s`},
		{name: "a raise, a resume and unknown usage", film: func(f *film) {
			f.begin("top").admit("a#1", "prompt").put("a#1", 1, &workflow.InvocationSettled{Status: workflow.InvocationLost})
			f.put("", 0, &workflow.BreakerOpened{Provider: "p"}).wait(time.Hour)
			f.put("", 0, &workflow.LimitRaised{Tokens: 90_000, CostUSD: 2, DurationMs: 60_000}).put("", 0, &workflow.Resumed{}).wait(3 * time.Second)
		}, want: `
> top  r1  3s
  > a  prompt  ? tokens  1h00m
  1 model call  0+? of 90.0k tokens  $0.00 of $2.00  3s of 1m00s`},
		{name: "a write that nobody knows about", film: func(f *film) {
			f.begin("top").admit("a#1", "prompt").put("a#1", 1, &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true})
		}, look: func(l *live.Look) {
			l.Recover = func(run workflow.RunID, v workflow.VisitID) []string {
				return []string{fmt.Sprint("tenon recover ", run, " ", v)}
			}
		}, want: `
? top  r1
  ? a  prompt  waits for recover  its write was in flight; whether it happen…
      tenon recover r1 a#1
  0 model calls  0 of 50.0k tokens  0s`},
		{name: "paused, then cancelled", film: func(f *film) {
			f.begin("top").put("", 0, &workflow.Paused{}).put("", 0, &workflow.CancelRequested{})
		}, want: `
> top  r1  is being cancelled
  0 model calls  0 of 50.0k tokens  0s`},
		{name: "a fork does not count what it inherited", film: func(f *film) {
			f.begin("top").admit("a#1", "prompt").call("a#1", 100, 1).ok("a#1", "next").put("", 0, &workflow.Forked{Parent: "r0"}).admit("b#1", "prompt").call("b#1", 7, 1)
		}, want: `
> top  r1
  + a  big  101 tokens
  > b  prompt  big  8 tokens
  1 model call  8 of 50.0k tokens  0s`},
		{name: "the last picture of a run that was interrupted", film: func(f *film) {
			f.begin("top").admit("a#1", "prompt").say("a#1", "text", "half a").wait(2*time.Second).put("a#1", 1, &workflow.Lost{Code: workflow.CodeInterrupted, Message: "tenon was stopped"})
			f.admit("ok#1", "approval").put("ok#1", 1, &workflow.QuestionOpened{Question: workflow.Question{ID: "q", Kind: workflow.AskApproval, Text: "Keep it?"}})
		}, look: func(l *live.Look) { l.Final = true }, want: `
? top  r1  2s
  ! a  prompt  interrupted  2s
  ? ok  approval  waits for approval  Keep it?`},
		{name: "the last picture of a run that ended", film: func(f *film) {
			f.begin("top").admit("a#1", "prompt").ok("a#1", "next").admit("b#1", "prompt").wait(2 * time.Second)
			f.put("", 0, &workflow.Ended{Status: workflow.StatusCancelled})
		}, look: func(l *live.Look) { l.Final = true }, want: `
x top  r1  cancelled  2s
  + a
  ! b  prompt  stopped  2s`},
		{name: "forty columns", film: func(f *film) {
			f.begin("a-workflow").admit("ask#1", "question").put("ask#1", 1, &workflow.QuestionOpened{Question: workflow.Question{
				ID: "q123456789ab", Text: strings.Repeat("word ", 40)}})
			f.admit("a-rather-long-name-of-a-node#1", "prompt").call("a-rather-long-name-of-a-node#1", 12345, 678).wait(time.Minute)
		}, look: func(l *live.Look) { l.Width = 40 }, want: `
? a-workflow  r1  1m00s
  ? ask  question  asks  1m00s
      word word word word word word
      word word word word word word
      word word word word word word ...
      tenon answer q123456789ab VALUE
  > a-rather-long-name-of-a-node  1m00s
  13.0k of 50.0k tokens  1m00s`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var tree live.Tree
			f := newFilm(&tree, "r1")
			c.film(f)
			look := f.look()
			if c.look != nil {
				c.look(&look)
			}
			got := "\n" + strings.Join(tree.Draw(look), "\n")
			want := strings.ReplaceAll(c.want, "…", "...")
			if want == "" {
				want = "\n"
			}
			if got != want {
				t.Errorf("got:%s\nwant:%s", got, want)
			}
		})
	}
}

func known(in, out int64) workflow.Usage { return workflow.Usage{Input: &in, Output: &out} }

func TestWhatWasSeenBeforeChangesNothing(t *testing.T) {
	t.Parallel()
	var tree live.Tree
	shoot := func() *film {
		return newFilm(&tree, "r1").begin("top").admit("a#1", "prompt").call("a#1", 100, 1).ok("a#1", "next").admit("b#1", "prompt")
	}
	once := tree.Draw(shoot().look())
	if twice := tree.Draw(shoot().look()); strings.Join(once, "\n") != strings.Join(twice, "\n") {
		t.Errorf("after the history a second time:\n%s\nbefore:\n%s", strings.Join(twice, "\n"), strings.Join(once, "\n"))
	}
}

func TestTextCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	var tree live.Tree
	f := newFilm(&tree, "r1").begin("to\x1b[2Jp").admit("a\x07#1", "prompt")
	f.say("a\x07#1", "text", "one\x1b]0;title\x07 two\r\n\x1b[31mthree\u202e\x9b5A \xff four\x1b[").wait(2 * time.Second)
	f.admit("q#1", "question").put("q#1", 1, &workflow.QuestionOpened{Question: workflow.Question{Text: "is\x1b[8mhidden\x1b[0m?"}})
	got := strings.Join(tree.Draw(f.look()), "\n")
	for _, r := range got {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			t.Errorf("%q holds the control %q", got, r)
		}
	}
	for _, want := range []string{"one two three", "four", "ishidden?"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not show %q", got, want)
		}
	}
}
