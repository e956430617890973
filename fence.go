package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/files"
	"github.com/tenonrun/tenon/workflow"
)

// Rules are the rules of the fence, from all files that hold some.
type Rules struct {
	Rules       []permission.Rule
	Directories []string             // that may be touched beside the project
	Withheld    []permission.Rule    // allow rules of a repository that is not trusted
	Problems    []permission.Problem // what could not be read
	Warnings    []permission.Warning // rules that do nothing
	Mode        permission.Mode
}

// Explanation is a verdict of the fence about one path.
type Explanation struct {
	Verdict permission.Verdict
	Rules   Rules
}

// FenceRules reads the rules of the fence and says which of them do nothing.
func (t *Tenon) FenceRules(ctx context.Context) (Rules, error) {
	r, err := t.rules()
	if err != nil {
		return r, err
	}
	f, warnings, err := disk.Open(ctx, t.fence(r, permission.AccessWrite))
	if err != nil {
		return r, fmt.Errorf("preparing the fence: %w", err)
	}
	r.Warnings = warnings
	return r, f.Close()
}

// ExplainPath says what the fence says about a tool that is used on a path, in a
// turn that may write or only read. Nothing is opened.
func (t *Tenon) ExplainPath(ctx context.Context, name, path string, access permission.Access) (Explanation, error) {
	set, err := tool.NewSet(files.Tools(files.Config{})...)
	if err != nil {
		return Explanation{}, err
	}
	what, err := set.Find(name)
	if err != nil && slices.Contains(toolNames(), name) {
		return Explanation{}, workflow.Errorf(workflow.CodeInvalidArguments, "%s does not take one path to judge", name).
			WithHint("ask about one of %s; what a command line touches is judged like that, too", strings.Join(set.Names(), ", "))
	}
	if err != nil {
		return Explanation{}, workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	raw, err := json.Marshal(map[string]string{what.Target.Slot: path})
	if err != nil {
		return Explanation{}, err
	}
	args, err := tool.ParseArgs(name, raw)
	if err != nil {
		return Explanation{}, workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	e := Explanation{}
	if e.Rules, err = t.rules(); err != nil {
		return e, err
	}
	f, warnings, err := disk.Open(ctx, t.fence(e.Rules, access))
	if err != nil {
		return e, fmt.Errorf("preparing the fence: %w", err)
	}
	e.Rules.Warnings = warnings
	e.Verdict = f.Explain(ctx, tool.Request{Tool: name, Effect: what.Effect, Target: what.Target, Args: args})
	return e, f.Close()
}

// fence sets up the fence of the project.
func (t *Tenon) fence(r Rules, access permission.Access) disk.Config {
	cfg := disk.Config{
		Root: t.Project.Root, Directories: r.Directories, Home: t.Project.UserHome(), Private: []string{t.Project.State},
		Rules: r.Rules, Mode: r.Mode, Access: access,
		Tools: toolNames(),
	}
	for _, repo := range t.Project.Repositories() {
		if repo.Path != t.Project.Root {
			cfg.Directories = append(cfg.Directories, repo.Path)
		}
	}
	return cfg
}

// rules reads all files that hold rules.
func (t *Tenon) rules() (Rules, error) {
	var r Rules
	list, err := t.Project.RuleFiles()
	if err != nil {
		return r, err
	}
	for _, file := range list {
		if err := r.read(t.Project, file); err != nil {
			return r, err
		}
	}
	mode, _, _, err := permission.ReadMode(t.Project.Config.Permissions.Mode)
	if err != nil {
		return r, workflow.Errorf(workflow.CodeInvalidArguments, "permissions.mode: %w", err)
	}
	r.Mode = mode
	return r, nil
}

// read adds the rules of one file.
func (r *Rules) read(p *project.Project, file project.RuleFile) error {
	data, err := os.ReadFile(file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading rules: %w", err)
	}
	doc, err := source.Parse(file.Path, data, source.Limits{})
	if err != nil {
		return fmt.Errorf("reading rules: %w", err)
	}
	var content struct {
		Permissions any `json:"permissions"`
	}
	if err := doc.Decode(&content); err != nil {
		return fmt.Errorf("reading rules of %s: %w", file.Path, err)
	}
	origin := permission.Origin{
		File: file.Path, Anchor: filepath.Dir(filepath.Dir(file.Path)), Home: p.UserHome(), Pointer: "/permissions",
		Line: func(pointer string) int { at, _ := doc.At(pointer); return at.Line },
	}
	if file.User {
		origin.Owner, origin.Anchor = permission.User, p.UserHome()
	}
	lists := permission.ReadLists(content.Permissions, origin)
	r.Problems = append(r.Problems, lists.Problems...)
	for _, rule := range lists.Rules {
		if rule.Effect == permission.Allow && !file.Widens {
			r.Withheld = append(r.Withheld, rule)
			continue
		}
		r.Rules = append(r.Rules, rule)
	}
	for _, entry := range lists.Directories {
		dir, err := permission.Directory(entry, p.Root, p.UserHome())
		switch {
		case err != nil:
			r.Problems = append(r.Problems, permission.Problem{Source: entry.Source, Message: err.Error()})
		case file.Widens:
			r.Directories = append(r.Directories, dir)
		}
	}
	return nil
}
