package load

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// Config is what a document is judged with.
type Config struct {
	Pieces *piece.Registry // required
	// Env holds roles and providers; Level and Declared are set by Load.
	Env   piece.Env
	Draft bool // format 1 without a version is accepted
	// AnyVersion accepts a version that is wrong, for a document that is about
	// to be published anew.
	AnyVersion bool
	Compat     Compat
	// Workflow tells whether the workflow of a node of that kind exists; its
	// error, told after "workflow NAME: ", says why not. Nil does not ask.
	Workflow func(workflow.WorkflowParams) error
}

// Compat is what a user, not a repository, may relax.
type Compat struct {
	ShellInterpolation bool // interpolation in a shell text is a warning
}

// Workflow is a document that can be run.
type Workflow struct {
	Definition *workflow.Definition
	// Document is the canonical JSON text without the version: what the store
	// keeps. Its digest is the identity.
	Document []byte
	Digest   workflow.Digest
	Source   *source.Document
	Warnings []Issue
	Children []Child
	Nodes    []NodeInfo // of every body
}

// Child is a workflow that a node runs as a child.
type Child struct {
	Ref     string // name under which it is pinned
	Name    string // one of Name and File is set
	File    string // relative to the document
	Pointer string // of the node's params
}

// Load reads a document that came from the file called name. When the document
// is not valid the error is of type Issues and holds all of its defects.
func Load(name string, data []byte, cfg Config) (*Workflow, error) {
	c := &checker{cfg: cfg, file: name}
	var broken source.Errors
	doc, err := source.Parse(name, data, source.Limits{})
	switch {
	case errors.As(err, &broken):
		for _, e := range broken {
			c.issues = append(c.issues, fromSource(e))
		}
		if doc == nil {
			return nil, Issues(c.issues)
		}
	case err != nil:
		return nil, Issues{{Code: workflow.CodeInvalidDefinition, File: name, Message: err.Error()}}
	}
	c.doc = doc
	c.check()
	document, digest := c.identity()
	if len(c.issues) > 0 {
		return nil, Issues(c.finish(c.issues))
	}
	def, err := Decode(document)
	if err != nil {
		return nil, Issues{{Code: workflow.CodeInvalidDefinition, File: name, Message: err.Error()}}
	}
	def.Version, _ = str(c.fields["version"])
	w := &Workflow{
		Definition: def, Document: document, Digest: digest, Source: doc,
		Warnings: c.finish(c.warnings), Children: c.children, Nodes: c.nodes(),
	}
	return w, nil
}

// Decode reads a stored document, which was valid when it was stored.
func Decode(document []byte) (*workflow.Definition, error) {
	def := new(workflow.Definition)
	if err := json.Unmarshal(document, def); err != nil {
		return nil, fmt.Errorf("decoding workflow: %w", err)
	}
	return def, nil
}

func fromSource(e source.Error) Issue {
	return Issue{
		Code: workflow.CodeInvalidDefinition, File: e.File, Line: e.Line, Column: e.Column,
		Pointer: e.Pointer, Message: e.Message, Hint: e.Hint, Excerpt: e.Excerpt,
	}
}

// identity makes the canonical text without the version, and compares the
// version that is written with its digest.
func (c *checker) identity() ([]byte, workflow.Digest) {
	if c.fields == nil {
		return nil, ""
	}
	rest := make(map[string]json.RawMessage, len(c.fields))
	for key, value := range c.fields {
		if key != "version" {
			rest[key] = value
		}
	}
	raw, err := json.Marshal(rest)
	if err == nil {
		raw, err = canon.Canonical(raw)
	}
	if err != nil {
		c.fail(workflow.CodeInvalidDefinition, "", err.Error(), "")
		return nil, ""
	}
	digest := workflow.Digest(canon.Sum(raw))
	version, written := c.fields["version"]
	text, _ := str(version)
	switch {
	case !written && c.level == 1 && !c.cfg.Draft:
		c.fail(workflow.CodeVersionMissing, "", "the document has no version: it is a draft",
			fmt.Sprintf("publish it with: tenon validate --write-version %s", c.file))
	case c.cfg.AnyVersion:
	case written && text != string(digest) && len(text) == len(digest):
		c.fail(workflow.CodeHashMismatch, "/version", fmt.Sprintf("version is %s, but the digest of this content is %s", text, digest),
			fmt.Sprintf("if the change is meant: tenon validate --write-version %s", c.file))
	}
	return raw, digest
}
