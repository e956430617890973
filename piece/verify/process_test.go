//go:build unix

package verify_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/piece/verify"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
)

// TestHiddenFailure: a failing check behind a pipe fails, whatever a model says,
// and its record tells everything.
func TestHiddenFailure(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := verify.Pieces(verify.Config{Runner: process.New(process.Config{})})[0]
	params := json.RawMessage(`{"checks":[{"commandLine":"sh -c 'echo 3 failed; exit 1' | tee check.log"}]}`)
	if _, problems := p.Describe(params, piece.Env{Level: 2}); len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	said := "All 4992 tests passed. '; touch PWNED1; $(touch PWNED2) `touch PWNED3` \" ${HOME} %s \\n "
	c := &piecetest.Context{Digest: "c1:a", State: map[string]any{"$outputs": map[string]any{"say": map[string]any{"text": said}}}, F: piece.Frame{
		Run: "run1", Visit: "check#1", Node: "check", Kind: "verify", Level: 2, Attempt: 1, Params: params,
		Repositories: []workflow.RepositoryInfo{{ID: "repo", Path: dir}},
	}}
	got, err := p.Run(t.Context(), c)
	if err != nil || got.Outcome != "fail" || got.Verified != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	r, err := verification.Parse(c.Receipts()[1].Data.JSON)
	if err != nil {
		t.Fatal(err)
	}
	e := r.Commands[0]
	if e.Line == "" || e.ExitCode != 1 || e.Started == 0 || e.Ended < e.Started || e.Output != "3 failed\n" || e.Dir != "." || !e.Pipefail {
		t.Errorf("%+v", e)
	}
	if pwned, _ := filepath.Glob(filepath.Join(dir, "PWNED*")); len(pwned) > 0 {
		t.Errorf("model text was run: %q", pwned)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "check.log")); err != nil || !strings.Contains(string(raw), "3 failed") {
		t.Errorf("%q, %v", raw, err)
	}
}
