package project

import (
	"os"
	"path/filepath"
	"strings"
)

// RuleFile is a file that may hold rules of the fence under "permissions".
type RuleFile struct {
	Path   string
	User   bool // the person's own; else it lies in the repository
	Widens bool // its allow rules and directories count; deny and ask always do
}

// RuleFiles lists the files that rules are read from, whether they are there or
// not: the configurations, and what Claude Code keeps. A repository's allow rules
// count when a person trusted the file as it is.
func (p *Project) RuleFiles() ([]RuleFile, error) {
	trusted, err := p.Trusted()
	if err != nil {
		return nil, err
	}
	files := []RuleFile{{Path: filepath.Join(p.Root, Folder, "config.yaml"), Widens: trusted}}
	for _, path := range p.claudeSettings() {
		f := RuleFile{Path: path}
		if data, err := os.ReadFile(path); err == nil { // one that cannot be read is told when its rules are
			if f.Widens, err = p.Trusts(data); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	if file := userFile(p.opts); file != "" {
		files = append(files, RuleFile{Path: file, User: true, Widens: true})
	}
	if home := p.UserHome(); home != "" {
		files = append(files, RuleFile{Path: filepath.Join(home, ".claude", "settings.json"), User: true, Widens: true})
	}
	return files, nil
}

// claudeSettings are the files in which Claude Code keeps rules for a repository.
func (p *Project) claudeSettings() []string {
	return []string{filepath.Join(p.Root, ".claude", "settings.json"), filepath.Join(p.Root, ".claude", "settings.local.json")}
}

// UserConfig is the directory of the person's own configuration, "" when the
// environment names none.
func (p *Project) UserConfig() string {
	if file := userFile(p.opts); file != "" {
		return filepath.Dir(file)
	}
	return ""
}

// UserHome is the home directory of the person, "" when the environment names
// none.
func (p *Project) UserHome() string {
	home := p.opts.Getenv("HOME")
	if home == "" {
		home = p.opts.Getenv("USERPROFILE")
	}
	if !filepath.IsAbs(home) || strings.ContainsRune(home, 0) {
		return ""
	}
	return filepath.Clean(home)
}
