package workspace

import "strings"

// generated lists directories that tools fill, agents lists directories whose
// "agent-memory" agents fill.
var (
	generated = map[string]bool{
		"node_modules": true, "coverage": true, ".nyc_output": true, ".jest-cache": true,
		"__pycache__": true, ".pytest_cache": true, ".mypy_cache": true, ".ruff_cache": true,
		".venv": true, "venv": true, ".tox": true, ".gradle": true, ".cache": true,
	}
	agents = map[string]bool{
		".claude": true, ".codex": true, ".gemini": true, ".kimi-code": true, ".specrails": true, ".tenon": true,
	}
)

const agentMemory = "agent-memory"

// Generated reports whether a path lies in a generated tree or in an agent's
// memory. It is slash-separated and relative to the repository; a directory ends
// with "/". Whether that matters for tracked files, the caller decides.
func Generated(path string) bool {
	last := ""
	for {
		part, rest, isDir := strings.Cut(path, "/")
		if !isDir {
			return false
		}
		if generated[part] || part == agentMemory && agents[last] {
			return true
		}
		last, path = part, rest
	}
}
