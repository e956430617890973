package project

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed config.schema.json
var configSchema []byte

// Schema returns the JSON Schema of configuration files.
func Schema() []byte { return slices.Clone(configSchema) }

var compiled = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(configSchema) })

// layer is one source of settings: its leaves by dotted key.
type layer struct {
	name   string // shown as the origin
	leaves map[string]leaf
}

// leaf is one value of a layer. Lists are leaves.
type leaf struct {
	path []string
	raw  json.RawMessage
	from string
}

type layers struct{ defaults, user, project, env, flags layer }

func (l layer) text(key string) string {
	var s string
	if json.Unmarshal(l.leaves[key].raw, &s) != nil {
		return ""
	}
	return s
}

// userOnly are keys that a repository has no say in.
var userOnly = []string{"compat", "biomes", "org"}

// readLayers reads every layer of the configuration.
func (p *Project) readLayers() (layers, error) {
	var all layers
	var err error
	all.defaults = layer{name: "default", leaves: map[string]leaf{}}
	all.defaults.flatten(nil, json.RawMessage(defaults), func(string) string { return "default" })
	if file := userFile(p.opts); file != "" {
		if all.user, _, err = p.readFile(file, true); err != nil {
			return all, err
		}
	}
	var data []byte
	if all.project, data, err = p.readFile(filepath.Join(p.Root, Folder, "config.yaml"), false); err != nil {
		return all, err
	}
	if data != nil {
		p.digest = workflow.Digest(canon.Sum(data))
	}
	if all.env, err = p.readEnv(); err != nil {
		return all, err
	}
	all.flags, err = p.readFlags()
	return all, err
}

// readFile reads one configuration file. A file that does not exist is empty. A
// key that is not known is an error, for a user a warning.
func (p *Project) readFile(file string, user bool) (layer, []byte, error) {
	l := layer{name: file, leaves: map[string]leaf{}}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return l, nil, nil
	}
	if err != nil {
		return l, nil, fmt.Errorf("reading configuration: %w", err)
	}
	doc, err := source.Parse(file, data, source.Limits{})
	if err != nil {
		return l, nil, invalid(err)
	}
	if string(doc.JSON()) == "null" { // only comments
		return l, data, nil
	}
	found, err := check(doc)
	if err != nil {
		return l, nil, err
	}
	var fatal source.Errors
	for _, e := range found {
		if user && e.Code == unknownKey {
			e.Message += "; it is ignored"
			p.Warnings = append(p.Warnings, e)
			continue
		}
		fatal = append(fatal, e)
	}
	if !user {
		fatal = append(fatal, forbidden(doc)...)
	}
	if len(fatal) > 0 {
		return l, nil, invalid(fatal)
	}
	l.flatten(nil, doc.JSON(), func(pointer string) string {
		at, _ := doc.KeyAt(pointer)
		return at.String()
	})
	if user {
		delete(l.leaves, "project") // it would make all projects one
	}
	return l, data, nil
}

// unknownKey is the code of a key that is not known.
const unknownKey = "unknown_key"

// check judges a configuration file by the schema.
func check(doc *source.Document) (source.Errors, error) {
	s, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("compiling the schema of configuration: %w", err)
	}
	var out source.Errors
	for _, problem := range s.Validate(json.RawMessage(doc.JSON())) {
		if problem.Keyword == "type" && strings.HasSuffix(problem.Message, "have null") {
			continue // see flatten
		}
		e := source.Error{Pointer: problem.Pointer, Code: "configuration", Message: problem.Message}
		if near := text.Nearest(problem.Key, problem.Allowed); near != "" {
			e.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		if problem.Keyword == "additionalProperties" {
			e.Code = unknownKey
			if e.Hint == "" {
				e.Hint = "known: " + strings.Join(problem.Allowed, ", ")
			}
			out = append(out, doc.LocateKey(e))
			continue
		}
		out = append(out, doc.Locate(e))
	}
	slices.SortStableFunc(out, func(a, b source.Error) int { return (a.Line-b.Line)*10_000 + a.Column - b.Column })
	return out, nil
}

// forbidden finds what only a user may configure.
func forbidden(doc *source.Document) source.Errors {
	var out source.Errors
	for _, key := range userOnly {
		if _, ok := doc.KeyAt("/" + key); ok {
			out = append(out, doc.LocateKey(source.Error{
				Pointer: "/" + key, Code: unknownKey, Message: fmt.Sprintf("a repository may not set %q", key), Hint: "it belongs to your own configuration",
			}))
		}
	}
	return out
}

func invalid(err error) error {
	return &workflow.Error{Code: workflow.CodeInvalidArguments, Msg: err.Error(), Err: err}
}

// flatten adds the leaves of a JSON value.
func (l layer) flatten(path []string, raw json.RawMessage, from func(pointer string) string) {
	var fields map[string]json.RawMessage
	if len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &fields) == nil {
		for key, value := range fields {
			l.flatten(append(slices.Clone(path), key), value, from)
		}
		return
	}
	if string(raw) == "null" {
		return // a key without a value, its values being commented out
	}
	pointer := ""
	for _, key := range path {
		pointer += "/" + pointerEscaper.Replace(key)
	}
	l.leaves[strings.Join(path, ".")] = leaf{path: path, raw: raw, from: from(pointer)}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// readEnv reads the settings that the environment overrides: TENON_ and the key
// in capitals, such as TENON_LIMITS_MAX_TOKENS.
func (p *Project) readEnv() (layer, error) {
	l := layer{name: "environment", leaves: map[string]leaf{}}
	for _, key := range scalars {
		name := envName(key)
		if value := p.opts.Getenv(name); value != "" {
			if err := l.set(key, value, "environment "+name); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

func (p *Project) readFlags() (layer, error) {
	l := layer{name: "flag", leaves: map[string]leaf{}}
	for key, value := range p.opts.Flags {
		if err := l.set(key, value, "flag"); err != nil {
			return l, err
		}
	}
	return l, nil
}

// scalars are the single settings that environment and flags may give.
var scalars = []string{
	"project", "limits.maxTokens", "limits.maxCostUsd", "limits.maxDuration", "limits.timeout", "limits.idleTimeout",
	"limits.concurrency", "permissions.mode", "artifacts.maxBytes", "launch.change", "launch.tickets",
}

// envName is the variable of a key: limits.maxTokens → TENON_LIMITS_MAX_TOKENS.
func envName(key string) string {
	var b strings.Builder
	b.WriteString("TENON_")
	for i, r := range key {
		switch {
		case r == '.':
			b.WriteByte('_')
			continue
		case r >= 'A' && r <= 'Z' && i > 0 && key[i-1] >= 'a' && key[i-1] <= 'z':
			b.WriteByte('_')
		}
		b.WriteString(strings.ToUpper(string(r)))
	}
	return b.String()
}

// set gives one setting from text: JSON when the schema takes it, else a string.
func (l layer) set(key, value, from string) error {
	s, err := compiled()
	if err != nil {
		return fmt.Errorf("compiling the schema of configuration: %w", err)
	}
	path := strings.Split(key, ".")
	quoted, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("reading %s: %w", from, err)
	}
	var told schema.Problems
	for _, raw := range []json.RawMessage{json.RawMessage(value), quoted} {
		if !json.Valid(raw) {
			continue
		}
		problems := s.Validate(nest(path, raw))
		if len(problems) == 0 {
			l.leaves[key] = leaf{path: path, raw: raw, from: from}
			return nil
		}
		if told == nil {
			told = problems
		}
	}
	return workflow.Errorf(workflow.CodeInvalidArguments, "%s: %s is %q: %s", from, key, value, told[0].Message)
}

// nest puts a value below a path of keys.
func nest(path []string, raw json.RawMessage) json.RawMessage {
	for _, key := range slices.Backward(path) {
		name, _ := json.Marshal(key) // a string always encodes
		raw = json.RawMessage("{" + string(name) + ":" + string(raw) + "}")
	}
	return raw
}
