package verification

import (
	"path"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// installTimeout bounds an installation, in milliseconds.
const installTimeout = 600_000

// installer prepares the dependencies that a file of a repository pins.
type installer struct {
	file    string
	kind    string // what it provides: a kind of ecosystem
	command []string
}

// installers are in order of preference; one of each kind is enough.
var installers = []installer{
	{"pnpm-lock.yaml", "node", []string{"pnpm", "install", "--frozen-lockfile"}},
	{"yarn.lock", "node", []string{"yarn", "install", "--frozen-lockfile"}},
	{"package-lock.json", "node", []string{"npm", "ci"}},
	{"npm-shrinkwrap.json", "node", []string{"npm", "ci"}},
	{"requirements.txt", "python", []string{"", "-m", "pip", "install", "-r", "requirements.txt"}}, // by the Python of a virtual environment
	{"go.mod", "go", []string{"go", "mod", "download"}},
	{"Cargo.lock", "rust", []string{"cargo", "fetch", "--locked"}},
}

// tools are programs that no installation from a repository provides.
var tools = []string{"node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "python", "python3", "pip", "pip3", "go", "cargo", "rustc", "git", "make", "bash", "sh", "docker"}

// LockFiles are the files that Installs asks for.
func LockFiles() []string {
	var names []string
	for _, i := range installers {
		names = append(names, i.file)
	}
	return names
}

// ecosystems are the programs that belong to a kind of dependencies.
var ecosystems = map[string][]string{
	"node": {"node", "npm", "npx", "pnpm", "yarn", "jest", "vitest", "mocha", "ava", "karma", "cypress", "playwright", "tsc", "tsx", "ts-node",
		"eslint", "prettier", "biome", "rollup", "vite", "webpack", "esbuild", "next", "nx", "turbo", "lerna", "nyc", "c8"},
	"python": {"python", "python3", "pip", "pip3", "pytest", "py.test", "tox", "nox", "ruff", "mypy", "pyright", "black", "isort", "flake8", "pylint", "coverage"},
	"go":     {"go"},
	"rust":   {"cargo", "rustc"},
}

// Installs proposes the commands that may mend what a failed check lacks, in its
// directory: those of the ecosystem that the missing thing belongs to. there tells
// whether that directory has a file. python is the interpreter of a virtual
// environment of the repository, "" where there is none: Python packages are never
// installed for the whole machine. Nothing is proposed for a precondition of the
// host.
func Installs(e Evidence, python string, there func(name string) bool) []Check {
	b, ok := BlockerOf(e)
	if !ok || b.Host {
		return nil
	}
	kind := needs(e, Plain(e.Anchors+"\n"+e.Output))
	browser := kind == "browser"
	if browser {
		kind = browsers(e.Check.program(), there)
	}
	var checks []Check
	add := func(argv ...string) {
		checks = append(checks, Check{Label: "install: " + strings.Join(argv, " "), RepositoryID: e.Check.Repository(), Cwd: e.Check.Cwd,
			Command: argv[0], Args: argv[1:], TimeoutMs: installTimeout})
	}
	switch {
	case kind == "python" && python == "":
	case kind == "python" && browser:
		add(python, "-m", "playwright", "install")
	case kind != "":
		i := slices.IndexFunc(installers, func(i installer) bool { return i.kind == kind && there(i.file) })
		if i < 0 {
			break
		}
		argv := slices.Clone(installers[i].command)
		if kind == "python" {
			argv[0] = python
		}
		add(argv...)
		if browser {
			add("npx", "playwright", "install")
		}
	}
	return checks
}

// browsers names the ecosystem by which the browsers of a check are installed: its
// own, or where the program has none, one that has dependencies here.
func browsers(program string, there func(name string) bool) string {
	own := ecosystem(program)
	if own == "node" || own == "python" {
		return own
	}
	for _, i := range installers {
		if own == "" && (i.kind == "node" || i.kind == "python") && there(i.file) {
			return i.kind
		}
	}
	return ""
}

// needs names the ecosystem that lacks something, or "browser"; "" when it cannot
// be told, or when an installation from the repository cannot help.
func needs(e Evidence, out string) string {
	for _, sign := range []struct{ text, kind string }{
		{"playwright", "browser"}, {"Cannot find module", "node"}, {"Cannot find package", "node"}, {"ERR_MODULE_NOT_FOUND", "node"},
		{"node_modules", "node"}, {"ModuleNotFoundError", "python"}, {"ImportError", "python"}, {"go.sum entry", "go"},
		{"required module provides", "go"}, {"module providing package", "go"}, {"find crate", "rust"}, {"matching package named", "rust"},
	} {
		if strings.Contains(out, sign.text) {
			return sign.kind
		}
	}
	missing := e.Check.Command // it could not be started
	if e.ExitCode != -1 {
		missing = ""
		if m := notFound().FindStringSubmatch(out); m != nil {
			missing = m[1] + m[2]
		}
	}
	if slices.Contains(tools, path.Base(missing)) {
		return ""
	}
	if kind := ecosystem(missing); kind != "" {
		return kind
	}
	return ecosystem(e.Check.program())
}

// notFound is how shells name a program that is not there.
var notFound = text.MustPattern(`(?m)(?:^|[:\s])([^\s:]+): (?:command )?not found\s*$|(?:^|: )command not found: (\S+)\s*$`)

// ecosystem names what a program belongs to, or "".
func ecosystem(program string) string {
	dirs := strings.Split(path.Dir(program), "/")
	switch {
	case slices.Contains(dirs, "node_modules"):
		return "node"
	case slices.Contains(dirs, ".venv"), slices.Contains(dirs, "venv"):
		return "python"
	}
	for kind, names := range ecosystems {
		if slices.Contains(names, path.Base(program)) {
			return kind
		}
	}
	return ""
}

// program is what a check starts, or the first word of the line that a shell is
// given.
func (c Check) program() string {
	line := c.CommandLine
	if name := path.Base(c.Command); (name == "bash" || name == "sh") && len(c.Args) > 1 {
		line = c.Args[len(c.Args)-1]
	} else if c.Command != "" {
		return c.Command
	}
	if words := strings.Fields(line); len(words) > 0 {
		return words[0]
	}
	return ""
}
