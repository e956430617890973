package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/workflow"
)

// tree makes files below a new directory; the text "/" makes a directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if text == "/" {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// options are those of a user whose home is below root.
func options(root, dir string, env map[string]string) project.Options {
	return project.Options{Dir: filepath.Join(root, dir), Getenv: func(name string) string {
		if value, ok := env[name]; ok {
			return value
		}
		if name == "HOME" {
			return filepath.Join(root, "home")
		}
		return ""
	}}
}

func open(t *testing.T, o project.Options) *project.Project {
	t.Helper()
	p, err := project.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRoot(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"mono/.git": "/", "mono/a/.tenon": "/", "mono/a/deep/er": "/", "mono/b/deep": "/",
		"plain/.tenon": "/", "plain/sub": "/", "bare/sub": "/", "file/.tenon": "not a folder",
	})
	for dir, want := range map[string]string{
		"mono/a/deep/er": "mono/a", "mono/b/deep": "mono", "mono": "mono",
		"plain/sub": "plain", "bare/sub": "bare/sub", "file": "file",
	} {
		if p := open(t, options(root, dir, nil)); p.Root != filepath.Join(root, want) {
			t.Errorf("root of %s is %s", dir, p.Root)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"My App/.git": "/", "tree/sub": "/", "other": "/",
		"named/.tenon/config.yaml": "project: Shop Floor!", "elsewhere/.tenon/config.yaml": "{version: 1, project: Shop Floor!}",
	})
	o := options(root, "My App", nil)
	common := filepath.Join(root, "My App", ".git")
	o.CommonDir = func(string) (string, error) { return common, nil }
	main := open(t, o)
	o.Dir = filepath.Join(root, "tree", "sub")
	worktree := open(t, o)
	if main.ID != worktree.ID || main.Home != worktree.Home {
		t.Errorf("two worktrees are two projects: %s, %s", main.Home, worktree.Home)
	}
	if want := filepath.Join(root, "home/.local/state/tenon/projects/my-app-"+main.ID[:8]); main.Home != want {
		t.Errorf("home %s, want %s", main.Home, want)
	}
	if other := open(t, options(root, "other", nil)); other.ID == main.ID {
		t.Error("two directories are one project")
	}
	a, b := open(t, options(root, "named", nil)), open(t, options(root, "elsewhere", nil))
	if a.ID != b.ID || !strings.HasPrefix(filepath.Base(a.Home), "shop-floor-") {
		t.Errorf("a named project: %s, %s", a.Home, b.Home)
	}
	o.CommonDir = func(string) (string, error) { return "", errors.New("broken") }
	if _, err := project.Open(o); err == nil {
		t.Error("an error of git is swallowed")
	}
}

func TestStateDirectory(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"p/.tenon": "/"})
	for _, c := range []struct {
		flag string
		env  map[string]string
		want string
	}{
		{"", nil, "home/.local/state/tenon"},
		{"", map[string]string{"XDG_STATE_HOME": filepath.Join(root, "xdg")}, "xdg/tenon"},
		{"", map[string]string{"XDG_STATE_HOME": "relative"}, "home/.local/state/tenon"},
		{"", map[string]string{"XDG_STATE_HOME": filepath.Join(root, "xdg"), "TENON_STATE": filepath.Join(root, "env")}, "env"},
		{filepath.Join(root, "flag"), map[string]string{"TENON_STATE": filepath.Join(root, "env")}, "flag"},
	} {
		o := options(root, "p", c.env)
		o.State = c.flag
		if p := open(t, o); p.State != filepath.Join(root, c.want) || len(p.Warnings) > 0 {
			t.Errorf("%+v: state %s, warnings %v", c, p.State, p.Warnings)
		}
	}
	o := options(root, "p", map[string]string{"TENON_STATE": filepath.Join(root, "p/state")})
	if p := open(t, o); len(p.Warnings) != 1 {
		t.Errorf("state inside the project: %v", p.Warnings)
	}
	if _, err := project.Open(options(root, "p", map[string]string{"HOME": ""})); err == nil {
		t.Error("no home, no error")
	}
}

const userConfig = `
limits: {maxTokens: 100, timeout: 5m}
permissions: {deny: ["Read(secret)"]}
providers:
  anthropic: {type: anthropic, model: mine, keyEnv: MY_KEY}
roles:
  reviewer: {effort: high}
  mine: {access: write}
compat: {shellInterpolation: true}
colour: blue
`

func TestLayers(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"home/.config/tenon/config.yaml": userConfig,
		"p/.tenon/config.yaml":           "limits:\n  maxTokens: 200\n  concurrency: 3\npermissions: {deny: [\"Read(.env)\"]}\nproviders:\n  anthropic: {model: theirs}\nroles:\n",
	})
	o := options(root, "p", map[string]string{"TENON_LIMITS_CONCURRENCY": "4", "TENON_LIMITS_MAX_COST_USD": "1.5"})
	o.Flags = map[string]string{"limits.maxCostUsd": "2", "project": "123"}
	p := open(t, o)
	c := p.Config
	if c.Limits.MaxTokens != 200 || c.Limits.Concurrency != 4 || c.Limits.MaxCostUSD != 2 || time.Duration(c.Limits.Timeout) != 5*time.Minute || time.Duration(c.Limits.IdleTimeout) != 15*time.Minute {
		t.Errorf("limits %+v", c.Limits)
	}
	if got := c.Providers["anthropic"]; got != (project.Provider{Type: "anthropic", Model: "theirs", KeyEnv: "MY_KEY"}) {
		t.Errorf("provider %+v", got)
	}
	if r := c.Roles["reviewer"]; r.Access != workflow.EffectRead || r.Effort != "high" {
		t.Errorf("a built-in role that a user changes: %+v", r)
	}
	if c.Roles["mine"].Access != workflow.EffectWrite || c.Roles["developer"].Access != workflow.EffectWrite {
		t.Errorf("roles %+v", c.Roles)
	}
	if !slices.Equal(c.Permissions.Deny, []string{"Read(secret)", "Read(.env)"}) {
		t.Errorf("deny rules %v", c.Permissions.Deny)
	}
	if !c.Compat.ShellInterpolation || c.Project != "123" {
		t.Errorf("compat %+v, project %q", c.Compat, c.Project)
	}
	if len(p.Warnings) != 1 || p.Warnings[0].Line != 10 || !strings.Contains(p.Warnings[0].Message, "colour") {
		t.Errorf("warnings %v", p.Warnings)
	}
	from := map[string]string{}
	for _, s := range p.Settings() {
		from[s.Key] = s.Value + " < " + strings.ReplaceAll(s.From, root+"/", "")
	}
	for key, want := range map[string]string{
		"limits.maxTokens":           "200 < p/.tenon/config.yaml:2:3",
		"limits.timeout":             "5m < home/.config/tenon/config.yaml:2:26",
		"limits.idleTimeout":         "15m < default",
		"limits.concurrency":         "4 < environment TENON_LIMITS_CONCURRENCY",
		"limits.maxCostUsd":          "2 < flag",
		"providers.anthropic.keyEnv": "MY_KEY < home/.config/tenon/config.yaml:5:45",
	} {
		if from[key] != want {
			t.Errorf("%s: %s, want %s", key, from[key], want)
		}
	}
}

func TestInvalidConfiguration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"limit: {maxTokens: 1}":                         `config.yaml:1:1: unknown key "limit" (did you mean "limits"?)`,
		"limits:\n  maxTokens: many":                    "config.yaml:2:14: ",
		"limits: {timeout: soon}":                       "config.yaml:1:19: ",
		"verification:\n  commands:\n    - {comand: x}": `config.yaml:3:8: unknown key "comand" (did you mean "command"?)`,
		"compat: {shellInterpolation: true}":            "config.yaml:1:1: a repository may not set",
		"a: [":                                          "config.yaml:",
		"version: 2":                                    "config.yaml:1:10: ",
	} {
		root := tree(t, map[string]string{"p/.tenon/config.yaml": text})
		_, err := project.Open(options(root, "p", nil))
		var all source.Errors
		if !errors.As(err, &all) || workflow.CodeOf(err) != workflow.CodeInvalidArguments || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	root := tree(t, map[string]string{"home/.config/tenon/config.yaml": "limits: {maxTokens: many}", "p": "/"})
	if _, err := project.Open(options(root, "p", nil)); err == nil {
		t.Error("a wrong value of the user is no error")
	}
	if _, err := project.Open(options(root, "p", map[string]string{"TENON_LIMITS_MAX_TOKENS": "-1", "XDG_CONFIG_HOME": root})); err == nil || !strings.Contains(err.Error(), "TENON_LIMITS_MAX_TOKENS") {
		t.Errorf("a wrong environment: %v", err)
	}
	for _, empty := range []string{"", "# nothing", "limits:\nroles:\n"} {
		root := tree(t, map[string]string{"p/.tenon/config.yaml": empty})
		if p := open(t, options(root, "p", nil)); time.Duration(p.Config.Limits.Timeout) != time.Hour {
			t.Errorf("%q: %+v", empty, p.Config)
		}
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	config := "verification: {commands: [{key: test, command: go, args: [test]}]}\n" +
		"permissions: {allow: [\"Bash(rm *)\"], deny: [\"Read(x)\"], directories: [/]}\n" +
		"providers:\n  far: {type: chat, keyEnv: MY_KEY, baseURL: https://example.com}\n  near: {type: chat, baseURL: \"http://127.0.0.1:8080/v1\"}\n"
	root := tree(t, map[string]string{"p/.tenon/config.yaml": config})
	o := options(root, "p", nil)
	p := open(t, o)
	if trusted, err := p.Trusted(); trusted || err != nil {
		t.Fatalf("a stranger is trusted: %v, %v", trusted, err)
	}
	c := p.Config
	if len(c.Verification.Commands) > 0 || len(c.Permissions.Allow) > 0 || len(c.Permissions.Directories) > 0 || c.Providers["far"].BaseURL != "" {
		t.Errorf("a stranger gains rights: %+v", c)
	}
	if len(c.Permissions.Deny) != 1 || c.Providers["near"].BaseURL == "" {
		t.Errorf("what needs no trust is lost: %+v", c)
	}
	if n := len(p.Withheld()); n != 4 {
		t.Errorf("%d settings are withheld: %+v", n, p.Withheld())
	}
	if _, _, err := p.Checks(); workflow.CodeOf(err) != workflow.CodeNotTrusted || !strings.Contains(err.Error(), "tenon trust") {
		t.Errorf("checks of a stranger: %v", err)
	}
	for name, change := range map[string]func(*project.Options){
		"flag": func(o *project.Options) { o.TrustProject = true },
		"environment": func(o *project.Options) {
			*o = options(root, "p", map[string]string{"TENON_TRUST": string(p.Digest())})
		},
	} {
		o := o
		change(&o)
		if commands, _, err := open(t, o).Checks(); err != nil || len(commands) != 1 {
			t.Errorf("trust by %s: %v, %v", name, commands, err)
		}
	}
	for range 2 {
		if err := p.Trust(); err != nil {
			t.Fatal(err)
		}
	}
	if commands, _, err := open(t, o).Checks(); err != nil || len(commands) != 1 || commands[0].Command != "go" {
		t.Errorf("after trust: %v, %v", commands, err)
	}
	if err := os.WriteFile(filepath.Join(root, "p/.tenon/config.yaml"), []byte(config+"# changed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := open(t, o).Checks(); workflow.CodeOf(err) != workflow.CodeNotTrusted {
		t.Errorf("a changed file is trusted: %v", err)
	}
	if err := p.Distrust(); err != nil {
		t.Fatal(err)
	}
	if trusted, err := p.Trusted(); trusted || err != nil {
		t.Errorf("after distrust: %v, %v", trusted, err)
	}
}

func TestRepositories(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"p/.tenon/config.yaml": "repositories: [{id: web, path: web, scope: [src]}, {id: lib}]", "q": "/"})
	got := open(t, options(root, "p", nil)).Repositories()
	if len(got) != 2 || got[0].Path != filepath.Join(root, "p/web") || got[0].Scope[0] != "src" || got[1].Path != filepath.Join(root, "p") {
		t.Errorf("repositories %+v", got)
	}
	got = open(t, options(root, "q", nil)).Repositories()
	if len(got) != 1 || got[0].ID != "repo" || got[0].Path != filepath.Join(root, "q") {
		t.Errorf("without any: %+v", got)
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]struct{ fixture, role string }{
		"version: 1": {".tenon/scripted.yaml", "scripted"},
		"providers: {scripted: {type: scripted, file: a.yaml}, real: {type: chat}}":                    {"a.yaml", "real"},
		"providers: {fixture: {type: scripted, file: b.yaml}, one: {type: chat}, two: {type: gemini}}": {"b.yaml", ""},
		"{providers: {one: {type: chat}, two: {type: gemini}}, roles: {reviewer: {provider: two}}}":    {".tenon/scripted.yaml", "two"},
	} {
		p := open(t, options(tree(t, map[string]string{"p/.tenon/config.yaml": config}), "p", nil))
		if got := p.Providers()["fixture"]; got.Type != "scripted" || got.File != want.fixture {
			t.Errorf("%s: fixture %+v", config, got)
		}
		if got := p.Roles()["reviewer"]; got.Provider != want.role || got.Access != workflow.EffectRead {
			t.Errorf("%s: reviewer %+v", config, got)
		}
	}
}

func TestPolicyOfConfiguredChecks(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{"commands": "verification.commands[0].policy", "setup": "verification.setup[0].policy"} {
		root := tree(t, map[string]string{".tenon/config.yaml": "version: 1\nverification: {" + list + ": [{key: a, command: make, args: [], policy: {reus: never}}]}\n"})
		o := options(root, ".", nil)
		o.TrustProject = true
		p := open(t, o)
		if _, _, err := p.Checks(); workflow.CodeOf(err) != workflow.CodeInvalidArguments || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "reuse") {
			t.Errorf("%s: %v", list, err)
		}
	}
}
