package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/tenonrun/tenon/cli"
)

// parts makes the generated parts of pages. A part stands between
//
//	<!-- generated: NAME -->
//	<!-- /generated -->
type parts struct {
	root    string
	schemas kinds
}

func newParts(root string) (parts, error) {
	k, err := readKinds()
	return parts{root, k}, err
}

var part = regexp.MustCompile(`(?s)(<!-- generated: ([a-z-]+(?: [a-z-]+)?) -->\n).*?(<!-- /generated -->)`)

// fill returns the text of a page with its parts made again.
func (g parts) fill(p page) (string, error) {
	var wrong error
	text := part.ReplaceAllStringFunc(p.text, func(old string) string {
		m := part.FindStringSubmatch(old)
		made, err := g.make(m[2])
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("%s: making %q: %w", p.name, m[2], err)
		}
		return m[1] + made + m[3]
	})
	return text, wrong
}

func (g parts) make(name string) (string, error) {
	what, about, _ := strings.Cut(name, " ")
	switch what {
	case "commands":
		return commands()
	case "rooms":
		return rooms(g.root)
	case "kinds":
		return g.schemas.table(), nil
	case "params":
		return g.schemas.params(about)
	}
	return "", fmt.Errorf("there is no such part: commands, rooms, kinds and params KIND can be made")
}

// help returns what a help command prints.
func help(args ...string) (string, error) {
	var out, errs bytes.Buffer
	std := cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }}
	if code := cli.Run(context.Background(), append([]string{"help"}, args...), std); code != 0 {
		return "", fmt.Errorf("tenon help %s: exit %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String(), nil
}

var (
	groupLine   = regexp.MustCompile(`^([A-Z].*):$`)
	commandLine = regexp.MustCompile(`^  ([a-z]+) {2,}(\S.*)$`)
)

// commands is the help of every command, grouped as tenon help groups them.
func commands() (string, error) {
	top, err := help()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	group := ""
	for line := range strings.SplitSeq(top, "\n") {
		if m := groupLine.FindStringSubmatch(line); m != nil {
			group = m[1]
			continue
		}
		m := commandLine.FindStringSubmatch(line)
		if m == nil || group == "Flags" || m[1] == "completion" || m[1] == "help" {
			continue
		}
		if group != "" {
			fmt.Fprintf(&b, "\n### %s\n", group)
			group = ""
		}
		text, err := help(m[1])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n#### tenon %s\n\n```text\n%s\n```\n", m[1], own(text))
	}
	return b.String() + "\n", nil
}

// own leaves out the flags that every command has.
func own(text string) string {
	text, _, _ = strings.Cut(text, "\nGlobal Flags:")
	return strings.TrimSpace(text)
}

// rooms is a table of all packages with the first sentence of their comments.
func rooms(root string) (string, error) {
	//nolint:noctx // it is short and ends by itself
	list := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Doc}}", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	var b strings.Builder
	b.WriteString("| room | what it is |\n| --- | --- |\n")
	for line := range strings.Lines(string(out)) {
		path, doc, _ := strings.Cut(strings.TrimSpace(line), "\t")
		name := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		dir := name
		if name == "" {
			name, dir = "tenon (root)", "."
		}
		fmt.Fprintf(&b, "| [`%s`](../%s) | %s |\n", name, dir, sentence(doc))
	}
	return b.String(), nil
}

const module = "github.com/tenonrun/tenon"

var opening = regexp.MustCompile(`^(Package|Command) \S+ `)

// sentence is a package comment without its opening words.
func sentence(doc string) string {
	s := strings.TrimPrefix(opening.ReplaceAllString(doc, ""), "is ")
	return strings.ReplaceAll(s, "|", "\\|")
}
