package plain

import (
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

func TestLines(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	later := workflow.TimeOf(noon.Add(30 * time.Second))
	in, out := int64(600), int64(41)
	type step struct {
		run     workflow.RunID
		visit   string
		attempt int
		after   time.Duration
		p       workflow.Payload
		want    string
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"a visit with a model call", []step{
			{p: &workflow.RunStarted{Workflow: workflow.Ref{Name: "fix"}}, want: "run r1 of fix"},
			{visit: "a#1", attempt: 1, p: &workflow.Admitted{Kind: "prompt"}, want: "> a#1 starts (prompt)"},
			{visit: "a#1", p: &workflow.InvocationReserved{Model: "big"}},
			{visit: "a#1", p: &workflow.InvocationSettled{Model: "bigger", Usage: workflow.Usage{Input: &in, Output: &out}}},
			{visit: "a#1", after: 1500 * time.Millisecond, p: &workflow.Settled{Outcome: "next"}, want: "+ a#1 done in 1.5s, bigger, 641 tokens"},
		}},
		{"unknown usage is not zero", []step{
			{visit: "a#1", p: &workflow.InvocationSettled{Status: workflow.InvocationLost}},
			{visit: "a#1", p: &workflow.Settled{Outcome: "ok"}, want: "+ a#1 done, 0+? tokens -> ok"},
		}},
		{"what only routes is silent unless it fails", []step{
			{visit: "if#1", attempt: 1, p: &workflow.Admitted{Kind: workflow.KindCondition, Self: true}},
			{visit: "if#1", p: &workflow.Settled{Outcome: "true"}},
			{visit: "set#1", attempt: 1, p: &workflow.Admitted{Kind: workflow.KindAssign, Self: true}},
			{visit: "set#1", p: &workflow.Settled{Status: workflow.VisitFailed, Error: &workflow.Failure{Code: workflow.CodeInvalidAssignment, Message: "not an integer"}},
				want: "x set#1 failed: not an integer (invalid_assignment)"},
			{visit: "done#1", attempt: 1, p: &workflow.Admitted{Kind: workflow.KindEnd, Self: true}},
			{visit: "done#1", p: &workflow.Settled{Completion: &workflow.Completion{OK: true}}},
			{visit: "bad#1", attempt: 1, p: &workflow.Admitted{Kind: workflow.KindEnd, Self: true}},
			{visit: "bad#1", p: &workflow.Settled{Completion: &workflow.Completion{Reasons: []string{"too_late"}}}, want: "x bad#1 ends in failure (too_late)"},
		}},
		{"failures and retries", []step{
			{visit: "a#1", attempt: 1, p: &workflow.Admitted{Kind: "prompt"}, want: "> a#1 starts (prompt)"},
			{visit: "a#1", attempt: 1, after: time.Second, p: &workflow.Retrying{Code: "timeout", Message: "too slow", After: later},
				want: "~ a#1 failed in 1s, attempt 2 at 12:00:30: too slow (timeout)"},
			{visit: "a#1", attempt: 2, p: &workflow.Admitted{Kind: "prompt"}, want: "> a#1 starts (prompt, attempt 2)"},
			{visit: "a#1", p: &workflow.InvocationSettled{Code: workflow.CodeRateLimited, Message: "slow down", RetryAt: later},
				want: "~ a#1 model call 0 failed, again at 12:00:30: slow down (rate_limited)"},
			{visit: "a#1", p: &workflow.Lost{Code: workflow.CodeQuotaExhausted, Until: later}, want: "! a#1 is held until 2026-03-01 12:00:30: quota_exhausted"},
			{visit: "a#1", p: &workflow.Lost{Code: workflow.CodeInterrupted, Message: "tenon was stopped"}, want: "! a#1 stopped: tenon was stopped (interrupted)"},
			{visit: "a#1", p: &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true}, want: "? a#1 stopped and may have written; it waits for recover: owner_lost"},
			{visit: "b#1", p: &workflow.Refused{Code: workflow.CodeBudgetExhausted}, want: "! b#1 is held: budget_exhausted"},
			{p: &workflow.BreakerOpened{Provider: "p", Code: "quota_exhausted", Message: "no quota", Until: later},
				want: "! provider p takes no more calls until 2026-03-01 12:00:30: no quota (quota_exhausted)"},
		}},
		{"questions and answers", []step{
			{visit: "a#1", p: &workflow.QuestionOpened{Question: workflow.Question{ID: "q1", Kind: workflow.AskApproval, Text: "Keep it?"}}, want: "? a#1 waits for approval (q1): Keep it?"},
			{visit: "g#1", p: &workflow.QuestionOpened{Question: workflow.Question{ID: "q2", Kind: workflow.AskGate, Text: "Go?"}}, want: "? g#1 waits at a gate (q2): Go?"},
			{visit: "b#1", p: &workflow.QuestionOpened{Question: workflow.Question{ID: "q3", Kind: workflow.AskQuestion, Text: "Which?", Deadline: later}},
				want: "? b#1 asks (q3), expires at 2026-03-01 12:00:30: Which?"},
			{visit: "a#1", p: &workflow.QuestionAnswered{Question: "q1", Answer: workflow.Answer{Denied: true, By: "ann"}}, want: "> a#1 goes on: q1 denied by ann"},
			{visit: "b#1", p: &workflow.QuestionAnswered{Question: "q3", Answer: workflow.Answer{Expired: true}}, want: "> b#1 goes on: question q3 expired"},
			{visit: "a#1", attempt: 1, p: &workflow.Admitted{Kind: "approval", Continued: true}},
		}},
		{"a child run has its name before its visits", []step{
			{visit: "sub#1", p: &workflow.ChildStarted{Run: "r2"}, want: "> sub#1 starts run r2"},
			{run: "r2", visit: "a#1", attempt: 1, p: &workflow.Admitted{Kind: "shell"}, want: "> r2 a#1 starts (shell)"},
			{visit: "a#1", attempt: 1, p: &workflow.Admitted{Kind: "shell"}, want: "> a#1 starts (shell)"},
		}},
		{"the run as a whole", []step{
			{p: &workflow.Resumed{}, want: "run r1 goes on"},
			{p: &workflow.Paused{By: "ann"}, want: "! run r1 is paused by ann"},
			{p: &workflow.CancelRequested{By: "ann"}, want: "! run r1 is being cancelled by ann"},
			{visit: "w#1", p: &workflow.TimerStarted{Until: later}, want: "~ w#1 waits until 2026-03-01 12:00:30"},
			{p: &workflow.Ended{Status: workflow.StatusSucceeded}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			l, at := New(&b), noon
			l.root = "r1"
			for _, s := range c.steps {
				if s.run == "" {
					s.run = "r1"
				}
				at = at.Add(s.after)
				b.Reset()
				l.Event(s.run, workflow.Event{At: workflow.TimeOf(at), ID: s.visit, Attempt: s.attempt, Payload: s.p})
				if got := strings.TrimSuffix(b.String(), "\n"); got != s.want {
					t.Errorf("%s: %q, want %q", s.p.EventType(), got, s.want)
				}
			}
		})
	}
}
