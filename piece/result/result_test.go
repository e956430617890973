package result_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

func TestText(t *testing.T) {
	t.Parallel()
	if got := result.Text("short\xff"); got != "short\ufffd" {
		t.Errorf("got %q", got)
	}
	got := result.Text(strings.Repeat("ä", result.MaxText+1))
	if utf8.RuneCountInString(got) != result.MaxText || !strings.HasSuffix(got, result.Cut) {
		t.Errorf("%d characters, ends in %q", utf8.RuneCountInString(got), got[len(got)-20:])
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	if got := result.Value(map[string]any{"b": 1, "a": nil}); string(got.JSON) != `{"a":null,"b":1}` {
		t.Errorf("got %s", got.JSON)
	}
	if result.Vars(nil) != nil {
		t.Error("no texts are some variables")
	}
	if got := result.Vars(map[string]string{"a": `"`})["a"]; string(got.JSON) != `"\""` {
		t.Errorf("got %s", got.JSON)
	}
	s := result.Failed("failed", workflow.CodeTimeout, "late")
	if s.Outcome != "failed" || s.Status != workflow.VisitFailed || s.Error.Code != workflow.CodeTimeout || s.Error.Message != "late" {
		t.Errorf("%+v", s)
	}
}
