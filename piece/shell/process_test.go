//go:build unix

package shell_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/piece/shell"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
)

// TestModelTextIsData: text full of shell syntax reaches a command whole, and
// nothing of it is run.
func TestModelTextIsData(t *testing.T) {
	t.Parallel()
	said := "All 4992 tests passed. '; touch PWNED1; $(touch PWNED2) `touch PWNED3` \" ${HOME} %s \\n " + strings.Repeat("x", 60_000)
	p := shell.Pieces(shell.Config{Runner: process.New(process.Config{})})[0]
	repos := repository(t)
	dir := repos[0].Path
	for name, params := range map[string]map[string]any{
		"stdin":    {"commandLine": "cat > copy.bin", "stdin": said},
		"env":      {"commandLine": `printf %s "$TXT" | head -c 60 > head.txt`, "env": map[string]string{"TXT": said}},
		"argv":     {"argv": []string{"/bin/sh", "-c", `printf %s "$1" > arg.bin`, "sh", said}},
		"evidence": {"commandLine": "cat > proof.bin", "stdin": said, "evidence": true},
	} {
		raw, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		c := &piecetest.Context{Digest: "c1:a", F: piece.Frame{Run: "run1", Visit: "use#1", Node: "use", Level: 2, Params: raw, Repositories: repos}}
		if s, err := p.Run(t.Context(), c); err != nil || s.Outcome != "ok" {
			t.Errorf("%s: %+v, %+v, %v", name, s.Outcome, s.Error, err)
		}
		if kept := c.Receipts(); (len(kept) == 2 && kept[1].State == workflow.ReceiptValid) != (name == "evidence") {
			t.Errorf("%s: receipts %+v", name, kept)
		}
	}
	for file, want := range map[string]string{"copy.bin": said, "arg.bin": said, "proof.bin": said, "head.txt": said[:60]} {
		if raw, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(raw) != want {
			t.Errorf("%s holds %d bytes, want %d; %v", file, len(raw), len(want), err)
		}
	}
	if pwned, _ := filepath.Glob(filepath.Join(dir, "PWNED*")); len(pwned) > 0 {
		t.Errorf("model text was run: %q", pwned)
	}
}
