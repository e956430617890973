// Package artifact holds the tools with which an agent writes and reads
// artifacts.
//
// Holds: artifact_write, artifact_read.
//
// Guarantees: a call of artifact_write that is done again after a crash makes no
// second revision and is answered as it was. The model is told when it replaced
// what a person wrote. Known secrets are taken out before anything is kept, and
// the model is told that they were. A result holds a receipt, never a content. A
// file is read through the fence, by the rules for the tool read, and only for an
// agent that has that tool.
//
// Does not: write files, or keep anything itself.
package artifact

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

//go:embed *.md *.schema.json
var texts embed.FS

// Names of the tools.
const (
	WriteName = artifact.WriteTool
	ReadName  = "artifact_read"
)

// Config sets up the tools.
type Config struct {
	// Open returns a collection for a run, and its name: "" is the run's own.
	Open func(ctx context.Context, run workflow.RunID, name string) (string, artifact.Collection, error)
	// Redactor takes secrets out; nil takes out what looks like one.
	Redactor *text.Redactor
	// Limits bound what is read from files; nil has the defaults.
	Limits func() artifact.Limits
}

// Tools returns artifact_write and artifact_read.
func Tools(c Config) []tool.Tool {
	return []tool.Tool{
		{
			Name: WriteName, Description: embedded(WriteName + ".md"), Schema: json.RawMessage(embedded(WriteName + ".schema.json")),
			Effect: workflow.EffectRead, Alone: true, Run: c.write,
			Reading: tool.Reading{Aliases: map[string]string{"identifier": "id", "type": "mime", "mimeType": "mime", "text": "content", "body": "content", "file": slot, "path": slot},
				TooLong: "write the content to a file in several calls, then give its path as " + slot + " instead of content"},
		},
		{
			Name: ReadName, Description: embedded(ReadName + ".md"), Schema: json.RawMessage(embedded(ReadName + ".schema.json")),
			Effect: workflow.EffectRead, Alone: true, Run: c.read, // it sees what the call before it wrote
			Reading: tool.Reading{Wrap: "id", Aliases: map[string]string{"identifier": "id", "name": "id"}},
		},
	}
}

// embedded gives an embedded file. A set refuses a tool whose texts are missing.
func embedded(name string) string {
	raw, _ := texts.ReadFile(name)
	return strings.TrimSpace(string(raw))
}

func (cfg Config) open(ctx context.Context, c tool.Call, name string) (string, artifact.Collection, error) {
	if cfg.Open == nil {
		return "", nil, errors.New("the artifact tools have no collections")
	}
	at, collection, err := cfg.Open(ctx, c.Run, name)
	return at, collection, told("opening the collection "+tool.Quote(name), err)
}

type writeArgs struct {
	artifact.Draft
	Content    *string `json:"content"`
	From       *string `json:"from"`
	Collection string  `json:"collection"`
}

// draft is what a call writes: its content, or that of the file it names.
func (cfg Config) draft(ctx context.Context, c tool.Call, args writeArgs) (artifact.Draft, error) {
	d := args.Draft
	if (args.Content == nil) == (args.From == nil) {
		return d, &tool.BadArguments{Tool: c.Tool, Problems: []string{"exactly one of content and " + slot + " is needed"}, Next: "give the content, or the path of a file that holds it"}
	}
	if args.Content != nil {
		d.Content = *args.Content
		return d, nil
	}
	if !c.Given(readName) { // it may not read files in this way either
		return d, &tool.Failed{What: "this agent does not have the tool " + readName + ", so no file can become an artifact", Next: "give the content instead of " + slot}
	}
	limits := artifact.Limits{}
	if cfg.Limits != nil {
		limits = cfg.Limits()
	}
	raw, _, err := File(ctx, c.Fence, c.Args, c.Cwd, limits)
	if err != nil {
		return d, told("reading the content of the artifact "+tool.Quote(d.ID), err)
	}
	d.Content = artifact.FileContent(d.Mime, raw)
	return d, nil
}

func (cfg Config) write(ctx context.Context, c tool.Call) (tool.Result, error) {
	args := writeArgs{}
	if err := json.Unmarshal(c.Args.Raw, &args); err != nil {
		return tool.Result{}, &tool.BadArguments{Tool: c.Tool, Problems: []string{err.Error()}}
	}
	at, collection, err := cfg.open(ctx, c, args.Collection)
	if err != nil {
		return tool.Result{}, err
	}
	d, err := cfg.draft(ctx, c, args)
	if err != nil {
		return tool.Result{}, err
	}
	whole := d.Content
	d.Author = artifact.Model
	d.Title = cfg.Redactor.Redact(d.Title)
	if artifact.KindOf(d.Mime) != artifact.Image { // whose letters mean nothing
		d.Content = cfg.Redactor.Redact(d.Content)
	}
	if c.Step != "" {
		d.Key = artifact.Key(string(c.Run), string(c.Visit), c.Step)
	}
	receipt, err := collection.Put(ctx, d)
	if err != nil {
		return tool.Result{}, told("writing the artifact "+tool.Quote(d.ID), err)
	}
	return tool.Result{Text: answer(&receipt, d.Content != whole), Data: data(receipt), Made: receipt.Descriptor.Made(at)}, nil
}

// answer tells the model what was kept.
func answer(r *artifact.Receipt, redacted bool) string {
	d := &r.Descriptor
	s := fmt.Sprintf("Kept %s as version %d: %s, %d bytes.", d.ID, d.Version, d.Kind, d.Bytes)
	if redacted {
		s += "\nNote: secrets in the content were replaced by " + text.Mark + "."
	}
	if r.Note != "" {
		s += "\n" + r.Note
	}
	return s
}

func data(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// told turns an error that the model can act on into one for the model.
func told(what string, err error) error {
	switch workflow.CodeOf(err) {
	case workflow.CodeInvalidArtifactID, workflow.CodeInvalidArtifact, workflow.CodeArtifactTooLarge, workflow.CodeArtifactConflict, workflow.CodeNotFound:
		return &tool.Failed{What: what, Err: err}
	}
	return err
}
