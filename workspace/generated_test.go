package workspace_test

import (
	"testing"

	"github.com/tenonrun/tenon/workspace"
)

func TestGenerated(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"":                              false,
		"node_modules":                  false, // a file of that name
		"node_modules/":                 true,
		"pkg/a/node_modules/x/y.js":     true,
		"coverage.txt":                  false,
		"src/venv/lib":                  true,
		".claude/agent-memory/a.md":     true,
		"x/.tenon/agent-memory/":        true,
		".tenon/config.yaml":            false,
		"docs/agent-memory/a.md":        false,
		".claude/x/agent-memory/a.md":   false,
		"node_modules.bak/package.json": false,
	} {
		if got := workspace.Generated(path); got != want {
			t.Errorf("Generated(%q) = %v, want %v", path, got, want)
		}
	}
}
