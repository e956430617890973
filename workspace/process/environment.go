package process

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workspace"
)

// transport lists variables that belong to the session of an agent or shell
// around this process. A command must not take itself for a part of that session,
// and their values would change the environment digest from call to call.
var transport = map[string]bool{
	"PWD": true, "OLDPWD": true, "SHLVL": true, "_": true,

	"AI_AGENT":                           true,
	"CLAUDECODE":                         true,
	"CLAUDE_AGENT_SDK_VERSION":           true,
	"CLAUDE_CODE_CHILD_SESSION":          true,
	"CLAUDE_CODE_ENTRYPOINT":             true,
	"CLAUDE_CODE_EXECPATH":               true,
	"CLAUDE_CODE_PARENT_SESSION_ID":      true,
	"CLAUDE_CODE_REMOTE_SESSION_ID":      true,
	"CLAUDE_CODE_SESSION_ACCESS_TOKEN":   true,
	"CLAUDE_CODE_SESSION_ID":             true,
	"CLAUDE_CODE_SSE_PORT":               true,
	"CLAUDE_CODE_WEBSOCKET_AUTH_FILE":    true,
	"CLAUDE_ENV_FILE":                    true,
	"CLAUDE_PROJECT_DIR":                 true,
	"CLAUDE_SESSION_ID":                  true,
	"CODEX_INTERNAL_ORIGINATOR_OVERRIDE": true,
	"CODEX_MANAGED_BY_BUN":               true,
	"CODEX_MANAGED_BY_NPM":               true,
	"CODEX_SANDBOX":                      true,
	"CODEX_SANDBOX_NETWORK_DISABLED":     true,
	"CODEX_THREAD_ID":                    true,
	"CURSOR_AGENT":                       true,
	"CURSOR_TRACE_ID":                    true,
	"GEMINI_CLI":                         true,
	"GEMINI_SESSION_ID":                  true,
	"OPENCODE":                           true,
	"OPENCODE_CALLER":                    true,
	"OPENCODE_PID":                       true,
	"OPENCODE_RUN_ID":                    true,
	"OPENCODE_SERVER_PASSWORD":           true,
	"OPENCODE_SERVER_USERNAME":           true,
	"QWEN_CODE":                          true,
}

// environment returns the variables of a command, sorted by name.
func environment(inherited []string, c workspace.Command, home, id string) []string {
	vars := map[string]string{}
	for _, entry := range inherited {
		// The name may start with "=" on Windows.
		if i := strings.IndexByte(entry, '='); i > 0 && !transport[entry[:i]] {
			vars[entry[:i]] = entry[i+1:]
		}
	}
	for _, name := range c.Unset {
		delete(vars, name)
	}
	chain := vars[workspace.EnvCommand]
	maps.Copy(vars, c.Env)
	if chain != "" {
		id = chain + "/" + id
	}
	vars[workspace.EnvCommand] = id
	if c.Marker != "" {
		vars[workspace.EnvRun], vars[workspace.EnvHome] = c.Marker, home
	}
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// describe returns the names and the digest of what the command sees.
func describe(env []string) (keys []string, digest string) {
	h := sha256.New()
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if name == workspace.EnvRun || name == workspace.EnvHome || name == workspace.EnvCommand {
			continue
		}
		keys = append(keys, name)
		h.Write([]byte(entry))
		h.Write([]byte{0})
	}
	return keys, "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func lookup(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
