package verification

import (
	"regexp"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// Kinds of blockers.
const (
	BlockNetwork     = "network"
	BlockCredential  = "credential"
	BlockVariable    = "environment-variable"
	BlockToolchain   = "toolchain"
	BlockSetup       = "setup"
	BlockEnvironment = "environment"
)

// Blocker is what a machine lacks for a check. No change of the files mends it.
type Blocker struct {
	Kind           string   `json:"kind"`
	Reason         string   `json:"reason"`
	Command        string   `json:"command,omitempty"`
	Args           []string `json:"args,omitempty"`
	Cwd            string   `json:"cwd,omitempty"`
	RequiredAction string   `json:"requiredAction"`
	EvidenceID     string   `json:"evidenceId,omitempty"`
	// Host says that no installation from the repository helps: the machine, its
	// network or its secrets have to be set up by a person.
	Host bool `json:"-"`
}

// symptom is a line of a failing command and what it means.
type symptom struct {
	kind    string
	host    bool
	pattern func() *regexp.Regexp
	action  string
}

// symptoms are tried in order. The first ones are preconditions of the host.
var symptoms = []symptom{
	{BlockCredential, true, text.MustPattern(`(?i)could not read (?:username|password) for|terminal prompts disabled|permission denied \(publickey|authentication failed for '|host key verification failed`),
		"give git on this machine access to the repository that it names"},
	{BlockCredential, true, text.MustPattern(`(?i)npm (?:err!|error) (?:code )?(?:E401|E403|ENEEDAUTH)|\b40[13] (?:unauthorized|forbidden)\b.*\b(?:registry|npm|pypi|crates|index|proxy)|\b(?:registry|npm|pypi|crates|index|proxy)\b.*\b40[13] (?:unauthorized|forbidden)|unauthorized: authentication required`),
		"log in to the package registry on this machine"},
	{BlockNetwork, true, text.MustPattern(`(?i)failed to download (?:chrom|firefox|webkit)|(?:playwright|puppeteer|cypress).*(?:download failed|failed to download)|download failure, code=|failed to set up chrome`),
		"let this machine reach the CDN of the browser, or install the browser by hand"},
	{BlockNetwork, true, text.MustPattern(`\bE(?:NOTFOUND|AI_AGAIN|CONNREFUSED|TIMEDOUT|CONNRESET)\b.*\b(?:registry|npm|yarn|pnpm)|\b(?:registry|npm|yarn|pnpm)\b.*\bE(?:NOTFOUND|AI_AGAIN|CONNREFUSED|TIMEDOUT|CONNRESET)\b|(?i:could not resolve host|temporary failure in name resolution|network is unreachable|dial tcp: lookup \S+.*no such host|failed to (?:fetch|download from) .*(?:crates|index)|could not find a version .*from versions: none|max retries exceeded with url)`),
		"let this machine reach the network that the command needs"},
	{BlockVariable, true, text.MustPattern(`(?i)(?:missing|required|undefined|unset) (?:required )?(?:environment|env) var|(?:environment|env) var(?:iable)?s? ["'` + "`" + `]?[A-Z][A-Z0-9_]+["'` + "`" + `]? (?:is|are|must be|was)? ?(?:not set|missing|required|undefined|not defined|set)|\b[A-Z][A-Z0-9_]{2,}: (?:unbound variable|parameter null or not set|parameter not set)`),
		"set the environment variable for the process that runs tenon"},
	{BlockEnvironment, false, text.MustPattern(`(?i)executable doesn't exist at .*(?:chrom|firefox|webkit|playwright)|playwright install|browser was not found|could not find chrom(?:e|ium)`),
		"install the browsers that the checks use"},
	{BlockEnvironment, false, text.MustPattern(`Cannot find (?:module|package) '[^./]|ERR_MODULE_NOT_FOUND.*'[^./]|ModuleNotFoundError: No module named|ImportError: No module named|no required module provides package|missing go\.sum entry|cannot find module providing package|can't find crate for|no matching package named|node_modules (?:missing|not found)|Local package\.json exists, but node_modules missing`),
		"install the dependencies of the repository"},
	{BlockToolchain, false, text.MustPattern(`(?m)(?:^|: )(?:command not found|\S+: (?:command )?not found)\s*$|^(?:sh|bash|zsh|/bin/\w+): .*: (?:command )?not found\s*$|is not recognized as an internal or external command|env: '?\S+'?: No such file or directory`),
		"install the program that the command needs"},
}

// SetupBlocker is the blocker of a command that prepares the checks, when its
// output does not tell more.
func SetupBlocker(e Evidence) Blocker {
	b := about(e)
	b.Kind, b.Host, b.RequiredAction = BlockSetup, true, "make the setup command work on this machine"
	return b
}

func about(e Evidence) Blocker {
	return Blocker{
		Reason: text.Head(e.Reason, 2000, "…"), Command: text.Head(firstOf(e.Check.Command, e.Check.CommandLine), 512, "…"),
		Args: boundArgs(e.Check.Args, 256), Cwd: e.Check.Cwd, EvidenceID: e.ID,
	}
}

// BlockerOf tells what a check that did not pass lacks; ok is false when its
// output gives no reason to look for the cause outside of the files.
func BlockerOf(e Evidence) (Blocker, bool) {
	if !e.Failed() {
		return Blocker{}, false
	}
	b := about(e)
	if e.Absent && e.ExitCode == -1 {
		b.Kind, b.RequiredAction = BlockToolchain, "install what the command needs, or change the plan"
		return b, true
	}
	if e.State != StateFailed || e.ExitCode == 0 {
		return b, false
	}
	out := Plain(e.Anchors + "\n" + e.Output)
	for _, s := range symptoms {
		line := s.pattern().FindString(out)
		if line == "" || s.kind == BlockToolchain && e.ExitCode != 127 && e.ExitCode != 1 && e.ExitCode != 2 {
			continue
		}
		b.Kind, b.Host, b.RequiredAction = s.kind, s.host, s.action
		b.Reason = text.Head(e.Reason+": "+strings.TrimSpace(line), 2000, "…")
		return b, true
	}
	if e.ExitCode == 127 {
		b.Kind, b.RequiredAction = BlockToolchain, "install what the command needs, or change the plan"
		return b, true
	}
	return b, false
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func boundArgs(args []string, each int) []string {
	var out []string
	for _, a := range args[:min(len(args), maxArgs)] {
		out = append(out, text.Head(a, each, "…"))
	}
	return out
}
