package deliverable

import (
	"path"
	"strings"
)

const atContract = "/outputContract"

// contract reads where and how the result is delivered.
func (l *loader) contract() {
	c := &l.spec.Contract
	if c.Mode == "" {
		return // the schema has told it
	}
	if l.spec.Kind == KindResponse && c.Mode != ModeResponse {
		l.say(atContract+"/mode", FindingKind, "write mode: response-only", "kind response-only delivers no files")
		return
	}
	if c.Mode == ModeResponse {
		l.responseOnly()
		return
	}
	if c.Slot.Kind == "" {
		c.Slot.Kind = SlotDeliverables
	}
	l.slot(c.Slot)
	for i := range c.Files {
		l.file(index(atContract+"/files", i), &c.Files[i])
	}
	if c.Pages != nil && l.has(atContract+"/multiPage") {
		l.pages(c.Pages)
	}
	l.once()
	l.enough()
}

func (l *loader) responseOnly() {
	if k := l.spec.Kind; k == KindDocument || k == KindCustom {
		l.say(atContract+"/mode", FindingKind, "write mode: workspace-files", "kind %s is delivered in files", k)
	}
	for _, key := range []string{"files", "multiPage", "targetSlot"} {
		if at := atContract + "/" + key; l.has(at) {
			l.say(at, FindingKind, "leave it out, or write mode: workspace-files", "mode response-only has no %s", key)
		}
	}
}

func (l *loader) slot(s Slot) {
	at := atContract + "/targetSlot"
	switch {
	case s.Kind == SlotRepos && s.Repo == "":
		l.say(at, FindingValue, "write repoSlug", "the slot repos needs the name of a repository")
	case s.Kind == SlotDeliverables && s.Repo != "":
		l.say(at+"/repoSlug", FindingValue, "leave it out, or write kind: repos", "the slot deliverables has no repository")
	}
}

// contents are the kinds of content by the ending of a file.
var contents = map[string]string{".json": ContentJSON, ".md": ContentMarkdown, ".markdown": ContentMarkdown}

func (l *loader) file(at string, f *FileSpec) {
	if !l.has(at + "/required") {
		f.Required = true
	}
	if f.Content == "" {
		if f.Content = contents[strings.ToLower(path.Ext(f.Path))]; f.Content == "" {
			f.Content = ContentText
		}
	}
	l.path(at+"/canonicalPath", f.Path)
	for i, p := range f.Fallbacks {
		l.path(index(at+"/fallbackPaths", i), p)
	}
}

func (l *loader) path(at, p string) {
	if !CleanPath(p) {
		l.say(at, FindingPath, "write a relative path with slashes, without . and ..", "%q is not a path in the slot", p)
	} else if p == IndexFile && l.spec.Contract.Slot.Kind == SlotDeliverables {
		l.say(at, FindingPath, "choose another name", "%s is the index of what is delivered", IndexFile)
	}
}

func (l *loader) pages(p *PageSpec) {
	at := atContract + "/multiPage"
	if l.spec.Kind != KindDocument && l.spec.Kind != "" {
		l.say(at, FindingKind, "only kind document has pages", "kind %s has no multiPage", l.spec.Kind)
	}
	if p.Manifest != "" {
		l.path(at+"/manifestPath", p.Manifest)
	}
	switch {
	case !strings.Contains(p.Template, "<slug>"):
		l.say(at+"/pagePathTemplate", FindingPath, "write for example pages/<slug>.md", "the template has no <slug>")
	case !CleanPath(p.Path("x")):
		l.say(at+"/pagePathTemplate", FindingPath, "write a relative path with slashes, without . and ..", "%q is not a path in the slot", p.Template)
	}
}

// once refuses a path that stands for two files.
func (l *loader) once() {
	seen := map[string]bool{}
	claim := func(at, p string) {
		if seen[p] && p != "" {
			l.say(at, FindingPath, "give each file a path of its own", "%q is there twice", p)
		}
		seen[p] = true
	}
	for i, f := range l.spec.Contract.Files {
		at := index(atContract+"/files", i)
		claim(at+"/canonicalPath", f.Path)
		for j, p := range f.Fallbacks {
			claim(index(at+"/fallbackPaths", j), p)
		}
	}
	pages := l.spec.Contract.Pages
	if pages == nil {
		return
	}
	claim(atContract+"/multiPage/manifestPath", pages.Manifest)
	for i, page := range pages.Pages {
		claim(index(atContract+"/multiPage/pages", i), pages.Path(page.Slug))
	}
}

// enough refuses a contract that does not say which files are wanted, where
// nothing else can.
func (l *loader) enough() {
	c := l.spec.Contract
	json := 0
	for _, f := range c.Files {
		if f.Content == ContentJSON {
			json++
		}
	}
	switch {
	case l.spec.JSON() && json == 0:
		l.say(atContract, FindingKind, "name a file with contentKind json, or write mode: response-only", "kind %s names no JSON file", l.spec.Kind)
	case l.spec.Kind == KindDocument && len(c.Files) == 0 && c.Pages == nil:
		l.say(atContract, FindingKind, "name files, or multiPage", "kind document names no page")
	case l.spec.Kind == KindCustom && c.Slot.Kind == SlotRepos && len(c.Files) == 0:
		l.say(atContract, FindingKind, "name the files", "nothing says which files of the repository are delivered")
	}
	if r := l.spec.Rules; r.Max != nil {
		required := 0
		for _, f := range c.Files {
			if f.Required {
				required++
			}
		}
		if c.Pages != nil {
			required += len(c.Pages.Pages)
		}
		if required > *r.Max {
			l.say("/rules/maxArtifactCount", FindingContradiction, "", "the contract requires %d files, maxArtifactCount allows %d", required, *r.Max)
		}
	}
}
