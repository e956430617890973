package openspec

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of the documents of a change.
const (
	maxDocuments     = 200
	maxDocumentBytes = 2 << 20
)

// documents are what a contract is about: the digest of each, and the tasks.
type documents struct {
	Files     map[string]workflow.Digest // by path below the change
	Empty     []string
	Tasks     int
	Completed int
	Open      []string // descriptions of tasks that are not done
}

// collect reads the documents of the change: proposal.md, design.md and tasks.md
// as far as they are there, and every Markdown file below specs.
func (v *visit) collect() (documents, error) {
	d := documents{Files: map[string]workflow.Digest{}}
	root, err := os.OpenRoot(v.path(folder + "/changes/" + v.change))
	if err != nil {
		return d, v.errorf(workflow.CodeArtifactScope, "opening change %s: %w", v.change, err)
	}
	defer root.Close()
	size := int64(0)
	add := func(name string) error {
		info, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.IsDir() && name == "specs":
			return nil
		case !info.Mode().IsRegular():
			return v.errorf(workflow.CodeArtifactScope, "%s of change %s is not a file but a %s", name, v.change, kindOf(info.Mode())).
				WithHint("put the document itself there")
		}
		if size += info.Size(); len(d.Files) >= maxDocuments || size > maxDocumentBytes {
			return v.errorf(workflow.CodeArtifactLimit, "change %s has more than %d documents or %d MiB", v.change, maxDocuments, maxDocumentBytes>>20).
				WithHint("split the change")
		}
		raw, err := root.ReadFile(name)
		if err != nil {
			return err
		}
		d.add(name, string(raw))
		return nil
	}
	for _, name := range []string{"proposal.md", "design.md", "tasks.md", "specs"} {
		if err := add(name); err != nil {
			return d, v.reading(err)
		}
	}
	return d, v.reading(walkSpecs(root.FS(), add))
}

// walkSpecs calls add for the Markdown files and for everything that is neither
// file nor directory below specs.
func walkSpecs(dir fs.FS, add func(name string) error) error {
	return fs.WalkDir(dir, "specs", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == "specs":
			return fs.SkipAll
		case err != nil:
			return err
		case e.IsDir() || e.Type().IsRegular() && path.Ext(name) != ".md":
			return nil
		}
		return add(name)
	})
}

func (v *visit) reading(err error) error {
	var coded *workflow.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return v.errorf(workflow.CodeArtifactScope, "reading the documents of change %s: %w", v.change, err)
}

// add takes a document.
func (d *documents) add(name, content string) {
	if strings.TrimSpace(content) == "" {
		d.Empty = append(d.Empty, name)
	}
	if name == "tasks.md" {
		content = d.tasks(content)
	}
	d.Files[name] = workflow.Digest(canon.Sum([]byte(content)))
}

// box is a list item with a checkbox, as OpenSpec counts tasks: the marker is at
// most one character.
var box = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\s*(?:[-*+]|\d{1,9}[.)])\s*)\[(\s*[^\]\s]?\s*)\]`)
})

// tasks counts the tasks and returns the text with every checkbox open, so that
// working through the list does not change it.
func (d *documents) tasks(content string) string {
	lines := strings.Split(content, "\n")
	for i, line := range lines {
		m := box().FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		marker, rest := line[m[4]:m[5]], line[m[1]:]
		blank := marker != "" && strings.TrimSpace(marker) == ""
		if !blank && (strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "[")) { // a link
			continue
		}
		d.Tasks++
		if strings.EqualFold(strings.TrimSpace(marker), "x") {
			d.Completed++
		} else {
			d.Open = append(d.Open, strings.TrimSpace(rest))
		}
		lines[i] = line[m[2]:m[3]] + "[ ]" + rest
	}
	return strings.Join(lines, "\n")
}

// lacks returns why the documents are not ready to be worked from.
func (d *documents) lacks() (reasons []string) {
	specs := false
	for name := range d.Files {
		specs = specs || strings.HasPrefix(name, "specs/")
	}
	if d.Files["proposal.md"] == "" || d.Files["tasks.md"] == "" || !specs {
		reasons = append(reasons, reasonMissing)
	}
	if len(d.Empty) > 0 {
		reasons = append(reasons, reasonEmpty)
	}
	if d.Tasks == 0 {
		reasons = append(reasons, reasonNoTasks)
	}
	return reasons
}
