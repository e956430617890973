package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/deliverable"
	documents "github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/provider/scripted"
	"github.com/tenonrun/tenon/runcontext"
	workflow "github.com/tenonrun/tenon/script"
	"github.com/tenonrun/tenon/workflow/load"
)

// example is a fenced block of a page that has to be valid. Its info string is
// "yaml tenon" for a whole definition, "yaml tenon node" for nodes of format 2
// that lead to done and failed, "yaml tenon config" for a configuration,
// "yaml tenon script" for a script, "yaml tenon composition", "yaml tenon
// manifest", "yaml tenon spec" and "yaml tenon overlay", "markdown tenon agent", "js tenon workflow" for a whole
// workflow script, and "js tenon body" for one without its meta.
type example struct {
	page string
	line int // of the first line of the block
	what string
	text string
}

var mark = regexp.MustCompile("^```(?:yaml|markdown|js) tenon(.*)$")

// examples finds the blocks of a page.
func examples(p page) []example {
	var all []example
	var open *example
	for i, line := range strings.Split(p.text, "\n") {
		switch {
		case open != nil && strings.HasPrefix(line, "```"):
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case mark.MatchString(line):
			open = &example{page: p.name, line: i + 2, what: strings.TrimSpace(mark.FindStringSubmatch(line)[1])}
		}
	}
	return all
}

const (
	before = `schemaVersion: 2
id: example
delivery: {requiresVerified: false}
roles: [architect, developer, reviewer, loop-decider]
inputs: {type: object, additionalProperties: true}
entry: %s
components:
  repair:
    inputs: [goal]
    entry: fixed
    nodes:
      fixed: {kind: end, params: {outcome: success}, ends: {}}
nodes:
`
	done   = "  done: {kind: end, params: {outcome: success}, ends: {}}\n"
	failed = "  failed: {kind: end, params: {outcome: failure}, ends: {}}\n"
)

// document wraps nodes into a definition, and returns how many lines come
// before them.
func (e example) document() (text string, lines int) {
	if e.what != "node" {
		return e.text, 0
	}
	entry, _, _ := strings.Cut(e.text, ":")
	head := fmt.Sprintf(before, strings.TrimSpace(entry))
	if !strings.Contains(e.text, "ref: repair") {
		head, _, _ = strings.Cut(head, "components:")
		head += "nodes:\n"
	}
	var b strings.Builder
	b.WriteString(head)
	for line := range strings.Lines(e.text) {
		b.WriteString("  " + line)
	}
	b.WriteString(done)
	if strings.Contains(e.text, ": failed") {
		b.WriteString(failed)
	}
	return b.String(), strings.Count(head, "\n")
}

// checkExamples loads every block with the loader that runs would use.
func checkExamples(ctx context.Context, pages []page, found *findings) error {
	dir, err := os.MkdirTemp("", "tenon-docs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	for _, p := range pages {
		for _, e := range examples(p) {
			if err := checkExample(ctx, dir, e, found); err != nil {
				return fmt.Errorf("%s:%d: %w", e.page, e.line, err)
			}
		}
	}
	return nil
}

func checkExample(ctx context.Context, dir string, e example, found *findings) error {
	switch e.what {
	case "", "node":
		return checkDefinition(ctx, dir, e, found)
	case "config":
		at := filepath.Join(dir, "configured", ".tenon")
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, "config.yaml"), []byte(e.text), 0o644); err != nil {
			return err
		}
		t, err := tenon.Open(ctx, tenon.Config{Dir: filepath.Dir(at), State: filepath.Join(dir, "state"), Memory: true})
		if err != nil {
			found.add(e.page, e.line, "the configuration is not valid: %v", err)
			return nil
		}
		return t.Close()
	case "script":
		if _, err := scripted.Load("example", []byte(e.text)); err != nil {
			found.add(e.page, e.line, "the script is not valid: %v", err)
		}
		return nil
	}
	err, known := e.workflow()
	if !known {
		err, known = e.team()
	}
	if !known {
		found.add(e.page, e.line-1, "there is no example %q: definition (no word), node, config, script, agent, composition, spec, overlay, workflow and body can be checked", e.what)
	}
	if err != nil {
		found.add(e.page, e.line, "the %s is not valid: %v", e.what, err)
	}
	return nil
}

// workflow reads a workflow script.
func (e example) workflow() (err error, known bool) {
	text := e.text
	switch e.what {
	case "body":
		text = `export const meta = {name: "example", description: "example"}; ` + text
	case "workflow":
	default:
		return nil, false
	}
	_, err = workflow.Check("example.js", []byte(text))
	return err, true
}

// team reads what belongs to agents, as far as it can be read alone.
func (e example) team() (err error, known bool) {
	text := []byte(e.text)
	switch e.what {
	case "agent":
		it := composition.ReadAgent("example.md", "example", text)
		if err := it.Warnings; it.Err == nil && len(err) > 0 {
			return err, true
		}
		return it.Err, true
	case "composition":
		it := composition.ReadComposition("example.yaml", "example", text)
		if it.Err != nil || it.Composition.Workspace == nil {
			return it.Err, true
		}
		_, err := runcontext.CompileBlock(it.Composition.Workspace)
		return err, true
	case "manifest":
		_, err := runcontext.Compile("example.yaml", text, nil)
		return err, true
	case "spec":
		_, err := deliverable.Load("example.yaml", text)
		return err, true
	case "overlay":
		doc, err := documents.Parse("example.yaml", text, documents.Limits{})
		if err != nil {
			return err, true
		}
		var o runcontext.Overlay
		return doc.Decode(&o), true
	}
	return nil, false
}

func checkDefinition(ctx context.Context, dir string, e example, found *findings) error {
	text, shift := e.document()
	at := filepath.Join(dir, "example.yaml")
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		return err
	}
	t, err := tenon.Open(ctx, tenon.Config{Dir: dir, State: filepath.Join(dir, "state"), Memory: true})
	if err != nil {
		return err
	}
	_, err = t.Check(at, tenon.Checks{Structural: true})
	var issues load.Issues
	switch {
	case errors.As(err, &issues):
		for _, i := range issues {
			if strings.Contains(e.text, "kind: workflow") && strings.Contains(i.Message, "there is no workflow") {
				continue // the other document is not on the page
			}
			found.add(e.page, e.line+max(i.Line-shift, 1)-1, "%s: %s", i.Code, i.Message)
		}
	case err != nil:
		found.add(e.page, e.line, "%v", err)
	}
	return t.Close()
}
