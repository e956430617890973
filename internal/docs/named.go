package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// find returns a page by its name; an empty one when it is not there.
func find(pages []page, name string) page {
	i := slices.IndexFunc(pages, func(p page) bool { return p.name == name })
	if i < 0 {
		return page{name: name}
	}
	return pages[i]
}

var codeConst = regexp.MustCompile(`(?m)^\tCode\w+ +Code = "([a-z_]+)"`)

// checkCodes finds codes of the program that docs/definitions.md does not
// explain.
func checkCodes(root string, pages []page, found *findings) error {
	raw, err := os.ReadFile(filepath.Join(root, "workflow", "code.go"))
	if err != nil {
		return err
	}
	const name = "docs/definitions.md"
	text := find(pages, name).text
	for _, m := range codeConst.FindAllStringSubmatch(string(raw), -1) {
		if !strings.Contains(text, "`"+m[1]+"`") {
			found.add(name, 1, "code %s is not explained", m[1])
		}
	}
	return nil
}

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")

// checkTests finds tests that a page names and the code does not have.
func checkTests(root string, pages []page, found *findings) error {
	var have map[string]bool
	for _, p := range pages {
		for i, line := range strings.Split(p.text, "\n") {
			for _, m := range testName.FindAllStringSubmatch(line, -1) {
				if have == nil {
					var err error
					if have, err = tests(root); err != nil {
						return err
					}
				}
				if !have[m[1]] {
					found.add(p.name, i+1, "there is no test %s", m[1])
				}
			}
		}
	}
	return nil
}

// tests lists the functions of all test files.
func tests(root string) (map[string]bool, error) {
	all := map[string]bool{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != root && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				all[fn.Name.Name] = true
			}
		}
		return nil
	})
	return all, err
}

const dependencies = "docs/dependencies.md"

// checkDependencies finds modules that the code imports and the page does not
// give a reason for, and reasons without their module.
func checkDependencies(ctx context.Context, root string, pages []page, found *findings) error {
	direct, err := direct(ctx, root)
	if err != nil {
		return err
	}
	text := find(pages, dependencies).text
	for _, m := range direct {
		if !strings.Contains(text, "| `"+m+"` |") {
			found.add(dependencies, 1, "there is no line for %s, which the code imports", m)
		}
	}
	for i, line := range strings.Split(text, "\n") {
		rest, ok := strings.CutPrefix(line, "| `")
		if name, _, _ := strings.Cut(rest, "`"); ok && !slices.Contains(direct, name) {
			found.add(dependencies, i+1, "%s is not imported any more", name)
		}
	}
	return nil
}

// direct lists the modules of go.mod that packages of this module import,
// tests included, sorted.
func direct(ctx context.Context, root string) ([]string, error) {
	mod := exec.CommandContext(ctx, "go", "mod", "edit", "-json")
	mod.Dir = root
	raw, err := mod.Output()
	if err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	var file struct {
		Require []struct{ Path string }
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	list := exec.CommandContext(ctx, "go", "list", "-f", `{{join .Imports "\n"}}{{"\n"}}{{join .TestImports "\n"}}{{"\n"}}{{join .XTestImports "\n"}}`, "./...")
	list.Dir = root
	imports, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing imports: %w", err)
	}
	used := map[string]bool{}
	for path := range strings.FieldsSeq(string(imports)) {
		best := ""
		for _, r := range file.Require {
			if (path == r.Path || strings.HasPrefix(path, r.Path+"/")) && len(r.Path) > len(best) {
				best = r.Path
			}
		}
		used[best] = true
	}
	delete(used, "")
	all := make([]string, 0, len(used))
	for path := range used {
		all = append(all, path)
	}
	slices.Sort(all)
	return all, nil
}
