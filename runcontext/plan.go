package runcontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// Source says where the content of an entry comes from, by name: Ref and Version
// identify it on every machine, so neither is an absolute path.
type Source struct {
	Kind    string `json:"kind"`              // literal, file, directory, work-tree, skill, spec, …
	Ref     string `json:"ref,omitempty"`     // name of the source
	Version string `json:"version,omitempty"` // what is pinned: a version, commit or digest
}

// Entry is one line of a mount plan: a file, or the root of a tree that tools may
// write, or a link to a work tree.
type Entry struct {
	Path   string  `json:"path"` // relative to the workspace, slashes
	Slot   Slot    `json:"slot"`
	Mode   Mode    `json:"mode"`
	SHA256 string  `json:"sha256"` // lower hex; null in JSON when there is no content to pin
	Size   int64   `json:"sizeBytes,omitempty"`
	Source *Source `json:"source,omitempty"`

	// Content is the file when it is known in memory; nil otherwise.
	Content []byte `json:"-"`
	// Origin is the absolute path of the file or directory on this machine, for
	// package runcontext/mount; it is never rendered or hashed.
	Origin string `json:"-"`
}

// MarshalJSON gives the entry as it is hashed, with null for no digest.
func (e Entry) MarshalJSON() ([]byte, error) {
	type plain Entry
	var digest *string
	if e.SHA256 != "" {
		digest = &e.SHA256
	}
	return json.Marshal(struct {
		plain
		SHA256 *string `json:"sha256"`
	}{plain(e), digest})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Entry) UnmarshalJSON(raw []byte) error {
	type plain Entry
	return json.Unmarshal(raw, (*plain)(e)) // null leaves the digest empty
}

// Literal is a read-only file of a slot whose content is known.
func Literal(slot Slot, name string, content []byte) Entry {
	if content == nil {
		content = []byte{}
	}
	return Entry{
		Path: slot.Dir() + "/" + name, Slot: slot, Mode: ReadOnly, SHA256: canon.Sum(content), Size: int64(len(content)), Content: content,
	}
}

// Plan is the content of a workspace, except for AGENTS.md and context.json.
type Plan struct {
	Entries []Entry `json:"entries"` // by path
}

// NewPlan sorts and checks entries. Every defect is in the error: a path that
// leaves its slot, a mode that the slot does not have, two entries for one path,
// a file where another entry needs a directory, names that only case tells apart.
func NewPlan(entries []Entry) (Plan, error) {
	p := Plan{Entries: slices.Clone(entries)}
	if p.Entries == nil {
		p.Entries = []Entry{}
	}
	slices.SortStableFunc(p.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	var found []error
	folded := make(map[string]string, len(entries))
	for _, e := range p.Entries {
		if why := e.defect(); why != "" {
			found = append(found, fmt.Errorf("mount %q: %s", e.Path, why))
			continue
		}
		key := strings.ToLower(e.Path)
		switch other, taken := folded[key]; {
		case taken && other == e.Path:
			found = append(found, fmt.Errorf("mount %q is there twice", e.Path))
		case taken:
			found = append(found, fmt.Errorf("mounts %q and %q differ in case only, which some systems cannot keep apart", other, e.Path))
		default:
			folded[key] = e.Path
		}
	}
	for _, e := range p.Entries {
		if folded[strings.ToLower(e.Path)] == "" {
			continue // refused already
		}
		for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
			if other, taken := folded[strings.ToLower(dir)]; taken && !p.isDir(other) {
				found = append(found, fmt.Errorf("mount %q is below mount %q, which is no directory of the workspace", e.Path, other))
			}
		}
	}
	if len(found) > 0 {
		err := errors.Join(found...)
		return Plan{}, &workflow.Error{Code: workflow.CodeInvalidWorkspace, Msg: err.Error(), Hint: "mend the mounts that are named", Err: err}
	}
	return p, nil
}

// isDir reports whether other entries may be below the one at name.
func (p Plan) isDir(name string) bool {
	e, _ := p.Find(name)
	return e.IsDir()
}

// IsDir reports whether the entry is a directory made by the plan itself: a
// writable root without content.
func (e Entry) IsDir() bool {
	return e.Content == nil && e.Origin == "" && e.SHA256 == "" && !e.IsLink()
}

// IsLink reports whether the entry is a link to a work tree.
func (e Entry) IsLink() bool { return e.Slot == SlotRepos && e.Path != SlotRepos.Dir() }

// Find returns the entry at a path.
func (p Plan) Find(name string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(p.Entries, name, func(e Entry, name string) int { return strings.Compare(e.Path, name) })
	if !ok {
		return Entry{}, false
	}
	return p.Entries[i], true
}

// ReadOnly returns the paths of the plan that no tool may write: the read-only
// slots that are there, the entries of mode read-only in other slots, and the two
// rendered files. They are relative to the workspace and sorted.
func (p Plan) ReadOnly() []string {
	paths := []string{AgentsFile, ContextFile, SlotAgent.Dir()}
	for _, e := range p.Entries {
		switch {
		case !e.Slot.Writable():
			paths = append(paths, e.Slot.Dir())
		case e.Mode == ReadOnly:
			paths = append(paths, e.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Drift is an entry that is not what it was.
type Drift struct {
	Path string `json:"path"`
	Was  string `json:"was"` // digest; empty when it was not there
	Is   string `json:"is"`  // digest; empty when it is not there any more
}

// String tells the drift in one line.
func (d Drift) String() string {
	switch {
	case d.Was == "":
		return d.Path + " is new"
	case d.Is == "":
		return d.Path + " is gone"
	}
	return fmt.Sprintf("%s changed: it was sha256 %.12s and is %.12s", d.Path, d.Was, d.Is)
}

// Compare returns what changed from p to now, by path. Only entries with pinned
// content count.
func (p Plan) Compare(now Plan) []Drift {
	var out []Drift
	for _, e := range p.Entries {
		n, _ := now.Find(e.Path)
		if e.SHA256 != n.SHA256 {
			out = append(out, Drift{Path: e.Path, Was: e.SHA256, Is: n.SHA256})
		}
	}
	for _, n := range now.Entries {
		if _, ok := p.Find(n.Path); !ok && n.SHA256 != "" {
			out = append(out, Drift{Path: n.Path, Is: n.SHA256})
		}
	}
	slices.SortFunc(out, func(a, b Drift) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// defect says what is wrong with an entry by itself, or "".
func (e Entry) defect() string {
	if !e.Slot.known() {
		return fmt.Sprintf("there is no slot %q%s", e.Slot, didYouMean(string(e.Slot), names(declarable)))
	}
	if why := CheckPath(e.Path); why != "" {
		return why
	}
	dir := e.Slot.Dir()
	if e.Path != dir && !strings.HasPrefix(e.Path, dir+"/") {
		return fmt.Sprintf("a mount of slot %s has its path below %s/", e.Slot, dir)
	}
	switch {
	case e.Mode != ReadOnly && e.Mode != ReadWrite:
		return fmt.Sprintf("there is no mode %q; modes are read-only and read-write", e.Mode)
	case e.Mode == ReadWrite && !e.Slot.Writable():
		return fmt.Sprintf("slot %s is always read-only", e.Slot)
	case e.Slot == SlotRepos && e.Content != nil:
		return "repositories are linked, and nothing is written into them"
	case e.Content != nil && e.Origin != "":
		return "it has both a content and an origin"
	case e.Content != nil && e.SHA256 != canon.Sum(e.Content):
		return "its digest is not that of its content"
	}
	return ""
}

// CheckPath says why a path cannot be one inside the workspace, or "".
func CheckPath(p string) string {
	switch {
	case p == "":
		return "a path is missing"
	case strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 1 && p[1] == ':':
		return "the path has to be relative to the workspace"
	case strings.Contains(p, `\`):
		return "the path has to be written with /"
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "the path leaves the workspace"
	case path.Clean(p) != p:
		return fmt.Sprintf("the path is not in its shortest form, %q", path.Clean(p))
	case len(p) > 1024:
		return "the path is longer than 1,024 bytes"
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return "the path holds control characters or is not UTF-8"
	}
	return ""
}

func didYouMean(name string, names []string) string {
	if near := text.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func names[S ~string](in []S) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}
