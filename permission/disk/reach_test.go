//go:build unix

package disk_test

import (
	_ "embed"
	"os"
	"strings"
	"testing"
)

//go:embed testdata/reach.txt
var reach string

// TestReach runs every command line that the fence lets through, and looks at
// what came of it and not at what was said about it.
func TestReach(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	for line := range strings.Lines(reach) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "# ") {
			continue
		}
		w := newWorld(t, "proj/a", "proj/sub/x")
		w.put("home/.ssh/", "out/")
		for name, text := range map[string]string{"proj/.env": "SECRET=1\n", "home/.ssh/id": "SECRET=1\n", "out/f": "keep", "proj/list": ".env\n"} {
			must(t, os.WriteFile(w.path(name), []byte(text), 0o600))
		}
		a := w.agent("deny Read(.env)")
		a.call.Session = nil
		got, told := a.does("bash " + strings.ReplaceAll(line, `\n`, "\n"))
		outcomes[got]++
		entries, err := os.ReadDir(w.path("out"))
		must(t, err)
		if got == "allow" && strings.Contains(told, "SECRET=") || w.read("out/f") != "keep" || len(entries) != 1 {
			t.Errorf("%s is %s, and it reached out:\n%s", line, got, told)
		}
	}
	if outcomes["deny"] < 300 || outcomes["allow"] > 20 {
		t.Errorf("the verdicts are %v", outcomes)
	}
	t.Log(outcomes)
}
