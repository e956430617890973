package artifact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	pieces "github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/piece/piecetest"
	"github.com/tenonrun/tenon/workflow"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	r, err := piece.NewRegistry(pieces.Pieces(pieces.Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[int]string{1: "", 2: "artifact"} {
		if got := strings.Join(r.Kinds(level), " "); got != want {
			t.Errorf("level %d: %q, want %q", level, got, want)
		}
	}
}

// Each case is a defect by its pointer, or none.
func TestParams(t *testing.T) {
	t.Parallel()
	p := pieces.Pieces(pieces.Config{})[0]
	s, err := schema.Compile(p.Schema(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ params, problem string }{
		{`{"id":"a","title":"t","mime":"text/markdown","content":{"any":1}}`, ""},
		{`{"id":"a","from":"$outputs.write.text"}`, ""},
		{`{"id":"{{vars.name}}","collection":"{{inputs.where}}","content":""}`, ""},
		{`{"id":"a"}`, "alternatives"},
		{`{"id":"a","content":1,"from":"$vars.a"}`, "alternatives"},
		{`{"id":"a","content":1,"author":"user"}`, "author"},
		{`{"id":"a/b","content":1}`, "/id"},
		{`{"id":"nul","content":1}`, "/id"},
		{`{"id":"a","content":1,"collection":"a."}`, "/collection"},
		{`{"id":"a","from":"$vars."}`, "/from"},
		{`{"id":"a","from":{"file":"out/report.md","repositoryId":"repo"}}`, ""},
		{`{"id":"a","from":{"file":"{{vars.file}}"}}`, ""},
		{`{"id":"a","from":{"file":"/etc/passwd"}}`, "/from/file"},
		{`{"id":"a","from":{"file":"a/../../b"}}`, "/from/file"},
		{`{"id":"a","from":{"file":"."}}`, "/from/file"},
		{`{"id":"a","from":{"file":""}}`, "/from"},
		{`{"id":"a","from":{"path":"a"}}`, "/from"},
		{`{"id":"a","from":{"file":"a"},"content":"b"}`, "alternatives"},
	} {
		if ps := s.Validate(json.RawMessage(tc.params)); ps != nil {
			if tc.problem == "" || !strings.Contains(ps.Error(), tc.problem) {
				t.Errorf("%s: %v, want %q", tc.params, ps, tc.problem)
			}
			continue
		}
		tr, problems := p.Describe(json.RawMessage(tc.params), piece.Env{Level: 2})
		if strings.Join(tr.Outcomes, " ") != "next failed" || tr.Effect != workflow.EffectRead || tr.AI || tr.Uncertain {
			t.Errorf("%s: traits %+v", tc.params, tr)
		}
		pointer := ""
		if len(problems) > 0 {
			pointer = problems[0].Pointer
		}
		if pointer != tc.problem {
			t.Errorf("%s: problem at %q, want %q", tc.params, pointer, tc.problem)
		}
	}
}

// world is a run with artifacts.
type world struct {
	t     *testing.T
	all   *artifact.Memory
	files map[string]string
	c     piecetest.Context
}

// A file becomes a version; its name tells the type where nothing else does.
func TestRunOnAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.c.F.Repositories = []workflow.RepositoryInfo{{ID: "one", Path: "/one"}, {ID: "two", Path: "/two"}}
	w.files = map[string]string{"/one/r.md": "# hunter2-hunter2", "/two/x.png": "\x89PNG", "/two/latin": "\xe9", "/two/big": strings.Repeat("x", 1001), "/two/nul": "a\x00b"}
	for _, tc := range []struct{ params, mime, content string }{
		{`{"id":"r","from":{"file":"r.md","repositoryId":"one"}}`, "text/markdown", "# [redacted]"},
		{`{"id":"p","from":{"file":"x.png","repositoryId":"two"}}`, "image/png", "iVBORw=="},
		{`{"id":"r","mime":"text/plain","from":{"file":"nul","repositoryId":"two"}}`, "text/plain", "a\x00b"},
		{`{"id":"r","from":{"file":"nul","repositoryId":"two"}}`, "text/plain", "a\x00b"},
	} {
		w.c.F.Visit += "+"
		res, err := w.run(tc.params)
		if err != nil || res.Outcome != "next" {
			t.Fatalf("%s: %+v, %v", tc.params, res, err)
		}
		r, content, err := w.open().Read(t.Context(), res.Made.ID, artifact.Latest)
		if err != nil || r.Mime != tc.mime || content != tc.content {
			t.Errorf("%s: %s %q, %v", tc.params, r.Mime, content, err)
		}
	}
	for params, words := range map[string]string{
		`{"id":"n","from":{"file":"nothing","repositoryId":"two"}}`: "tool_denied the fence does not let",
		`{"id":"n","from":{"file":"../x","repositoryId":"two"}}`:    "invalid_piece_params no path of a file inside the work tree",
		`{"id":"n","from":{"file":"latin","repositoryId":"two"}}`:   "invalid_artifact not UTF-8",
		`{"id":"n","from":{"file":"big","repositoryId":"two"}}`:     "artifact_too_large 1001 bytes",
		`{"id":"n","from":{"file":"r.md"}}`:                         "invalid_arguments no repository is named",
		`{"id":"n","from":{"file":"r.md","repositoryId":"twoo"}}`:   "invalid_arguments did you mean",
	} {
		res, err := w.run(params)
		code, message, _ := strings.Cut(words, " ")
		if err != nil || res.Outcome != "failed" || res.Error == nil || string(res.Error.Code) != code || !strings.Contains(res.Error.Message, message) {
			t.Errorf("%s: %+v %+v, %v", params, res, res.Error, err)
		}
	}
	if _, err := w.open().Get(t.Context(), "n"); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("what is refused is kept: %v", err)
	}
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, all: artifact.NewMemory(artifact.MemoryConfig{Limits: artifact.Limits{MaxBytes: 1000}})}
	w.c.F = piece.Frame{Run: "r1", Visit: "save#1", Node: "save", Level: 2}
	w.c.State = map[string]any{"$outputs": map[string]any{"say": map[string]any{"text": "# Said\n", "parts": []any{"a", json.Number("1.50")}}}}
	return w
}

func (w *world) run(params string) (workflow.Settled, error) {
	w.t.Helper()
	w.c.F.Params = json.RawMessage(params)
	return pieces.Pieces(pieces.Config{
		Open: func(ctx context.Context, run workflow.RunID, name string) (string, artifact.Collection, error) {
			if name == "" {
				name = string(run)
			}
			c, err := w.all.Open(ctx, name)
			return name, c, err
		},
		File: func(_ context.Context, tree, path string) ([]byte, error) {
			content, ok := w.files[tree+"/"+path]
			if !ok {
				return nil, workflow.Errorf(workflow.CodeToolDenied, "the fence does not let %q be read", path)
			}
			return []byte(content), nil
		},
		Redactor: text.NewRedactor(nil, "hunter2-hunter2"),
	})[0].Run(w.t.Context(), &w.c)
}

func (w *world) open() artifact.Collection {
	w.t.Helper()
	c, err := w.all.Open(w.t.Context(), "r1")
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ params, title, mime, content string }{
		{`{"id":"a","title":"T","mime":"text/markdown","content":"# Hi"}`, "T", "text/markdown", "# Hi"},
		{`{"id":"a","content":""}`, "a", "text/plain", ""},
		{`{"id":"a","from":"$outputs.say.text","mime":"text/markdown"}`, "a", "text/markdown", "# Said\n"},
		{`{"id":"a","from":"$outputs.say.parts"}`, "a", "application/json", "[\n  \"a\",\n  1.50\n]\n"},
		{`{"id":"a","content":{"b":"<&>","a":null}}`, "a", "application/json", "{\n  \"b\": \"<&>\",\n  \"a\": null\n}\n"},
		{`{"id":"a","title":5,"mime":"text/plain","content":"the key is hunter2-hunter2"}`, "5", "text/plain", "the key is [redacted]"},
	} {
		w := newWorld(t)
		s, err := w.run(tc.params)
		if err != nil || s.Outcome != "next" || s.Made == nil || s.Made.Version != 1 || s.Made.Collection != "r1" {
			t.Errorf("%s: %+v, %v", tc.params, s, err)
			continue
		}
		r, content, err := w.open().Read(t.Context(), "a", artifact.Latest)
		if err != nil || r.Title != tc.title || r.Mime != tc.mime || content != tc.content || r.Author != artifact.Model {
			t.Errorf("%s: kept %+v %q, %v", tc.params, r, content, err)
		}
		if strings.Contains(string(s.Output.JSON), "content") || !strings.Contains(string(s.Output.JSON), `"version":1`) {
			t.Errorf("%s: the output is %s", tc.params, s.Output.JSON)
		}
	}
}

// What a node leaves out stays as it was.
func TestLabelsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, tc := range []struct{ params, title, mime string }{
		{`{"id":"a","title":"T","mime":"text/markdown","content":"# Hi"}`, "T", "text/markdown"},
		{`{"id":"a","content":"# Ho"}`, "T", "text/markdown"},
		{`{"id":"a","content":[1]}`, "T", "application/json"},
		{`{"id":"a","title":"U","content":"# Ha"}`, "U", "application/json"},
	} {
		w.c.F.Visit = workflow.VisitID(fmt.Sprint("save#", i))
		if s, err := w.run(tc.params); err != nil || s.Made == nil || s.Made.Title != tc.title || s.Made.Mime != tc.mime {
			t.Errorf("%s: %+v, %v", tc.params, s.Made, err)
		}
	}
}

// A visit that is run again writes nothing more; the next one does, and says what
// it replaces.
func TestRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		if s, err := w.run(`{"id":"a","content":"one"}`); err != nil || s.Made.Version != 1 || len(s.Warnings) > 0 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if _, err := w.open().Edit(t.Context(), artifact.Edit{Artifact: "a", Content: "mine"}); err != nil {
		t.Fatal(err)
	}
	w.c.F.Visit = "save#2"
	for range 2 {
		s, err := w.run(`{"id":"a","content":"two"}`)
		if err != nil || s.Made.Version != 3 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "version 2 of artifact a, which a person had written, is now replaced by version 3") {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		params string
		code   workflow.Code
		words  string
	}{
		{`{"id":"../a","content":"x"}`, workflow.CodeInvalidArtifactID, "save: "},
		{`{"id":"a","content":"` + strings.Repeat("x", 1001) + `"}`, workflow.CodeArtifactTooLarge, "1001 bytes"},
		{`{"id":"a","title":"a\u0007","content":"x"}`, workflow.CodeInvalidArtifact, "control character"},
		{`{"id":"a","from":"$outputs.other.text"}`, workflow.CodeInvalidArtifact, "$outputs.other.text is not there"},
		{`{"id":"a","from":"$outputs.say.text * 2"}`, workflow.CodeInvalidExpression, "$outputs.say.text * 2"},
		{`{"id":"a","content":"x","collection":"a/b"}`, workflow.CodeInvalidArtifactID, ""},
	} {
		w := newWorld(t)
		s, err := w.run(tc.params)
		if err != nil || s.Outcome != "failed" || s.Error == nil || s.Error.Code != tc.code || !strings.Contains(s.Error.Message, tc.words) {
			t.Errorf("%.60s: %+v, %v", tc.params, s.Error, err)
		}
		if list, err := w.open().List(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("%.60s: kept %+v, %v", tc.params, list, err)
		}
	}
}

// A place that takes nothing is not the fault of the node.
func TestBrokenPlace(t *testing.T) {
	t.Parallel()
	full := workflow.Errorf(workflow.CodeStoreFull, "the disk is full")
	w := newWorld(t)
	w.c.F.Params = json.RawMessage(`{"id":"a","content":"x"}`)
	_, err := pieces.Pieces(pieces.Config{
		Open: func(context.Context, workflow.RunID, string) (string, artifact.Collection, error) {
			return "", nil, full
		},
	})[0].Run(t.Context(), &w.c)
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
