package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "compare and check in place of writing")
	flag.Parse()
	if err := run(context.Background(), ".", *check, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// findings gathers what is wrong.
type findings []string

func (f *findings) add(file string, line int, format string, args ...any) {
	*f = append(*f, fmt.Sprintf("%s:%d: %s", file, line, fmt.Sprintf(format, args...)))
}

// run writes the generated parts below root, or checks everything.
func run(ctx context.Context, root string, check bool, out io.Writer) error {
	pages, err := readPages(root)
	if err != nil {
		return err
	}
	made, err := generate(root, pages)
	if err != nil {
		return err
	}
	if !check {
		return write(root, made, out)
	}
	var found findings
	for _, m := range made {
		old, err := os.ReadFile(filepath.Join(root, m.name))
		if err != nil || !bytes.Equal(old, m.text) {
			found.add(m.name, 1, "is not what the code says; write it again with: make generate")
		}
	}
	if err := inspect(ctx, root, pages, &found); err != nil {
		return err
	}
	if len(found) > 0 {
		return errors.New(fmt.Sprintf("%d findings\n", len(found)) + strings.Join(found, "\n"))
	}
	fmt.Fprintf(out, "%d pages are as the code says\n", len(pages))
	return nil
}

// inspect runs every check that needs more than a comparison.
func inspect(ctx context.Context, root string, pages []page, found *findings) error {
	for _, p := range pages {
		checkLinks(root, p, found)
	}
	if err := checkExamples(ctx, pages, found); err != nil {
		return err
	}
	if err := checkSnippets(ctx, root, pages, found); err != nil {
		return err
	}
	if err := checkCodes(root, pages, found); err != nil {
		return err
	}
	if err := checkTests(root, pages, found); err != nil {
		return err
	}
	return checkDependencies(ctx, root, pages, found)
}

// file is a generated file.
type file struct {
	name string // with slashes, below the root
	text []byte
}

// generate makes every generated file from the code and the pages as they are.
func generate(root string, pages []page) ([]file, error) {
	house, err := readHouse(filepath.Join(root, "docs", "house.txt"))
	if err != nil {
		return nil, err
	}
	made := []file{{"docs/house.svg", drawHouse(house)}}
	parts, err := newParts(root)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		text, err := parts.fill(p)
		if err != nil {
			return nil, err
		}
		if text != p.text {
			made = append(made, file{p.name, []byte(text)})
		}
	}
	return made, nil
}

func write(root string, made []file, out io.Writer) error {
	for _, m := range made {
		path := filepath.Join(root, filepath.FromSlash(m.name))
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, m.text) {
			continue
		}
		if err := os.WriteFile(path, m.text, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", m.name, err)
		}
		fmt.Fprintln(out, "wrote", m.name)
	}
	return nil
}

// page is a page of documentation.
type page struct {
	name string // with slashes, below the root
	text string
}

// readPages reads every Markdown file that is part of the documentation.
func readPages(root string) ([]page, error) {
	var pages []page
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name := e.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		pages = append(pages, page{filepath.ToSlash(rel), string(text)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the pages: %w", err)
	}
	return pages, nil
}
