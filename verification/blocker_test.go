package verification_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/verification"
)

func TestBlockers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		output string
		code   int
		kind   string // "" is none
		host   bool
	}{
		"git prompt":     {"fatal: could not read Username for 'https://github.com': terminal prompts disabled", 128, verification.BlockCredential, true},
		"git ssh":        {"git@github.com: Permission denied (publickey).", 128, verification.BlockCredential, true},
		"npm login":      {"npm error code E401\nnpm error Incorrect or missing password.", 1, verification.BlockCredential, true},
		"registry":       {"error: registry https://r.example returned 403 Forbidden", 1, verification.BlockCredential, true},
		"npm network":    {"npm ERR! network request to https://registry.npmjs.org/x failed, reason: getaddrinfo ENOTFOUND registry.npmjs.org", 1, verification.BlockNetwork, true},
		"go network":     {"dial tcp: lookup proxy.golang.org: no such host", 1, verification.BlockNetwork, true},
		"git network":    {"fatal: unable to access: Could not resolve host: github.com", 128, verification.BlockNetwork, true},
		"browser CDN":    {"Error: Failed to download Chromium 120, caused by\nDownload failure, code=1", 1, verification.BlockNetwork, true},
		"variable":       {"Error: Missing required environment variable DATABASE_URL", 1, verification.BlockVariable, true},
		"variable shell": {"bash: line 1: API_BASE: unbound variable", 1, verification.BlockVariable, true},
		"variable named": {"environment variable STRIPE_KEY is not set", 1, verification.BlockVariable, true},
		"browser":        {"browserType.launch: Executable doesn't exist at /root/.cache/ms-playwright/chromium/chrome", 1, verification.BlockEnvironment, false},
		"node module":    {"Error: Cannot find module 'express'", 1, verification.BlockEnvironment, false},
		"python module":  {"ModuleNotFoundError: No module named 'requests'", 1, verification.BlockEnvironment, false},
		"go sum":         {"missing go.sum entry for module providing package x", 1, verification.BlockEnvironment, false},
		"127":            {"", 127, verification.BlockToolchain, false},
		"shell":          {"sh: 1: jest: not found", 127, verification.BlockToolchain, false},
		"own module":     {"Error: Cannot find module './util'", 1, "", false},
		"assertion":      {"--- FAIL: TestA (0.00s)\n  got 1, want 2", 1, "", false},
		"not found":      {"404 user not found", 1, "", false},
	} {
		e := verification.Evidence{State: verification.StateFailed, ExitCode: tc.code, Reason: "exit code", Output: tc.output, Absent: tc.code == 127}
		b, ok := verification.BlockerOf(e)
		if ok != (tc.kind != "") || b.Kind != tc.kind || b.Host != tc.host || ok && b.RequiredAction == "" {
			t.Errorf("%s: %+v, %v", name, b, ok)
		}
	}
	for name, e := range map[string]verification.Evidence{
		"passed": {State: verification.StatePassed, Output: "Cannot find module 'x'"},
		"hung":   {State: verification.StateHung, ExitCode: -1, Output: "Could not resolve host: x"},
		"green":  {State: verification.StateFailed, ExitCode: 0, Output: "Could not resolve host: x"},
	} {
		if b, ok := verification.BlockerOf(e); ok {
			t.Errorf("%s: %+v", name, b)
		}
	}
	gone := verification.Evidence{ID: "e", State: verification.StateBroken, ExitCode: -1, Absent: true, Check: verification.Check{Command: "x", Args: slices.Repeat([]string{strings.Repeat("a", 999)}, 99)}}
	for name, b := range map[string]verification.Blocker{"setup": verification.SetupBlocker(gone), "toolchain": first(verification.BlockerOf(gone))} {
		if b.Kind != name || b.Command != "x" || b.EvidenceID != "e" || len(b.Args) != 16 || len([]rune(b.Args[0])) != 256 {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

func first(b verification.Blocker, _ bool) verification.Blocker { return b }

func TestInstalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		command, output string
		code            int
		files, want     string
	}{
		"npm":              {"npx", "Cannot find module 'express'", 1, "package-lock.json", "npm ci"},
		"pnpm first":       {"npx", "Cannot find module 'express'", 1, "package-lock.json pnpm-lock.yaml", "pnpm install --frozen-lockfile"},
		"yarn":             {"npx", "Cannot find package 'express'", 1, "yarn.lock", "yarn install --frozen-lockfile"},
		"pip":              {"python3", "ModuleNotFoundError: No module named 'x'", 1, "requirements.txt package-lock.json venv", "venv/bin/python -m pip install -r requirements.txt"},
		"pip, machine":     {"python3", "ModuleNotFoundError: No module named 'x'", 1, "requirements.txt package-lock.json", ""},
		"pip 127":          {"", "bash: line 1: pytest: command not found", 127, "requirements.txt venv go.mod", "venv/bin/python -m pip install -r requirements.txt"},
		"no such tool":     {"", "bash: line 1: frobnicate: command not found", 127, "requirements.txt venv go.mod package-lock.json Cargo.lock", ""},
		"silent 127":       {"./check", "", 127, "requirements.txt venv go.mod package-lock.json Cargo.lock", ""},
		"go":               {"go", "missing go.sum entry for module providing package x", 1, "go.mod", "go mod download"},
		"cargo":            {"cargo", "error[E0463]: can't find crate for `serde`", 101, "Cargo.lock", "cargo fetch --locked"},
		"playwright":       {"npx", "Executable doesn't exist at /x/playwright/chromium", 1, "package-lock.json", "npm ci, npx playwright install"},
		"playwright py":    {"pytest", "Executable doesn't exist at /x/playwright/chromium", 1, "requirements.txt venv", "venv/bin/python -m playwright install"},
		"playwright go":    {"go", "Executable doesn't exist at /x/playwright/chromium", 1, "go.mod", ""},
		"playwright make":  {"", "Executable doesn't exist at /x/playwright/chromium", 1, "yarn.lock go.mod", "npx playwright install, yarn install --frozen-lockfile"},
		"verify line":      {"/usr/bin/bash", "sh: 1: our-tool: not found", 127, "package-lock.json go.mod", "npm ci"},
		"tool of npm":      {"npm", "sh: 1: jest: not found", 127, "package-lock.json go.mod requirements.txt venv", "npm ci"},
		"tool of a script": {"npm", "sh: 1: our-tool: not found", 127, "package-lock.json go.mod requirements.txt venv", "npm ci"},
		"python of npm":    {"npm", "sh: 1: python3: not found", 127, "package-lock.json requirements.txt venv", ""},
		"bin of a module":  {"node_modules/.bin/jest", "", -1, "package-lock.json requirements.txt venv", "npm ci"},
		"line":             {"", "sh: 1: eslint: not found", 127, "package-lock.json requirements.txt venv", "npm ci"},
		"line without npm": {"", "bash: npm: command not found", 127, "package-lock.json", ""},
		"nothing pinned":   {"npx", "Cannot find module 'express'", 1, "", ""},
		"no toolchain":     {"npm", "", -1, "package-lock.json", ""},
		"host":             {"npx", "npm error code E401 Cannot find module 'x'", 1, "package-lock.json", ""},
		"assertion":        {"go", "--- FAIL: TestA (0.00s)", 1, "go.mod", ""},
	} {
		e := verification.Evidence{State: verification.StateFailed, ExitCode: tc.code, Output: tc.output, Absent: tc.code == -1 || tc.code == 127,
			Check: verification.Check{RepositoryID: "repo", Cwd: "web", Command: tc.command}}
		if tc.command == "/usr/bin/bash" {
			e.Check.Args = []string{"-o", "pipefail", "-c", "--", "npm run check"}
		}
		if tc.command == "" {
			e.Check.CommandLine = "make check"
		}
		files := strings.Fields(tc.files)
		python := ""
		if slices.Contains(files, "venv") {
			python = "venv/bin/python"
		}
		var got []string
		for _, c := range verification.Installs(e, python, func(f string) bool { return slices.Contains(files, f) }) {
			got = append(got, strings.Join(append([]string{c.Command}, c.Args...), " "))
			if c.RepositoryID != "repo" || c.Cwd != "web" || c.TimeoutMs != 600_000 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
