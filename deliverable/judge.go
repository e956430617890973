package deliverable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenonrun/tenon/internal/answer"
	"github.com/tenonrun/tenon/internal/schema"
)

// judge judges one harvest.
type judge struct {
	spec     *Spec
	harvest  *Harvest
	content  Content
	used     map[string]bool // paths that are dealt with
	faults   []Fault
	warnings []string
}

func (j *judge) fault(reason Reason, path, format string, args ...any) {
	j.faults = append(j.faults, Fault{Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)})
}

// response judges the last message.
func (j *judge) response() {
	text := j.harvest.Text
	j.content.Text = text
	if strings.TrimSpace(text) == "" {
		j.fault(EmptyResponse, "", "the turn ended without a message")
		return
	}
	if !j.spec.JSON() {
		return
	}
	var first []Fault
	for _, value := range answer.Values(text) {
		faults := j.spec.value("", value)
		if len(faults) == 0 {
			j.content.Value = value
			return
		}
		if first == nil {
			first = faults
		}
	}
	if first == nil {
		j.fault(MalformedJSON, "", "the last message holds no JSON")
	}
	j.faults = append(j.faults, first...)
}

// files judges what is in the slot.
func (j *judge) files() {
	main := j.spec.mainFile()
	for i, f := range j.spec.Contract.Files {
		j.declared(f, i == main)
	}
	if pages := j.spec.Contract.Pages; pages != nil {
		j.pages(pages)
	}
	for _, path := range j.harvest.Listed {
		if j.used[path] {
			continue
		}
		j.used[path] = true
		if f, ok := j.harvest.file(path); ok {
			j.take(f)
		} else {
			j.missing(MissingFile, path, path)
		}
	}
	if j.spec.Kind == KindCustom && !j.harvest.Indexed && len(j.spec.Contract.Files) == 0 {
		for _, f := range j.harvest.Files {
			j.take(f)
		}
		for _, r := range j.harvest.Refused {
			j.fault(r.Reason, r.Path, "%s", r.Detail)
		}
	}
	j.count()
	slices.SortFunc(j.content.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// mainFile is the file that contentSchema is about: the first JSON file that is
// required, else the first one; -1 for none.
func (s *Spec) mainFile() int {
	isJSON := func(f FileSpec) bool { return f.Content == ContentJSON }
	if i := slices.IndexFunc(s.Contract.Files, func(f FileSpec) bool { return isJSON(f) && f.Required }); i >= 0 {
		return i
	}
	return slices.IndexFunc(s.Contract.Files, isJSON)
}

func (j *judge) take(f File) {
	j.used[f.Path] = true
	if !slices.ContainsFunc(j.content.Files, func(other File) bool { return other.Path == f.Path }) {
		j.content.Files = append(j.content.Files, f)
	}
}

// declared judges a file of the contract: the first of its places that is right
// counts.
func (j *judge) declared(spec FileSpec, main bool) {
	var first []Fault
	found := false
	for _, path := range spec.Paths() {
		f, ok := j.harvest.file(path)
		if !ok {
			continue
		}
		faults := j.spec.check(f, spec.Content, main)
		if len(faults) == 0 {
			j.accept(f, spec, main)
			return
		}
		if !found {
			found, first = true, faults
			j.take(f)
		}
	}
	for _, path := range spec.Paths() {
		j.used[path] = true
	}
	switch {
	case found:
		j.faults = append(j.faults, first...)
	case spec.Required:
		j.missing(MissingFile, spec.Path, spec.Paths()...)
	case j.refused(spec.Paths()):
		j.missing(MissingFile, spec.Path, spec.Paths()...)
	}
}

// accept takes a file in, and leaves its other places alone.
func (j *judge) accept(f File, spec FileSpec, main bool) {
	for _, path := range spec.Paths() {
		j.used[path] = true
	}
	j.take(f)
	if f.Path != spec.Path {
		j.warnings = append(j.warnings, fmt.Sprintf("%s was taken in place of %s", f.Path, spec.Path))
	}
	if main && j.spec.JSON() {
		j.content.Value = bytes.TrimSpace(f.Data)
	}
	if j.harvest.Indexed && !slices.Contains(j.harvest.Listed, f.Path) {
		j.warnings = append(j.warnings, fmt.Sprintf("%s is not in %s", f.Path, IndexFile))
	}
}

func (j *judge) refused(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { _, ok := j.harvest.refusal(p); return ok })
}

// missing says what is known of a file that was not taken in.
func (j *judge) missing(reason Reason, path string, places ...string) {
	for _, place := range places {
		if r, ok := j.harvest.refusal(place); ok {
			if r.Reason == MissingFile {
				r.Reason = reason
			}
			j.fault(r.Reason, r.Path, "%s", r.Detail)
			return
		}
	}
	slot := j.spec.Contract.Slot
	for _, place := range places {
		if at, ok := j.harvest.Elsewhere[place]; ok {
			j.fault(WrongTargetSlot, path, "it is at %s and has to be at %s/%s", at, slot, path)
			return
		}
	}
	j.fault(reason, path, "there is no %s/%s", slot, path)
}

func (j *judge) pages(spec *PageSpec) {
	if spec.Manifest != "" {
		j.declared(FileSpec{Path: spec.Manifest, Required: true, Content: ContentJSON}, false)
		j.content.Manifest = spec.Manifest
	}
	for _, page := range spec.Pages {
		path := spec.Path(page.Slug)
		j.used[path] = true
		f, ok := j.harvest.file(path)
		switch {
		case !ok:
			j.missing(MissingPage, path, path)
			continue
		case len(bytes.TrimSpace(f.Data)) == 0:
			j.fault(MissingPage, path, "the page is empty")
		case !utf8.Valid(f.Data):
			j.fault(MissingPage, path, "the page is not UTF-8 text")
		default:
			j.content.Pages = append(j.content.Pages, page)
		}
		j.take(f)
	}
}

// count holds the number of files against the rules.
func (j *judge) count() {
	least := 1
	if j.spec.Rules.Min != nil {
		least = *j.spec.Rules.Min
	}
	n := len(j.content.Files)
	if n < least && len(j.faults) == 0 {
		j.fault(MissingFile, "", "%d files are in %s, at least %d have to be", n, j.spec.Contract.Slot, least)
	}
	if most := j.spec.Rules.Max; most != nil && n > *most {
		j.fault(SchemaViolation, "", "%d files are delivered, at most %d may be", n, *most)
	}
}

// check judges the content of a file.
func (s *Spec) check(f File, content string, main bool) []Fault {
	switch {
	case content == ContentJSON && main:
		return s.value(f.Path, f.Data)
	case content == ContentJSON:
		if err := strictJSON(f.Data); err != nil {
			return []Fault{{Reason: MalformedJSON, Path: f.Path, Message: err.Error()}}
		}
	case !utf8.Valid(f.Data):
		return []Fault{{Reason: SchemaViolation, Path: f.Path, Message: "it is not UTF-8 text"}}
	case s.Kind != KindCustom && len(bytes.TrimSpace(f.Data)) == 0:
		return []Fault{{Reason: MissingFile, Path: f.Path, Message: "the file is empty"}}
	}
	return nil
}

// value judges the JSON that the schema is about.
func (s *Spec) value(path string, raw []byte) []Fault {
	if err := strictJSON(raw); err != nil {
		return []Fault{{Reason: MalformedJSON, Path: path, Message: err.Error()}}
	}
	var out []Fault
	for _, one := range append([]*schema.Schema{s.compiled}, s.further...) {
		if one == nil {
			continue
		}
		for _, p := range one.Validate(json.RawMessage(raw)) {
			f := Fault{Reason: SchemaViolation, Path: path, Pointer: p.Pointer, Message: p.Message}
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}
