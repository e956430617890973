package git_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
)

func TestChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file string
		same bool
	}{
		"its folder":              {"openspec/changes/add-x/tasks.md", true},
		"a spec in its folder":    {"openspec/changes/add-x/specs/auth/spec.md", true},
		"its archive":             {"openspec/changes/archive/2026-01-31-add-x/tasks.md", true},
		"its main spec":           {"openspec/specs/auth/spec.md", true},
		"another main spec":       {"openspec/specs/other/spec.md", false},
		"a main spec like it":     {"openspec/specs/auth-2/spec.md", false},
		"another change":          {"openspec/changes/add-x-2/tasks.md", false},
		"the archive of another":  {"openspec/changes/archive/2026-01-31-re-add-x/tasks.md", false},
		"an archive without date": {"openspec/changes/archive/add-x/tasks.md", false},
		"an archive of no date":   {"openspec/changes/archive/20-6-01-311-add-x/tasks.md", false},
		"a file of its name":      {"openspec/changes/add-x", false},
		"a file in the archive":   {"openspec/changes/archive/2026-01-31-add-x", false},
		"the project":             {"openspec/project.md", false},
		"a folder of its name":    {"changes/add-x/tasks.md", false},
		"deeper":                  {"sub/openspec/changes/add-x/tasks.md", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, tracked := range []bool{true, false} {
				w := repo(t)
				w.write("a", "1")
				c := git.Config{
					Repositories: []workspace.Repository{{ID: "repo", Path: w.dir}},
					Change:       git.Change{Name: "add-x", Specs: []string{"auth"}},
				}
				before := digest(t, c)
				w.write(tc.file, "1")
				if tracked {
					w.commit()
				}
				if same := digest(t, c) == before; same != tc.same {
					t.Errorf("tracked %v: left out %v, want %v", tracked, same, tc.same)
				}
				if w.digest() == before {
					t.Error("the digest does not show that there is a change")
				}
			}
		})
	}
}

func TestChangeIsPartOfTheDigest(t *testing.T) {
	t.Parallel()
	w, v := repo(t), repo(t)
	w.write("openspec/changes/x/tasks.md", "1")
	seen := map[string]string{}
	for name, change := range map[string]git.Change{
		"none":             {},
		"a change":         {Name: "x"},
		"another":          {Name: "y"},
		"of a repository":  {Name: "x", Repository: "w"},
		"of another":       {Name: "x", Repository: "v"},
		"with a main spec": {Name: "x", Specs: []string{"a"}},
		"with two":         {Name: "x", Specs: []string{"b", "a"}},
	} {
		c := git.Config{Repositories: []workspace.Repository{{ID: "w", Path: w.dir}, {ID: "v", Path: v.dir}}, Change: change}
		before := digest(t, c)
		if seen[before] != "" {
			t.Errorf("%s and %s have the same digest", name, seen[before])
		}
		seen[before] = name
		w.write("openspec/changes/x/tasks.md", "2")
		if same, want := digest(t, c) == before, change.Name == "x" && change.Repository != "v"; same != want {
			t.Errorf("%s: left out %v, want %v", name, same, want)
		}
		w.write("openspec/changes/x/tasks.md", "1")
		c.Change.Specs = append(c.Change.Specs, change.Specs...)
		if digest(t, c) != before {
			t.Errorf("%s: the same specs twice count", name)
		}
	}
}

func TestNewRefusesChanges(t *testing.T) {
	t.Parallel()
	one := []workspace.Repository{{ID: "a", Path: t.TempDir()}}
	for want, c := range map[string]git.Config{
		`".." must be the name`:  {Repositories: one, Change: git.Change{Name: ".."}},
		`"x/y" must be the name`: {Repositories: one, Change: git.Change{Name: "x/y"}},
		`"" must be the name`:    {Repositories: one, Change: git.Change{Name: "x", Specs: []string{""}}},
		`called "archive"`:       {Repositories: one, Change: git.Change{Name: "archive"}},
		"unknown repository":     {Repositories: one, Change: git.Change{Name: "x", Repository: "b"}},
		"is not absolute":        {Repositories: one, Cache: "cache"},
	} {
		if _, err := git.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
