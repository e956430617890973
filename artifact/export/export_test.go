package export_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/export"
	"github.com/tenonrun/tenon/workflow"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code workflow.Code) {
	t.Helper()
	if err == nil || workflow.CodeOf(err) != code {
		t.Errorf("the error is %v, not one of %s", err, code)
	}
}

func place(t testing.TB, device string) artifact.Collection {
	t.Helper()
	c, err := artifact.NewMemory(artifact.MemoryConfig{Device: device}).Open(t.Context(), "c")
	must(t, err)
	return c
}

func put(t testing.TB, c artifact.Store, id, mime, content string) artifact.Descriptor {
	t.Helper()
	r, err := c.Put(t.Context(), artifact.Draft{ID: id, Title: "Title of <" + id + ">", Mime: mime, Content: content})
	must(t, err)
	return r.Descriptor
}

// files are the files below a directory, by their names.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(at)
		name, _ := filepath.Rel(dir, at)
		out[filepath.ToSlash(name)] = string(raw)
		return err
	}))
	return out
}

var pixel, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")

// TestWrite: the files of a collection have names that every file system tells
// apart, and nothing that is there is overwritten unasked.
func TestWrite(t *testing.T) {
	t.Parallel()
	c := place(t, "A")
	put(t, c, "a", "text/plain", "low")
	put(t, c, "A", "text/plain", "high")
	put(t, c, "dot.", "text/markdown", "# x")
	put(t, c, "index", "application/json", "{}")
	put(t, c, "pic", "image/png", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(pixel))
	put(t, c, "nopic", "image/png", "not a picture")
	put(t, c, "disguised", "image/png", base64.StdEncoding.EncodeToString([]byte("<html><script>alert(1)</script>")))
	dir := filepath.Join(t.TempDir(), "out")
	done, err := export.Write(t.Context(), c, export.Options{Dir: dir})
	must(t, err)
	want := map[string]string{
		"a.txt": "low", "A~2.txt": "high", "dot_.md": "# x", "index~2.json": "{}", "pic.png": string(pixel), "nopic.txt": "not a picture",
		"disguised.txt": base64.StdEncoding.EncodeToString([]byte("<html><script>alert(1)</script>")),
	}
	if got := files(t, dir); !reflect.DeepEqual(got, want) || len(done) != len(want) {
		t.Errorf("the files are %q, told as %+v", got, done)
	}
	_, err = export.Write(t.Context(), c, export.Options{Dir: dir})
	must(t, err) // the same once more
	put(t, c, "a", "text/plain", "new")
	_, err = export.Write(t.Context(), c, export.Options{Dir: dir})
	wantCode(t, err, workflow.CodeArtifactConflict)
	_, err = export.Write(t.Context(), c, export.Options{Dir: dir, Replace: true, Only: []string{"a"}})
	if must(t, err); files(t, dir)["a.txt"] != "new" {
		t.Error("it was not replaced")
	}
	_, err = export.Write(t.Context(), c, export.Options{Dir: dir, Only: []string{"a", "nope"}})
	wantCode(t, err, workflow.CodeNotFound)
}

// TestWriteAll: an export of all versions restores the collection.
func TestWriteAll(t *testing.T) {
	t.Parallel()
	c := place(t, "A")
	put(t, c, "a", "text/plain", "one")
	put(t, c, "a", "text/html", "two")
	put(t, c, "gone", "text/plain", "x")
	must(t, c.Delete(t.Context(), "gone"))
	twin := artifact.Revision{ID: "t", Seq: 9, Device: "B", Artifact: "a", Mime: "text/html", Version: 2, Digest: artifact.Digest("twin"), Bytes: 4, Author: artifact.Person}
	_, err := c.Merge(t.Context(), func(yield func(artifact.Copy, error) bool) {
		yield(artifact.Copy{Revision: twin, Content: func(context.Context) (string, error) { return "twin", nil }}, nil)
	})
	must(t, err)
	dir := t.TempDir()
	_, err = export.Write(t.Context(), c, export.Options{Dir: dir, All: true})
	must(t, err)
	got := files(t, dir)
	if got["a/v1.txt"] != "one" || got["a/v2.html"] != "two" || got["a/v2~2.html"] != "twin" || len(got) != 5 {
		t.Errorf("the files are %q", got)
	}
	var index []artifact.Descriptor
	must(t, json.Unmarshal([]byte(got[export.IndexFile]), &index))
	if list, err := c.List(t.Context()); err != nil || !reflect.DeepEqual(index, list) {
		t.Errorf("the index is %+v", index)
	}
	again := place(t, "C")
	m, err := again.Merge(t.Context(), artifact.Copies(artifact.Lines(strings.NewReader(got[export.LogFile]), 0), func(b *artifact.BadLine) { t.Error(b) }))
	if err != nil || m.Added != 4 {
		t.Errorf("the log came back as %+v (%v)", m, err)
	}
	if one, two := lines(t, c), lines(t, again); one != two {
		t.Errorf("%s\nis not\n%s", two, one)
	}
}

// lines are all lines of a collection.
func lines(t testing.TB, c artifact.Replica) string {
	t.Helper()
	var out []byte
	for copied, err := range c.Export(t.Context()) {
		must(t, err)
		l := artifact.Line{Revision: copied.Revision}
		if !l.Deleted {
			l.Content, err = copied.Content(t.Context())
			must(t, err)
		}
		out, err = l.Append(out)
		must(t, err)
	}
	return string(out)
}

// TestWriteEscape: a link in the directory leads nowhere else.
func TestWriteEscape(t *testing.T) {
	t.Parallel()
	c := place(t, "A")
	put(t, c, "a", "text/plain", "one")
	outside, dir := t.TempDir(), t.TempDir()
	must(t, os.Symlink(outside, filepath.Join(dir, "a")))
	if _, err := export.Write(t.Context(), c, export.Options{Dir: dir, All: true, Replace: true}); err == nil {
		t.Error("it went through the link")
	}
	if got := files(t, outside); len(got) > 0 {
		t.Errorf("outside is %q", got)
	}
}

// elements returns the elements of a document, by their names.
func elements(t *testing.T, doc string) map[string][]map[string]string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(doc))
	must(t, err)
	out := map[string][]map[string]string{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		attrs := map[string]string{}
		for _, a := range n.Attr {
			attrs[a.Key] = a.Val
		}
		if n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			attrs["(text)"] = n.FirstChild.Data
		}
		out[n.Data] = append(out[n.Data], attrs)
	}
	return out
}

const hostile = `</pre></iframe>"'><script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)>`

// TestPage: whatever an artifact holds, its page runs none of it outside of a frame
// without an origin. Every kind has its row.
func TestPage(t *testing.T) {
	t.Parallel()
	shown := map[artifact.Kind]struct {
		mime, content string
		look          func(e map[string][]map[string]string) bool
	}{
		artifact.Text: {"text/plain", hostile, func(e map[string][]map[string]string) bool { return e["pre"][0]["(text)"] == hostile }},
		artifact.Code: {"text/javascript", hostile, func(e map[string][]map[string]string) bool { return e["pre"][0]["(text)"] == hostile }},
		artifact.Markdown: {"text/markdown", "# Head\n\n" + hostile + "\n\n[x](javascript:alert(1))", func(e map[string][]map[string]string) bool {
			return e["h1"][0]["(text)"] == "Head" && len(e["img"]) == 0 && !strings.Contains(fmt.Sprint(e["a"]), "javascript")
		}},
		artifact.Image: {"image/png", base64.StdEncoding.EncodeToString(pixel), func(e map[string][]map[string]string) bool {
			return strings.HasPrefix(e["img"][0]["src"], "data:image/png;base64,")
		}},
		artifact.Vector: {"image/svg+xml", "<svg>" + hostile, func(e map[string][]map[string]string) bool {
			return strings.HasPrefix(e["img"][0]["src"], "data:image/svg+xml;base64,")
		}},
		artifact.Page: {"text/html", hostile, func(e map[string][]map[string]string) bool {
			f := e["iframe"][0]
			return f["srcdoc"] == hostile && f["sandbox"] == "allow-scripts"
		}},
	}
	for _, kind := range artifact.Kinds() {
		row, ok := shown[kind]
		if !ok {
			t.Errorf("nobody looked at a page of the kind %s", kind)
			continue
		}
		r := artifact.Revision{Artifact: "a", Title: `"><script>title</script>`, Mime: row.mime, Version: 1}
		raw, err := export.Page(&r, row.content, "2026-01-01")
		must(t, err)
		e := elements(t, string(raw))
		if !row.look(e) {
			t.Errorf("the page of the kind %s is\n%s", kind, raw)
		}
		if len(e["script"]) > 0 {
			t.Errorf("the page of the kind %s has a script:\n%s", kind, raw)
		}
		policy := e["meta"][1]["content"]
		if !strings.HasPrefix(policy, "default-src 'none'") || kind != artifact.Page && strings.Contains(policy, "script-src") {
			t.Errorf("the policy of the kind %s is %s", kind, policy)
		}
		if e["title"][0]["(text)"] != r.Title {
			t.Errorf("the title is %q", e["title"])
		}
	}
}

// TestPublish: a publication is dated, noted, and known to be stale.
func TestPublish(t *testing.T) {
	t.Parallel()
	c := place(t, "A")
	put(t, c, "plan", "text/html", "<p>one")
	dir := t.TempDir()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	o := export.PublishOptions{Dir: dir, Version: artifact.Latest, Now: now}
	p, err := export.Publish(t.Context(), c, "plan", o)
	must(t, err)
	if u, err := url.Parse(p.URL); err != nil || u.Scheme != "file" || !strings.HasSuffix(u.Path, "/plan-2026-03-04-v1/index.html") {
		t.Errorf("the URL is %q (%v)", p.URL, err)
	}
	if d := p.Descriptor; d.Publication == nil || d.Publication.URL != p.URL || d.Publication.At != now.UnixMilli() || d.Stale() {
		t.Errorf("it is noted as %+v", d.Publication)
	}
	before := files(t, dir)
	if len(before) != 3 || before["plan-2026-03-04-v1/content.html.txt"] != "<p>one" || !strings.Contains(before["plan-2026-03-04-v1/publication.json"], artifact.Digest("<p>one")) {
		t.Errorf("the files are %q", before)
	}
	_, err = export.Publish(t.Context(), c, "plan", o)
	if must(t, err); !reflect.DeepEqual(before, files(t, dir)) {
		t.Error("the same again makes other files")
	}
	if d := put(t, c, "plan", "text/html", "<p>two"); !d.Stale() || d.Publication.Version != 1 {
		t.Errorf("it is not stale: %+v", d)
	}
	o.Single, o.BaseURL, o.Live = true, "https://x.example/pub/", 1
	p, err = export.Publish(t.Context(), c, "plan", o)
	if must(t, err); p.URL != "https://x.example/pub/plan-2026-03-04-v2.html" || p.Descriptor.Stale() || len(p.Files) != 1 {
		t.Errorf("it is published as %+v", p)
	}
	_, err = export.Publish(t.Context(), c, "plan", o) // version 2 is out now
	wantCode(t, err, workflow.CodeArtifactConflict)
	o.Live, o.Version = 0, 7
	_, err = export.Publish(t.Context(), c, "plan", o)
	wantCode(t, err, workflow.CodeNotFound)
	_, err = export.Publish(t.Context(), c, "nope", o)
	wantCode(t, err, workflow.CodeNotFound)
	o.Version = 1
	for _, base := range []string{"javascript:alert(1)", "x.example", "https://x.example/?q", "https://x.example/#f"} {
		o.BaseURL = base
		_, err = export.Publish(t.Context(), c, "plan", o)
		wantCode(t, err, workflow.CodeInvalidArguments)
	}
	o.Dir = "here"
	_, err = export.Publish(t.Context(), c, "plan", o)
	wantCode(t, err, workflow.CodeInvalidArguments)
}

func TestDiff(t *testing.T) {
	t.Parallel()
	c := place(t, "A")
	put(t, c, "a", "text/plain", "one\ntwo\nthree\n")
	_, err := c.Edit(t.Context(), artifact.Edit{Artifact: "a", Content: "one\n2\nthree\n"})
	must(t, err)
	put(t, c, "a", "text/plain", strings.Repeat("x\n", export.MaxDiffLines))
	put(t, c, "a", "text/plain", strings.Repeat("x", export.MaxDiffBytes))
	put(t, c, "a", "image/png", "x")
	want := "--- a@1 (agent)\n+++ a@2 (person)\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
	if d, err := export.Diff(t.Context(), c, "a", 1, 2); err != nil || d.Text != want || d.Same || d.Why != "" {
		t.Errorf("it is %+v (%v)", d, err)
	}
	if d, err := export.Diff(t.Context(), c, "a", 1, 1); err != nil || d.Text != "" || !d.Same {
		t.Errorf("the same is %+v (%v)", d, err)
	}
	for _, to := range []int64{3, 4, 5} {
		if d, err := export.Diff(t.Context(), c, "a", 1, to); err != nil || d.Text != "" || d.Why == "" || d.To.Digest == "" {
			t.Errorf("version %d is compared: %+v (%v)", to, d.Why, err)
		}
	}
	_, err = export.Diff(t.Context(), c, "a", 1, 9)
	wantCode(t, err, workflow.CodeNotFound)
}

// TestSync: devices that sync through a directory end with the same, whatever they
// wrote and when.
func TestSync(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		dir := t.TempDir()
		devices := []string{"A", "B", "C"}
		places := map[string]artifact.Collection{}
		for _, d := range devices {
			places[d] = place(t, d)
		}
		sync := func(d string) export.Synced {
			s, err := export.Sync(t.Context(), places[d], export.SyncOptions{Dir: dir, Collection: "Shared", Device: d})
			must(t, err)
			return s
		}
		for i := range 30 {
			d := devices[rng.IntN(3)]
			id := string(rune('a' + rng.IntN(3)))
			switch rng.IntN(6) {
			case 0:
				sync(d)
			case 1:
				if err := places[d].Delete(t.Context(), id); err != nil && workflow.CodeOf(err) != workflow.CodeNotFound {
					t.Fatal(err)
				}
			default:
				put(t, places[d], id, "text/plain", fmt.Sprint(i%7))
			}
		}
		for range 2 {
			for _, d := range devices {
				sync(d)
			}
		}
		want := lines(t, places["A"])
		for _, d := range devices {
			if got := lines(t, places[d]); got != want {
				t.Fatalf("seed %d: %s has\n%s\nnot\n%s", seed, d, got, want)
			}
			if s := sync(d); s.Pushed != 0 || s.Pulled.Added != 0 || s.Waiting+s.Skipped+s.Lost != 0 {
				t.Errorf("seed %d: %s has nothing to do and does %+v", seed, d, s)
			}
		}
	}
}

// TestSyncDamage: what has not arrived, is torn or comes from elsewhere waits or is
// left out, and the next sync goes on.
func TestSyncDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := place(t, "A"), place(t, "B")
	put(t, a, "x", "text/plain", "one")
	put(t, a, "x", "text/plain", "two")
	o := export.SyncOptions{Dir: dir, Collection: "c", Device: "A"}
	if s, err := export.Sync(t.Context(), a, o); err != nil || s.Pushed != 2 {
		t.Fatalf("it did %+v (%v)", s, err)
	}
	blob := filepath.Join(dir, "blobs", artifact.Digest("two")[:2], artifact.Digest("two")[2:])
	must(t, os.WriteFile(blob, []byte("tw"), 0o600))
	log := filepath.Join(dir, "c", "=a.jsonl")
	raw, err := os.ReadFile(log)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "c", "=a (copy).jsonl"), raw, 0o600)) // as a program made it
	must(t, os.WriteFile(filepath.Join(dir, "c", "z.jsonl"), []byte(`{"format":2,"artifact":"x"}`+"\nhello\n"+string(raw[:40])), 0o600))
	o.Device = "B"
	s, err := export.Sync(t.Context(), b, o)
	if err != nil || s.Pulled.Added != 1 || s.Waiting != 1 || s.Skipped != 3 || s.Pushed != 0 {
		t.Errorf("it did %+v (%v)", s, err)
	}
	o.Device = "A" // mends what it has
	if s, err := export.Sync(t.Context(), a, o); err != nil || s.Pushed != 0 {
		t.Errorf("it did %+v (%v)", s, err)
	}
	o.Device = "B"
	if s, err := export.Sync(t.Context(), b, o); err != nil || s.Pulled.Added != 1 || s.Waiting != 0 {
		t.Errorf("it did %+v (%v)", s, err)
	}
	if lines(t, a) != lines(t, b) {
		t.Error("they differ")
	}
	o.Collection = "../c"
	_, err = export.Sync(t.Context(), b, o)
	wantCode(t, err, workflow.CodeInvalidArtifactID)
}

// TestSyncEscape: links in a shared directory lead nowhere else.
func TestSyncEscape(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	must(t, os.Symlink(outside, filepath.Join(dir, "blobs")))
	a := place(t, "A")
	put(t, a, "x", "text/plain", "one")
	_, err := export.Sync(t.Context(), a, export.SyncOptions{Dir: dir, Collection: "c", Device: "A"})
	if err == nil || len(files(t, outside)) > 0 {
		t.Errorf("it went through the link: %v", err)
	}
}

// TestTranscript: the transcripts of several programs give the same artifacts.
func TestTranscript(t *testing.T) {
	t.Parallel()
	args := `{"id":"a","title":"T","mime":"text/plain","content":"x"}`
	quoted, err := json.Marshal(args)
	must(t, err)
	for name, text := range map[string]string{
		"array":  `[{"role":"assistant","toolCalls":[{"id":"1","name":"artifact_write","args":` + args + `}]},{"role":"tool","callId":"1"}]`,
		"lines":  `{"role":"assistant","toolCalls":[{"id":"1","name":"artifact_write","args":` + args + `}]}` + "\n" + `{"role":"tool","callId":"1"}` + "\n" + `{"role":"assis`,
		"object": "\ufeff\n {\"messages\":\n[{\"role\":\"assistant\",\"toolCalls\":[{\"id\":\"1\",\"name\":\"artifact_write\",\"args\":" + args + `}]},{"role":"tool","callId":"1"}]}`,
		"blocks": `{"type":"summary"}` + "\n" +
			`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"1","name":"artifact_write","input":` + args + `}]}}` + "\n" +
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"ok"}]}}`,
		"chat": `[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"artifact_write","arguments":` + string(quoted) + `}}]},{"role":"tool","tool_call_id":"1","content":"ok"}]`,
	} {
		messages, err := export.Transcript(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c := place(t, "A")
		n, err := artifact.Rehydrate(t.Context(), c, messages)
		if err != nil || n != 1 {
			t.Errorf("%s: %d were written (%v) of %+v", name, n, err, messages)
			continue
		}
		if _, content, err := c.Read(t.Context(), "a", 1); err != nil || content != "x" {
			t.Errorf("%s: the content is %q (%v)", name, content, err)
		}
	}
	failed := `{"type":"user","message":{"content":[{"type":"tool_use","id":"1","name":"artifact_write","input":` + args + `},{"type":"tool_result","tool_use_id":"1","is_error":true}]}}`
	messages, err := export.Transcript(strings.NewReader(failed))
	must(t, err)
	if n, err := artifact.Rehydrate(t.Context(), place(t, "A"), messages); n != 0 || err != nil {
		t.Errorf("a failed call counts: %d (%v)", n, err)
	}
	for _, text := range []string{"", "hello", "[]", "\n\n"} {
		_, err := export.Transcript(strings.NewReader(text))
		wantCode(t, err, workflow.CodeInvalidArguments)
	}
	if _, err := export.Transcript(broken{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the error is %v", err)
	}
	if _, err := export.Transcript(strings.NewReader("[{]")); err == nil {
		t.Error("a broken array is read")
	}
}

// broken is a reader that fails.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fs.ErrPermission }
