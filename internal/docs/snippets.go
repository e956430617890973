package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const goMark = "```go tenon"

// imports are what a snippet may use without saying so, by the name in front of
// the dot.
var imports = []struct{ name, path string }{
	{"context", "context"}, {"json", "encoding/json"}, {"fmt", "fmt"},
	{"tenon", module}, {"engine", module + "/engine"}, {"piece", module + "/piece"}, {"workflow", module + "/workflow"},
}

// checkSnippets compiles every block of Go that is marked "go tenon": the body
// of a function that has a ctx and returns an error.
func checkSnippets(ctx context.Context, root string, pages []page, found *findings) error {
	for _, p := range pages {
		for i, text := range snippets(p) {
			out, err := compile(ctx, root, text)
			if err != nil {
				return fmt.Errorf("%s: compiling snippet %d: %w", p.name, i+1, err)
			}
			if out != "" {
				above, _, _ := strings.Cut(p.text, text)
				found.add(p.name, strings.Count(above, "\n"), "the snippet does not compile:\n%s", out)
			}
		}
	}
	return nil
}

func snippets(p page) []string {
	var all []string
	for _, block := range strings.Split(p.text, goMark+"\n")[1:] {
		text, _, _ := strings.Cut(block, "\n```")
		all = append(all, text+"\n")
	}
	return all
}

// compile returns what the compiler says about a snippet; "" is nothing.
func compile(ctx context.Context, root, text string) (string, error) {
	dir, err := os.MkdirTemp("", "tenon-docs-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	var b strings.Builder
	b.WriteString("// Package snippet is a part of a page.\npackage snippet\n\nimport (\n")
	for _, i := range imports {
		if i.name == "context" || strings.Contains(text, i.name+".") {
			fmt.Fprintf(&b, "\t%q\n", i.path)
		}
	}
	fmt.Fprintf(&b, ")\n\nfunc snippet(ctx context.Context) error {\n%s}\n\nvar _ = snippet\n", text)
	file := filepath.Join(dir, "snippet.go")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(abs, "internal", "docs", "snippet", "snippet.go"): file}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", list, "./internal/docs/snippet")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return string(out), nil //nolint:nilerr // what the compiler says is the finding
	}
	return "", nil
}
