package verification

import (
	"path"
	"slices"
	"strings"
)

// installTimeout bounds an installation, in milliseconds.
const installTimeout = 600_000

// installer prepares the dependencies that a file of a repository pins.
type installer struct {
	file    string
	kind    string // what it provides: node, python, go or rust
	command []string
}

// installers are in order of preference; one of each kind is enough.
var installers = []installer{
	{"pnpm-lock.yaml", "node", []string{"pnpm", "install", "--frozen-lockfile"}},
	{"yarn.lock", "node", []string{"yarn", "install", "--frozen-lockfile"}},
	{"package-lock.json", "node", []string{"npm", "ci"}},
	{"npm-shrinkwrap.json", "node", []string{"npm", "ci"}},
	{"requirements.txt", "python", []string{"python3", "-m", "pip", "install", "-r", "requirements.txt"}},
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

// Installs proposes the commands that may mend what a failed check lacks, in its
// directory. there tells whether that directory has a file. Nothing is proposed
// for a precondition of the host.
func Installs(e Evidence, there func(name string) bool) []Check {
	b, ok := BlockerOf(e)
	if !ok || b.Host {
		return nil
	}
	out := Plain(e.Anchors + "\n" + e.Output)
	kind := needs(e, out)
	if kind == "" {
		return nil
	}
	install := func(argv []string) Check {
		return Check{Label: "install: " + strings.Join(argv, " "), RepositoryID: e.Check.Repository(), Cwd: e.Check.Cwd,
			Command: argv[0], Args: argv[1:], TimeoutMs: installTimeout}
	}
	var checks []Check
	seen := map[string]bool{}
	for _, i := range installers {
		if !seen[i.kind] && (kind == i.kind || kind == "any" || kind == "browser" && i.kind == "node") && there(i.file) {
			seen[i.kind] = true
			checks = append(checks, install(i.command))
		}
	}
	if kind == "browser" {
		argv := []string{"npx", "playwright", "install"}
		if !seen["node"] {
			argv = []string{"python3", "-m", "playwright", "install"}
		}
		checks = append(checks, install(argv))
	}
	return checks
}

// needs names the ecosystem that lacks something, "any" when it cannot be told,
// and "" when an installation from the repository cannot help.
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
	if program := path.Base(e.Check.Command); e.Absent && slices.Contains(tools, program) {
		return ""
	}
	return "any"
}
