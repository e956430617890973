package artifact_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/tool"
	tools "github.com/tenonrun/tenon/tool/artifact"
	"github.com/tenonrun/tenon/tool/files"
	"github.com/tenonrun/tenon/tool/tooltest"
	"github.com/tenonrun/tenon/workflow"
)

type m = map[string]any

// bench runs calls of the tools for one run.
type bench struct {
	t    *testing.T
	set  *tool.Set
	all  *artifact.Memory
	call tool.Call
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, all: artifact.NewMemory(artifact.MemoryConfig{Limits: artifact.Limits{MaxBytes: 100_000}})}
	var err error
	reads := files.Tools(files.Config{})
	reads = reads[slices.IndexFunc(reads, func(t tool.Tool) bool { return t.Name == "read" }):][:1]
	b.set, err = tool.NewSet(append(reads, tools.Tools(tools.Config{
		Open: func(ctx context.Context, run workflow.RunID, name string) (string, artifact.Collection, error) {
			if name == "" {
				name = string(run)
			}
			c, err := b.all.Open(ctx, name)
			return name, c, err
		},
		Redactor: text.NewRedactor(nil, "hunter2-hunter2"),
		Limits:   func() artifact.Limits { return artifact.Limits{MaxBytes: 100_000} },
	})...)...)
	if err != nil {
		t.Fatal(err)
	}
	b.call = tool.Call{ID: "1", Run: "r1", Visit: "v#1", Fence: tooltest.New(t), Session: &tool.Session{}}
	return b
}

func (b *bench) run(name string, args any) (tool.Result, error) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.set.Run(b.t.Context(), name, raw, b.call)
}

func (b *bench) want(name string, args any, want string) tool.Result {
	b.t.Helper()
	r, err := b.run(name, args)
	if err != nil || r.Text != want {
		b.t.Errorf("%s %v:\n%s\n%v; want:\n%s", name, args, r.Text, err, want)
	}
	return r
}

// fails wants an error that the model can act on.
func (b *bench) fails(name string, args any, words ...string) {
	b.t.Helper()
	_, err := b.run(name, args)
	if err == nil || !tool.ByModel(err) {
		b.t.Errorf("%s %v: %v", name, args, err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("%s %v: %v, want %q", name, args, err, w)
		}
	}
}

func (b *bench) edit(id, content string) {
	b.t.Helper()
	c, err := b.all.Open(b.t.Context(), "r1")
	if err == nil {
		_, err = c.Edit(b.t.Context(), artifact.Edit{Artifact: id, Content: content})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func note(content string) m {
	return m{"id": "notes", "title": "Notes", "mime": "text/markdown", "content": content}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.want("artifact_write", note("# One"), "Kept notes as version 1: markdown, 5 bytes.")
	if want := (workflow.Made{Collection: "r1", ID: "notes", Title: "Notes", Mime: "text/markdown", Kind: "markdown", Version: 1, Bytes: 5,
		Digest: artifact.Digest("# One")}); r.Made == nil || *r.Made != want {
		t.Errorf("made is %+v, want %+v", r.Made, want)
	}
	if strings.Contains(string(r.Data), "One") || !strings.Contains(string(r.Data), `"version":1`) {
		t.Errorf("the result holds %s", r.Data)
	}
	b.edit("notes", "# Mine")
	b.want("artifact_write", note("# Two"), "Kept notes as version 3: markdown, 5 bytes.\n"+
		"Note: version 2 was edited by a person and is now replaced by version 3. Read it with artifact_read before changing it again.")
	b.want("artifact_write", note("# Three"), "Kept notes as version 4: markdown, 7 bytes.")
	b.want("artifact_write", m{"identifier": "notes", "title": "T", "type": "text/plain", "body": "x"}, "Kept notes as version 5: text, 1 bytes.")
	r = b.want("artifact_write", m{"id": "notes", "title": "T", "mime": "text/plain", "content": "y", "collection": "shared"}, "Kept notes as version 1: text, 1 bytes.")
	if r.Made.Collection != "shared" {
		t.Errorf("it is in %s", r.Made.Collection)
	}
}

// A call that a crash left open is done again: it makes no second version, and
// says what it said.
func TestWriteAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.call.Step = "turn/1/1"
	b.want("artifact_write", note("one"), "Kept notes as version 1: markdown, 3 bytes.")
	b.edit("notes", "mine")
	b.call.Step = "turn/2/1"
	warned := "Kept notes as version 3: markdown, 3 bytes.\nNote: version 2 was edited by a person and is now replaced by version 3. Read it with artifact_read before changing it again."
	b.want("artifact_write", note("two"), warned)
	b.want("artifact_write", note("two"), warned)
	b.call.Step = "turn/1/1"
	b.want("artifact_write", note("one"), "Kept notes as version 1: markdown, 3 bytes.")
	b.call.Visit = "v#2"
	b.want("artifact_write", note("one"), "Kept notes as version 4: markdown, 3 bytes.")
	b.call.Step = ""
	b.want("artifact_write", note("one"), "Kept notes as version 5: markdown, 3 bytes.")
	b.want("artifact_write", note("one"), "Kept notes as version 6: markdown, 3 bytes.")
}

func TestWriteTakesSecretsOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.want("artifact_write", m{"id": "a", "title": "is hunter2-hunter2", "mime": "text/plain", "content": "the key is hunter2-hunter2"},
		"Kept a as version 1: text, 21 bytes.\nNote: secrets in the content were replaced by [redacted].")
	b.want("artifact_read", m{"id": "a"}, `[a version 1 of 1: "is [redacted]", text/plain, 21 bytes]`+"\nthe key is [redacted]")
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := note(strings.Repeat("x", 100_001))
	b.fails("artifact_write", long, "100001 bytes", "the limit is 100000")
	for _, id := range []string{"a/b", "../a", ".a", "nul", "a b", "é", "a\n"} {
		args := note("x")
		args["id"] = id
		b.fails("artifact_write", args, "writing the artifact")
	}
	for _, tc := range []struct {
		args  m
		words string
	}{
		{m{"id": "a", "title": "t", "mime": "text/plain"}, "content"},
		{m{"id": "a", "title": "t\x1b[2J", "mime": "text/plain", "content": "x"}, "control character"},
		{m{"id": "a", "title": "t", "mime": "text/plain", "content": "x", "author": "user"}, "author"},
		{m{"id": strings.Repeat("a", 10_000), "title": "t", "mime": "text/plain", "content": "x"}, "id"},
		{m{"id": "a", "title": "t", "mime": "text/plain", "content": "x", "collection": "../x"}, "collection"},
		{m{"id": "a", "title": "t", "mime": "text/plain", "content": m{"a": 1}}, "content"},
	} {
		b.fails("artifact_write", tc.args, tc.words)
	}
	b.want("artifact_read", m{}, "[there are no artifacts yet]")
	b.want("artifact_write", note(strings.Repeat("x", 100_000)), "Kept notes as version 1: markdown, 100000 bytes.")
}

func TestRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.want("artifact_write", note("one\ntwo\n"), "Kept notes as version 1: markdown, 8 bytes.")
	b.edit("notes", "three")
	b.want("artifact_read", "notes", `[notes version 2 of 2: "Notes", text/markdown, 5 bytes, written by a person]`+"\nthree")
	b.want("artifact_read", m{"id": "notes", "version": 1}, `[notes version 1 of 2: "Notes", text/markdown, 8 bytes]`+"\none\ntwo\n")
	b.want("artifact_read", m{"id": "notes", "version": 1, "offset": 2}, `[notes version 1 of 2: "Notes", text/markdown, 8 bytes]`+"\ntwo\n[lines 2 to 2 of 2]")
	b.want("artifact_read", m{"id": "notes", "version": 1, "offset": 3}, `[notes version 1 of 2: "Notes", text/markdown, 8 bytes]`+"\n[it has 2 lines]")
	b.want("artifact_read", m{"id": "notes", "version": 1, "limit": 1}, `[notes version 1 of 2: "Notes", text/markdown, 8 bytes]`+"\none\n[lines 1 to 1 of 2; go on with offset 2]")
	b.want("artifact_read", m{}, `notes version 2: "Notes", text/markdown, 5 bytes, written by a person`)
	b.fails("artifact_read", m{"id": "note"}, "did you mean notes?")
	b.fails("artifact_read", m{"id": "notes", "version": 9}, "no version 9", "the current one is 2")
	b.fails("artifact_read", m{"id": "notes", "collection": "other"}, "there are no artifacts yet")
	b.want("artifact_write", note(""), "Kept notes as version 3: markdown, 0 bytes.\n"+
		"Note: version 2 was edited by a person and is now replaced by version 3. Read it with artifact_read before changing it again.")
	b.want("artifact_read", m{"id": "notes"}, `[notes version 3 of 3: "Notes", text/markdown, 0 bytes]`+"\n[it is empty]")
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.want("artifact_write", note(strings.Repeat("é", 40_000)+"\nend"), "Kept notes as version 1: markdown, 80004 bytes.")
	r, err := b.run("artifact_read", m{"id": "notes"})
	if err != nil || len(r.Text) > 50_000 || !strings.HasSuffix(r.Text, "é\n[bytes 1 to 49152 of 80001 of line 1 of 2; go on with offset 1 and byte 49153]") {
		t.Errorf("%d bytes, %v: …%s", len(r.Text), err, r.Text[max(0, len(r.Text)-100):])
	}
	r, err = b.run("artifact_read", m{"id": "notes", "offset": 1, "byte": 49154}) // in the middle of a character
	if err != nil || strings.Count(r.Text, "é") != (80_000-49_152)/2 || !strings.HasSuffix(r.Text, "é\nend\n[byte 49153 of line 1 to line 2 of 2]") {
		t.Errorf("%d bytes, %v: …%s", len(r.Text), err, r.Text[max(0, len(r.Text)-100):])
	}
	r, err = b.run("artifact_read", m{"id": "notes", "offset": 1, "byte": 49153, "limit": 1})
	if err != nil || !strings.HasSuffix(r.Text, "é\n[byte 49153 of line 1 to line 1 of 2; go on with offset 2]") {
		t.Errorf("%d bytes, %v: …%s", len(r.Text), err, r.Text[max(0, len(r.Text)-100):])
	}
	b.want("artifact_read", m{"id": "notes", "byte": 90_000}, `[notes version 1 of 1: "Notes", text/markdown, 80004 bytes]`+"\n[line 1 of 2 has 80001 bytes]")
	b.want("artifact_write", note(strings.Repeat("x\n", 5000)), "Kept notes as version 2: markdown, 10000 bytes.")
	r, err = b.run("artifact_read", m{"id": "notes", "limit": 10_000})
	if err != nil || !strings.HasSuffix(r.Text, "\n[lines 1 to 2000 of 5000; go on with offset 2001]") {
		t.Errorf("%v: …%s", err, r.Text[max(0, len(r.Text)-100):])
	}
}

// A file becomes an artifact through the fence, by the rules for read.
func TestWriteFromAFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	fence := tooltest.New(t)
	b.call.Fence = fence
	fence.Put(t, "out/report.md", "# hunter2-hunter2")
	fence.Put(t, "dot.png", "\x89PNG")
	fence.Put(t, "latin", "\xe9")
	fence.Put(t, "big", strings.Repeat("x", 100_001))
	fence.Put(t, "limit", strings.Repeat("x", 100_000))
	fence.Put(t, ".env", "KEY=1")
	fence.Deny = []string{".env"}
	of := func(mime, path string) m { return m{"id": "a", "title": "A", "mime": mime, "from": path} }
	b.want("artifact_write", of("text/markdown", "out/report.md"), "Kept a as version 1: markdown, 12 bytes.\nNote: secrets in the content were replaced by [redacted].")
	b.want("artifact_write", of("image/png", "dot.png"), "Kept a as version 2: image, 8 bytes.")
	b.want("artifact_write", of("text/plain", "limit"), "Kept a as version 3: text, 100000 bytes.")
	b.want("artifact_write", m{"id": "a", "title": "A", "mime": "text/plain", "file": "out/report.md"}, "Kept a as version 4: text, 12 bytes.\nNote: secrets in the content were replaced by [redacted].")
	b.fails("artifact_write", of("text/plain", "big"), "big", "100001 bytes", "100000", "split it")
	b.fails("artifact_write", of("text/plain", "latin"), "not UTF-8")
	b.fails("artifact_write", of("text/plain", "nothing"), "there is no file", "nothing was stored", "write it first")
	b.fails("artifact_write", of("text/plain", "out"), "out")
	b.fails("artifact_write", of("text/plain", ".env"), "denied")
	b.fails("artifact_write", of("text/plain", "../x"), "denied")
	b.fails("artifact_write", m{"id": "a", "title": "A", "mime": "text/plain"}, "exactly one of content and from")
	b.fails("artifact_write", m{"id": "a", "title": "A", "mime": "text/plain", "content": "x", "from": "limit"}, "exactly one of content and from")
	b.fails("artifact_write", m{"id": "a", "title": "A", "mime": "text/plain", "content": strings.Repeat("x", tool.MaxArgs)}, "write the content to a file", "from")
	set, err := b.set.Narrow("artifact_write")
	if err != nil {
		t.Fatal(err)
	}
	b.set = set
	b.fails("artifact_write", of("text/plain", "limit"), "does not have the tool read", "give the content")
}

// A person is asked about a file as about one that is read.
func TestWriteFromAFileAsks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	fence := tooltest.New(t)
	b.call.Fence = fence
	fence.Put(t, "asked", "x")
	fence.Ask = []string{"asked"}
	of := func(mime, path string) m { return m{"id": "a", "title": "A", "mime": mime, "from": path} }
	var asked *tool.Asked
	if _, err := b.run("artifact_write", of("text/plain", "asked")); !errors.As(err, &asked) {
		t.Errorf("it does not ask: %v", err)
	}
	if got := strings.Join(fence.Judged(), "\n"); !strings.Contains(got, "read read ") || !strings.Contains(got, "artifact_write") {
		t.Errorf("judged was\n%s", got)
	}
}

// What is wrong with the place of the artifacts is not the model's to mend.
func TestBrokenCollections(t *testing.T) {
	t.Parallel()
	broken := workflow.Errorf(workflow.CodeStoreFull, "the disk is full")
	for _, open := range []func(context.Context, workflow.RunID, string) (string, artifact.Collection, error){
		nil, func(context.Context, workflow.RunID, string) (string, artifact.Collection, error) {
			return "", nil, broken
		},
	} {
		set, err := tool.NewSet(tools.Tools(tools.Config{Open: open})...)
		if err != nil {
			t.Fatal(err)
		}
		for name, args := range map[string]string{"artifact_write": `{"id":"a","title":"t","mime":"m","content":"c"}`, "artifact_read": `{}`} {
			_, err := set.Run(t.Context(), name, json.RawMessage(args), tool.Call{Fence: tooltest.New(t)})
			if err == nil || tool.ByModel(err) || open != nil && !errors.Is(err, broken) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
