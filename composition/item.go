package composition

import (
	"encoding/json"
	"errors"

	"github.com/tenonrun/tenon/composition/head"
	"github.com/tenonrun/tenon/composition/version"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
)

// Item is one version of something that can be named. ReadAgent, ReadSkill and
// ReadComposition make it from its text; where it comes from, the caller says.
type Item struct {
	Kind      Kind      `json:"kind"`
	Org       string    `json:"org,omitempty"` // of the tier org, where it has a name
	Slug      string    `json:"slug"`
	Version   string    `json:"version"`
	Revision  int       `json:"revision,omitempty"` // counts its published versions from 1; 0 when not known
	Tier      Tier      `json:"tier"`
	Lifecycle Lifecycle `json:"lifecycle"`
	// Digest is of Content, 64 hex digits.
	Digest string `json:"digest"`
	// Source is where it was read, for people: a path as it should be shown.
	Source string `json:"source,omitempty"`

	// Place orders sources of one tier: a smaller one is more specific.
	Place int `json:"-"`
	// Stored tells that it is a version that was kept, not a file as it is now.
	// Implicit tells that nobody published it: only its exact version leads to it.
	Stored   bool `json:"stored,omitempty"`
	Implicit bool `json:"implicit,omitempty"`
	// Content is the text of an agent, with LF; the canonical JSON of a composition;
	// for a skill the canonical JSON list of its files. The lifecycle of an agent or
	// a composition is not in it.
	Content []byte `json:"-"`

	// One of them is there, unless Err says why not.
	Agent       *Agent       `json:"agent,omitempty"`
	Skill       *Skill       `json:"skill,omitempty"`
	Composition *Composition `json:"composition,omitempty"`

	Err      error         `json:"-"` // source.Errors: it cannot be used
	Warnings source.Errors `json:"-"`
}

// Ref is the exact reference to the item.
func (it *Item) Ref() Ref { return Ref{Org: it.Org, Slug: it.Slug, Version: it.Version} }

// Name is the name without the version.
func (it *Item) Name() string { return it.Ref().Name() }

// Description is the one of its agent, skill or composition.
func (it *Item) Description() string {
	switch {
	case it.Agent != nil:
		return it.Agent.Description
	case it.Skill != nil:
		return it.Skill.Description
	case it.Composition != nil:
		return it.Composition.Description
	}
	return ""
}

// Position is a finding without words at a place of the item's file.
func (it *Item) Position(pointer string) source.Error {
	e := source.Error{File: it.Source, Pointer: pointer}
	var doc *source.Document
	switch {
	case it.Agent != nil:
		doc = it.Agent.doc
	case it.Skill != nil:
		doc = it.Skill.doc
	case it.Composition != nil:
		doc = it.Composition.doc
	}
	if doc != nil {
		return doc.Locate(e)
	}
	return e
}

// finish fills in what follows from the content and from what was read.
func (it *Item) finish(number string, lifecycle Lifecycle, r *reader) {
	it.Digest = canon.Sum(it.Content)
	it.Version, it.Lifecycle = number, lifecycle
	if number == "" {
		it.Version, it.Implicit = version.Implicit(it.Digest), true
	}
	if lifecycle == "" {
		it.Lifecycle = Published
	}
	it.Err, it.Warnings = r.sorted(), r.warned
}

// fail is an item that cannot be read at all; its name is the best guess.
func (it Item) fail(err error) Item {
	it.Digest = canon.Sum(it.Content)
	it.Version, it.Lifecycle, it.Err = version.Implicit(it.Digest), Published, err
	return it
}

// Skill is a folder with instructions for a kind of work.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Files       []File `json:"files"` // by path; SKILL.md is one of them

	doc *source.Document
}

// File is a file of a skill.
type File struct {
	Path       string `json:"path"` // relative to the folder, slashes
	SHA256     string `json:"sha256"`
	Size       int64  `json:"sizeBytes"`
	Executable bool   `json:"executable,omitempty"`
}

// SkillFile is the name of the file that makes a folder a skill.
const SkillFile = "SKILL.md"

// ReadSkill makes an item of a skill. Data is the text of SKILL.md, which came from
// the file called name; files are all files of the folder, by path. Slug is the
// name of the folder, below that of the skill around it for a nested one.
func ReadSkill(name, slug string, data []byte, files []File) Item {
	it := Item{Kind: KindSkill, Slug: slug, Source: name}
	content, err := canon.Canonical(mustJSON(struct {
		Files []File `json:"files"`
	}{files}))
	if err != nil {
		return it.fail(source.Errors{{File: name, Code: FindingValue, Message: "the names of its files cannot be listed: " + err.Error(), Hint: "name files in UTF-8"}})
	}
	it.Content = content
	doc, _, loose, err := head.Split(name, unix(data))
	if err != nil {
		return it.fail(err)
	}
	r := &reader{doc: doc, warned: loose}
	r.shape(KindSkill)
	r.unknown(KindSkill)
	var front struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Version     json.RawMessage `json:"version"`
		Lifecycle   Lifecycle       `json:"lifecycle"`
	}
	if err := doc.Decode(&front); err != nil && len(r.found) == 0 {
		return it.fail(err)
	}
	if front.Description == "" {
		r.say("", FindingShape, "write what it is for: agents choose a skill by it", "the skill has no description")
	}
	it.named(r, front.Name)
	it.Skill = &Skill{Name: it.Slug, Description: front.Description, Files: files, doc: doc}
	it.finish(r.version(front.Version), front.Lifecycle, r)
	return it
}

// named gives a skill the name that its front matter says, in place of that of its
// folder.
func (it *Item) named(r *reader, name string) {
	parent, folder := "", it.Slug
	for i := len(it.Slug) - 1; i >= 0; i-- {
		if it.Slug[i] == '/' {
			parent, folder = it.Slug[:i+1], it.Slug[i+1:]
			break
		}
	}
	if name == "" {
		r.say("", FindingShape, "write name: "+folder, "the skill has no name")
		return
	}
	if name != folder {
		r.warn("/name", "give both the same name", "the skill is called %s, and its folder %s", name, folder)
	}
	if err := CheckSlug(KindSkill, parent+name); err != nil {
		r.say("/name", FindingValue, "", "%v", err)
		return
	}
	it.Slug = parent + name
}

// ParseFiles reads the content of a skill's item.
func ParseFiles(content []byte) ([]File, error) {
	var list struct {
		Files []File `json:"files"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, err
	}
	if list.Files == nil {
		return nil, errors.New("the list of the files of a skill is empty")
	}
	return list.Files, nil
}

// mustJSON encodes a value that always can be.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
