package permission

import (
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/pathid"
)

// Lists are the permissions of one file.
type Lists struct {
	Rules       []Rule
	Directories []Entry // additional ones, as written
	Mode        Entry   // as written; empty when not said
	Warnings    []Warning
	Problems    []Problem
}

// Entry is one text of a file.
type Entry struct {
	Text   string
	Source Source
}

// Problem says what is wrong in a file of permissions.
type Problem struct {
	Source  Source
	Message string // with what to do
}

func (p Problem) String() string { return p.Source.String() + ": " + p.Message }

// Origin says where permissions were read.
type Origin struct {
	File   string
	Owner  Owner
	Anchor string // absolute directory that a leading single "/" means
	Home   string // what "~" means
	// Line gives the line of a value by its JSON pointer, from 1; nil when lines are
	// not known.
	Line func(pointer string) int
	// Pointer is where the permissions stand in the file, such as "/permissions".
	Pointer string
}

func (o Origin) at(pointer string) Source {
	s := Source{Name: o.File, Owner: o.Owner}
	if o.Line != nil {
		s.Line = o.Line(o.Pointer + pointer)
	}
	return s
}

// ReadLists reads the value of "permissions" of a configuration or of a
// .claude/settings.json, decoded from JSON or YAML: allow, ask and deny are lists
// of rules; directories (additionalDirectories) and mode (defaultMode) may be
// there. A list that is wrong is a Problem; the rest is read. A deny that cannot
// be read is a Problem too, so that nobody goes on without it unawares.
func ReadLists(value any, o Origin) Lists {
	var l Lists
	if value == nil {
		return l
	}
	m, ok := value.(map[string]any)
	if !ok {
		l.problem(o.at(""), "permissions is not an object: write {allow: [], ask: [], deny: []}")
		return l
	}
	for _, list := range [...]struct {
		key    string
		effect Effect
	}{{"deny", Deny}, {"ask", Ask}, {"allow", Allow}} {
		for i, e := range l.texts(m, list.key, o) {
			r, err := ParseRule(list.effect, e.Text, e.Source)
			if err != nil {
				l.problem(e.Source, fmt.Sprintf("%s %d: %v", list.key, i+1, err))
				continue
			}
			r.Anchor, r.Home = o.Anchor, o.Home
			l.Rules = append(l.Rules, r)
		}
	}
	for _, key := range [...]string{"directories", "additionalDirectories"} {
		l.Directories = append(l.Directories, l.texts(m, key, o)...)
	}
	for _, key := range [...]string{"mode", "defaultMode"} {
		if v, ok := m[key]; ok && v != nil {
			s, text := v.(string)
			if !text {
				l.problem(o.at("/"+key), key+" is not a text")
				continue
			}
			l.Mode = Entry{Text: s, Source: o.at("/" + key)}
		}
	}
	return l
}

func (l *Lists) problem(s Source, message string) {
	l.Problems = append(l.Problems, Problem{Source: s, Message: message})
}

func (l *Lists) texts(m map[string]any, key string, o Origin) []Entry {
	v, ok := m[key]
	if !ok || v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		l.problem(o.at("/"+key), key+" is not a list of texts")
		return nil
	}
	var out []Entry
	for i, item := range list {
		source := o.at(fmt.Sprintf("/%s/%d", key, i))
		s, ok := item.(string)
		if !ok {
			l.problem(source, fmt.Sprintf("%s %d is not a text", key, i+1))
			continue
		}
		out = append(out, Entry{Text: s, Source: source})
	}
	return out
}

// ReadMode reads the name of a mode, ours or one of .claude/settings.json. access
// is AccessRead where the mode says so and empty otherwise. What a mode asks for
// beyond ours is not given: note tells.
func ReadMode(name string) (mode Mode, access Access, note string, err error) {
	switch name {
	case "", "default", "acceptEdits":
		return ModeDefault, "", "", nil
	case "ask-writes":
		return ModeAskWrites, "", "", nil
	case "locked", "dontAsk":
		return ModeLocked, "", "", nil
	case "plan":
		return ModeDefault, AccessRead, "", nil
	case "bypassPermissions", "auto":
		return ModeDefault, "", "the mode " + name + " is taken for default: write allow rules for what shall not be asked about", nil
	}
	return ModeDefault, "", "", fmt.Errorf("there is no mode %q: write default, ask-writes or locked", name)
}

// Directory places an additional directory as it is written in a file: "~/x",
// absolute, or relative to the root. Only a directory that can be shown as what it
// is may be granted.
func Directory(e Entry, root, home string) (string, error) {
	text := e.Text
	if text == "~" || strings.HasPrefix(text, "~/") {
		text = home + text[1:]
	}
	p := pathid.Place(text, root, pathid.ReadingFamily(root, "", text))
	if p.Kind != pathid.AtPath {
		return "", fmt.Errorf("the directory %q cannot be granted: %s%s", e.Text, p.Reason, p.Word)
	}
	if err := pathid.CheckGrant(p.Path); err != nil {
		return "", fmt.Errorf("the directory %q cannot be granted: %w", e.Text, err)
	}
	return p.Path, nil
}
