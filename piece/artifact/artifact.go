// Package artifact is the piece that writes an artifact.
//
// Holds: the kind artifact.
//
// Guarantees: a visit writes at most one revision, however often it is run; what
// is refused is not stored. Known secrets are taken out before anything is kept.
// The output holds a receipt, never the content. A file is read from inside the
// work tree only.
//
// Does not: keep artifacts itself, say what a run's own collection is, or judge
// which files may be read.
package artifact

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

//go:embed schema/*.json
var schemas embed.FS

// Kind is the kind of the piece.
const Kind = "artifact"

// Config sets up the piece.
type Config struct {
	// Open returns a collection for a run, and its name: "" is the run's own. It
	// must be set before a node is run.
	Open func(ctx context.Context, run workflow.RunID, name string) (string, artifact.Collection, error)
	// File reads a file of a repository of the run: a path relative to its work tree,
	// which does not lead out of it. What is refused has a code of artifacts, or
	// workflow.CodeToolDenied. It must be set before a node reads one.
	File func(ctx context.Context, tree, path string) ([]byte, error)
	// Redactor takes secrets out; nil takes out what looks like one.
	Redactor *text.Redactor
}

// Pieces returns the kinds of this package.
func Pieces(c Config) []piece.Piece {
	return []piece.Piece{{Kind: Kind, Schema: params.Schemas(schemas, Kind), Describe: describe, Run: c.run}}
}

type settings struct {
	ID         string          `json:"id"`
	Title      string          `json:"title"`
	Mime       string          `json:"mime"`
	Language   string          `json:"language"`
	Content    json.RawMessage `json:"content"`
	From       source          `json:"from"`
	Collection string          `json:"collection"`
}

// source is where a content comes from: an expression, or a file of a repository.
type source struct {
	expr string
	fileSource
}

type fileSource struct {
	File         string `json:"file"`
	RepositoryID string `json:"repositoryId"`
}

// UnmarshalJSON reads a text or an object.
func (s *source) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		return json.Unmarshal(raw, &s.fileSource)
	}
	return json.Unmarshal(raw, &s.expr)
}

func describe(raw json.RawMessage, env piece.Env) (piece.Traits, []piece.Problem) {
	traits := piece.Traits{Outcomes: []string{"next", "failed"}, Effect: workflow.EffectRead}
	p, err := params.Read[settings](raw)
	if err != nil {
		return traits, []piece.Problem{{Code: workflow.CodeInvalidPieceParams, Message: err.Error()}}
	}
	var problems []piece.Problem
	add := func(pointer string, err error) {
		if err == nil {
			return
		}
		defect := piece.Problem{Code: workflow.CodeOf(err), Pointer: pointer, Message: err.Error()}
		var coded *workflow.Error
		if errors.As(err, &coded) {
			defect.Message, defect.Hint = coded.Msg, coded.Hint
		}
		problems = append(problems, defect)
	}
	if !params.Open(p.ID) {
		add("/id", artifact.CheckID(p.ID))
	}
	if p.Collection != "" && !params.Open(p.Collection) {
		add("/collection", artifact.CheckName(p.Collection))
	}
	if p.From.File != "" && !params.Open(p.From.File) {
		add("/from/file", inside(p.From.File))
	}
	if p.From.expr != "" {
		if _, err := expr.Parse(p.From.expr, env.Level); err != nil {
			problems = append(problems, piece.Problem{Code: workflow.CodeInvalidExpression, Pointer: "/from", Message: err.Error()})
		}
	}
	return traits, problems
}

// inside refuses a path that is not one inside a work tree.
func inside(file string) error {
	if filepath.IsLocal(filepath.FromSlash(file)) && file != "." {
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalidPieceParams, "%q is no path of a file inside the work tree", file).
		WithHint("write it relative to the repository, without .. that lead out of it")
}

func (cfg Config) run(ctx context.Context, c piece.Context) (workflow.Settled, error) {
	f := c.Frame()
	p, err := params.Filled[settings](f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	at, collection, err := cfg.Open(ctx, f.Run, p.Collection)
	if err != nil {
		return refused(f, err)
	}
	d, err := cfg.draft(ctx, c, p, collection)
	if err != nil {
		return refused(f, err)
	}
	receipt, err := collection.Put(ctx, d)
	if err != nil {
		return refused(f, err)
	}
	made := receipt.Descriptor.Made(at)
	return workflow.Settled{
		Outcome: "next", Made: made, Warnings: warnings(f, receipt),
		Output: result.Value(struct {
			*workflow.Made
			Overwrote []int64 `json:"overwrotePersonVersions,omitempty"`
		}{made, receipt.PersonVersions}),
		History: fmt.Sprintf("artifact %s version %d: %s, %d bytes", made.ID, made.Version, made.Kind, made.Bytes),
	}, nil
}

func warnings(f piece.Frame, r artifact.Receipt) []string {
	if r.Note == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s: version %d of artifact %s, which a person had written, is now replaced by version %d; tenon artifact diff shows both",
		f.Node, r.PersonVersions[len(r.PersonVersions)-1], r.Descriptor.ID, r.Descriptor.Version)}
}

// refused settles a visit whose artifact cannot be taken; what is wrong with the
// place of the artifacts is an error, and the visit is tried again.
func refused(f piece.Frame, err error) (workflow.Settled, error) {
	switch code := workflow.CodeOf(err); code {
	case workflow.CodeInvalidArtifactID, workflow.CodeInvalidArtifact, workflow.CodeArtifactTooLarge, workflow.CodeArtifactConflict,
		workflow.CodeInvalidExpression, workflow.CodeSeqOutOfRange, workflow.CodeInvalidArguments, workflow.CodeInvalidPieceParams, workflow.CodeToolDenied:
		return result.Failed("failed", code, f.Node+": "+err.Error()), nil
	}
	return workflow.Settled{}, fmt.Errorf("%s: %w", f.Node, err)
}

// draft makes what is written. What the params leave out stays as it was.
func (cfg Config) draft(ctx context.Context, c piece.Context, p settings, to artifact.Store) (artifact.Draft, error) {
	f := c.Frame()
	var content string
	var isJSON bool
	var err error
	if p.From.File != "" {
		content, err = cfg.fromFile(ctx, f, &p, to)
	} else {
		content, isJSON, err = written(ctx, c, p)
	}
	d := artifact.Draft{ID: p.ID, Title: p.Title, Mime: p.Mime, Language: p.Language, Content: content, Key: artifact.Key(string(f.Run), string(f.Visit))}
	if err != nil {
		return d, err
	}
	if isJSON {
		d.Mime = cmp.Or(d.Mime, "application/json")
	}
	if d.Title == "" || d.Mime == "" {
		was, err := to.Get(ctx, d.ID)
		if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound {
			return d, err
		}
		d.Title, d.Mime = cmp.Or(d.Title, was.Title, d.ID), cmp.Or(d.Mime, was.Mime, "text/plain")
	}
	d.Title = cfg.Redactor.Redact(d.Title)
	if artifact.KindOf(d.Mime) != artifact.Image { // whose letters mean nothing
		d.Content = cfg.Redactor.Redact(d.Content)
	}
	return d, nil
}

// Source is what the content of a node is made of. Every piece.Context is one, and
// so is a visit of a history.
type Source interface {
	Frame() piece.Frame
	Lookup(ctx context.Context, root string, path ...string) (value any, ok bool, err error)
}

// Content returns what the node of a source wrote, with the secrets that it may
// have. It is pure: what the state of then gives is the same again.
func Content(ctx context.Context, s Source) (string, error) {
	p, err := params.Filled[settings](s.Frame().Params)
	if err != nil {
		return "", err
	}
	content, _, err := written(ctx, s, p)
	return content, err
}

// fromFile reads the content from a file of the work tree, whose name tells its type
// when nothing else does.
func (cfg Config) fromFile(ctx context.Context, f piece.Frame, p *settings, to artifact.Store) (string, error) {
	if err := inside(p.From.File); err != nil {
		return "", err
	}
	repo, err := command.Repository(f.Repositories, p.From.RepositoryID)
	if err != nil {
		return "", workflow.Errorf(workflow.CodeInvalidArguments, "%w", err)
	}
	if cfg.File == nil {
		return "", errors.New("this program reads no files for artifacts")
	}
	raw, err := cfg.File(ctx, repo.Path, p.From.File)
	if err != nil {
		return "", err
	}
	if p.Mime == "" {
		was, err := to.Get(ctx, p.ID)
		if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound {
			return "", err
		}
		p.Mime = cmp.Or(was.Mime, artifact.TypeOf(p.From.File))
	}
	return artifact.FileContent(p.Mime, raw), nil
}

// written returns the content, of what does not come from a file. A value that is
// no text is written as JSON.
func written(ctx context.Context, s Source, p settings) (content string, isJSON bool, err error) {
	raw := p.Content
	if p.From.File != "" {
		return "", false, workflow.Errorf(workflow.CodeInvalidArtifact, "its content came from the file %s", p.From.File)
	}
	if p.From.expr != "" {
		if raw, err = eval(ctx, s, p.From.expr); err != nil {
			return "", false, err
		}
	}
	if json.Unmarshal(raw, &content) == nil && string(raw) != "null" {
		return content, false, nil
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return "", false, workflow.Errorf(workflow.CodeInvalidArtifact, "the content of artifact %s is no JSON: %w", p.ID, err)
	}
	return b.String() + "\n", true, nil
}

// eval computes where the content comes from.
func eval(ctx context.Context, s Source, src string) (json.RawMessage, error) {
	e, err := expr.Parse(src, s.Frame().Level)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidExpression, "%w", err)
	}
	value, err := e.Eval(state{ctx, s})
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidExpression, "computing %s: %w", src, err)
	}
	if value == expr.Undefined {
		return nil, workflow.Errorf(workflow.CodeInvalidArtifact, "%s is not there: nothing was written", src).
			WithHint("name an output or a variable of a node that ran before")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalidArtifact, "%s cannot be written: %w", src, err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// state lets an expression read the state.
type state struct {
	ctx context.Context
	s   Source
}

// Lookup reads "$root" and the path below it.
func (s state) Lookup(root string, path []string) (any, bool, error) {
	return s.s.Lookup(s.ctx, "$"+root, path...)
}
