package history_test

import (
	"testing"

	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(*fold)
		want workflow.Status
	}{
		{"for a signal", func(*fold) {}, workflow.StatusWaiting},
		{"paused", func(f *fold) { f.add("", 0, &workflow.Paused{}) }, workflow.StatusWaiting},
		{"uncertain", func(f *fold) { f.add("a", 0, &workflow.Lost{Code: workflow.CodeOwnerLost, Uncertain: true}) }, workflow.StatusWaiting},
		{"refused", func(f *fold) { f.add("a", 0, &workflow.Lost{Code: workflow.CodeBudgetExhausted}) }, workflow.StatusExhausted},
		{"parked", func(f *fold) {
			f.add("a", 0, &workflow.Lost{Code: workflow.CodeQuotaExhausted, Until: 99})
			f.wish(workflow.StartVisit{Visit: "a", AI: true})
		}, workflow.StatusUnavailable},
		{"refused and asked", func(f *fold) {
			f.add("a", 0, &workflow.Lost{Code: workflow.CodeBudgetExhausted})
			f.add("b", 0, &workflow.QuestionOpened{Question: workflow.Question{ID: "q"}})
		}, workflow.StatusWaiting},
		{"ended", func(f *fold) { f.add("", 0, &workflow.Ended{Status: workflow.StatusUnproven}) }, workflow.StatusUnproven},
	}
	for _, tt := range tests {
		f := begun(t)
		f.visit("a", workflow.Admitted{AI: true})
		tt.do(f)
		if got := f.Status(); got != tt.want {
			t.Errorf("%s: status %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestQuotaReset(t *testing.T) {
	t.Parallel()
	f := begun(t)
	if _, ok := f.QuotaReset(); ok {
		t.Error("a quota holds a run that began just now")
	}
	f.add("", 0, &workflow.BreakerOpened{Provider: "p", Code: workflow.CodeQuotaExhausted, Until: 50})
	f.visit("a", workflow.Admitted{AI: true})
	f.add("a", 0, &workflow.Lost{Code: workflow.CodeRateLimited, Until: 70})
	f.wish(workflow.StartVisit{Visit: "a", AI: true})
	if at, ok := f.QuotaReset(); !ok || at != 70 {
		t.Errorf("it is back at %d, %v", at, ok)
	}
}

func TestStandingOfHeads(t *testing.T) {
	t.Parallel()
	owner := &store.Holder{PID: 1}
	for _, tt := range []struct {
		status workflow.Status
		owner  *store.Holder
		want   workflow.Status
	}{
		{workflow.StatusRunning, owner, workflow.StatusRunning},
		{workflow.StatusRunning, nil, workflow.StatusInterrupted},
		{workflow.StatusWaiting, nil, workflow.StatusWaiting},
		{workflow.StatusWaiting, owner, workflow.StatusRunning},
		{workflow.StatusExhausted, owner, workflow.StatusRunning},
		{workflow.StatusFailed, owner, workflow.StatusFailed},
		{workflow.StatusSucceeded, nil, workflow.StatusSucceeded},
	} {
		if got := history.Standing(store.Head{Status: tt.status, Owner: tt.owner}); got != tt.want {
			t.Errorf("%s with owner %v stands as %s, want %s", tt.status, tt.owner, got, tt.want)
		}
	}
}
