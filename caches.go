package tenon

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
)

// agentCaches is where the build tools of agents keep what they can make again,
// one directory for each project. It is not where those of the person and of the
// verification keep theirs: whoever may write a build cache decides what a later
// build gives.
func (g *gear) agentCaches() string {
	cache := g.t.cfg.Getenv("XDG_CACHE_HOME")
	if home := g.t.Project.UserHome(); !filepath.IsAbs(cache) && home != "" {
		cache = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(cache) {
		return ""
	}
	return filepath.Join(cache, "tenon", "agents", canon.Sum([]byte(g.t.Project.Root))[:16])
}

// caches are the variables that lead build tools to the caches of agents, and the
// directory that has to be writable for them. What the person has already loaded is
// read from there where a tool can.
func (g *gear) caches() (dir string, env map[string]string, err error) {
	if dir = g.agentCaches(); dir == "" {
		return "", map[string]string{}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	env = map[string]string{
		"XDG_CACHE_HOME": dir, "GOCACHE": at("go-build"), "GOMODCACHE": at("go-mod"), "npm_config_cache": at("npm"),
		"PIP_CACHE_DIR": at("pip"), "UV_CACHE_DIR": at("uv"), "YARN_CACHE_FOLDER": at("yarn"),
		"GRADLE_USER_HOME": at("gradle"), "MAVEN_ARGS": "-Dmaven.repo.local=" + at("maven"),
	}
	home := g.t.Project.UserHome()
	if home == "" {
		return dir, env, nil
	}
	of := func(variable, usual string, below ...string) string {
		base := g.t.cfg.Getenv(variable)
		if !filepath.IsAbs(base) {
			base = filepath.Join(home, filepath.FromSlash(usual))
		}
		return filepath.Join(append([]string{base}, below...)...)
	}
	env["GRADLE_RO_DEP_CACHE"] = of("GRADLE_USER_HOME", ".gradle", "caches")
	env["MAVEN_ARGS"] += " -Dmaven.repo.local.tail=" + of("", ".m2/repository")
	if proxy := cmp.Or(g.goEnv("GOPROXY"), "https://proxy.golang.org,direct"); proxy != "off" {
		path, _, _ := strings.Cut(cmp.Or(g.goEnv("GOPATH"), filepath.Join(home, "go")), string(filepath.ListSeparator))
		modules := cmp.Or(g.goEnv("GOMODCACHE"), filepath.Join(path, "pkg", "mod"))
		env["GOPROXY"] = "file://" + filepath.ToSlash(filepath.Join(modules, "cache", "download")) + "," + proxy
	}
	return dir, env, nil
}

// goEnv is a setting of the tool go, of the environment or of the person's file.
func (g *gear) goEnv(name string) string {
	get, home := g.t.cfg.Getenv, g.t.Project.UserHome()
	if value := get(name); value != "" {
		return value
	}
	file := cmp.Or(get("GOENV"), filepath.Join(cmp.Or(get("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "go", "env"))
	raw, err := os.ReadFile(file)
	if err != nil {
		return "" // the person has set nothing
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}
