package artifact_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

var vectorsFile = flag.String("vectors", filepath.Join("testdata", "artifacts.jsonl"), "the file of vectors that TestVectors runs")

// vector is one line of the file.
type vector struct {
	ID     string
	Group  string
	Limits struct{ MaxBytes int64 }
	Clock  []int64
	Ops    []op
}

type op struct {
	Op           string
	Args         json.RawMessage
	ArgsRaw      string
	Lines        []json.RawMessage
	Logs         [][]json.RawMessage
	Log          *[]json.RawMessage
	Messages     []artifact.Message
	Text         string
	Store        string
	Expect       json.RawMessage
	Error        string
	ExpectError  string
	Absent       []string
	AbsentEach   []string
	AbsentRev    []string `json:"absentRevision"`
	AnyOrder     bool
	expectsThing bool // there is an expect, perhaps null
}

func (o *op) UnmarshalJSON(raw []byte) error {
	type plain op
	if err := json.Unmarshal(raw, (*plain)(o)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	o.Expect, o.expectsThing = members["expect"]
	return nil
}

func TestVectors(t *testing.T) {
	t.Parallel()
	f, err := os.Open(*vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran := map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		ran[v.Group]++
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			newStage(&v).play(t, v.Ops)
		})
	}
	if err := lines.Err(); err != nil || len(ran) == 0 {
		t.Fatalf("no vectors in %s: %v", *vectorsFile, err)
	}
	for _, group := range slices.Sorted(maps.Keys(ran)) {
		t.Logf("%-12s %3d run", group, ran[group])
	}
}

// stage is the collections of a vector, and what they announced.
type stage struct {
	all       *artifact.Memory
	announced []artifact.Line
	ticks     int
	limits    artifact.Limits
	last      map[string]any // the last event
}

func newStage(v *vector) *stage {
	s := &stage{limits: artifact.Limits{MaxBytes: v.Limits.MaxBytes}}
	s.all = artifact.NewMemory(artifact.MemoryConfig{
		Limits: s.limits,
		Now: func() int64 {
			s.ticks++
			if n := len(v.Clock); n > 0 {
				return v.Clock[min(s.ticks, n)-1]
			}
			return int64(s.ticks)
		},
		Device: "here",
		OnRevision: func(r artifact.Revision, content string) {
			s.announced = append(s.announced, artifact.Line{Revision: r, Content: content})
		},
	})
	return s
}

func (s *stage) collection(name string) artifact.Collection {
	if name == "" {
		name = "one"
	}
	c, err := s.all.Open(context.Background(), name)
	if err != nil {
		panic(err)
	}
	return c
}

func (s *stage) play(t *testing.T, ops []op) {
	t.Helper()
	for i, o := range ops {
		play, ok := plays[o.Op]
		if !ok {
			t.Fatalf("op %d: nobody knows how to play %s", i, o.Op)
		}
		got, err := play(t.Context(), s, &o)
		want := o.Error + o.ExpectError
		if got := code(err); got != want && (err == nil || want == "" || named(want)) {
			t.Fatalf("op %d %s: the error is %q (%v), not %q", i, o.Op, code(err), err, want)
		}
		if err != nil {
			continue
		}
		for _, why := range o.compare(plain(got)) {
			t.Errorf("op %d %s: %s\n got %s", i, o.Op, why, show(got))
		}
	}
}

// codes are our codes by the names of the vectors.
var codes = map[workflow.Code]string{
	workflow.CodeInvalidArtifactID: "invalid_id",
	workflow.CodeArtifactTooLarge:  "too_large",
	workflow.CodeSeqOutOfRange:     "seq_out_of_range",
	workflow.CodeArtifactConflict:  "conflict",
	workflow.CodeNotFound:          "not_found",
}

// named reports whether a name of the vectors is one of ours; another one stands
// for any refusal.
func named(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(codes)), name)
}

func code(err error) string {
	c := workflow.CodeOf(err)
	if name, ok := codes[c]; ok {
		return name
	}
	return string(c)
}

// none is an answer that is not there rather than an error.
func none[T any](v T, err error) (any, error) {
	if errors.Is(err, &workflow.Error{Code: workflow.CodeNotFound}) {
		return nil, nil
	}
	return v, err
}

// args are those of every op.
type args struct {
	ID                    name
	Title, Mime, Language string
	Kind                  artifact.Kind
	Content               text
	Version               *int64
	Value                 json.RawMessage
	Publication           artifact.Publication
	Store                 string
}

// name is an id; what is no string is none.
type name string

func (n *name) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*string)(n)) != nil {
		*n = "\x00"
	}
	return nil
}

// text is a string, or one that is repeated.
type text string

func (s *text) UnmarshalJSON(raw []byte) error {
	var r struct{ Repeat []any }
	if json.Unmarshal(raw, (*string)(s)) == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Repeat) != 2 {
		return fmt.Errorf("%s is no text: %w", raw, err)
	}
	*s = text(strings.Repeat(r.Repeat[0].(string), int(r.Repeat[1].(float64))))
	return nil
}

func (o *op) args() args {
	var a args
	raw := o.Args
	if o.ArgsRaw != "" {
		raw = json.RawMessage(o.ArgsRaw)
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &a); err != nil {
			panic(err)
		}
	}
	return a
}

func (a *args) draft() artifact.Draft {
	return artifact.Draft{ID: string(a.ID), Title: a.Title, Mime: a.Mime, Language: a.Language, Content: string(a.Content)}
}

var plays = map[string]func(context.Context, *stage, *op) (any, error){
	"kinds":        func(context.Context, *stage, *op) (any, error) { return artifact.Kinds(), nil },
	"kindForMime":  func(_ context.Context, _ *stage, o *op) (any, error) { return artifact.KindOf(o.args().Mime), nil },
	"isCanvas":     func(_ context.Context, _ *stage, o *op) (any, error) { return artifact.IsCanvas(o.args().Mime), nil },
	"needsSandbox": needsSandbox,
	"isValidArtifactId": func(_ context.Context, _ *stage, o *op) (any, error) {
		return artifact.CheckID(string(o.args().ID)) == nil, nil
	},
	"asArtifactRevision": func(_ context.Context, _ *stage, o *op) (any, error) {
		_, err := artifact.DecodeLine(o.args().Value)
		return err == nil, nil
	},
	"put":              put,
	"write":            write,
	"edit":             edit,
	"get":              get,
	"list":             list,
	"size":             size,
	"delete":           remove,
	"export":           export,
	"exportInto":       exportInto,
	"announced":        announced,
	"lastEvent":        func(_ context.Context, s *stage, _ *op) (any, error) { return s.last, nil },
	"mutateReturned":   mutateReturned,
	"markPublished":    markPublished,
	"clearPublication": markPublished,
	"stale":            stale,
	"loadLog":          loadLog,
	"restore":          func(ctx context.Context, s *stage, o *op) (any, error) { return s.restore(ctx, o, o.Lines) },
	"merge":            merge,
	"nextSeq":          nextSeq,
	"rehydrate":        rehydrate,
	"load":             load,
	"getStoreTwice":    getStoreTwice,
}

func needsSandbox(_ context.Context, _ *stage, o *op) (any, error) {
	a := o.args()
	if a.Kind == "" {
		a.Kind = artifact.KindOf(a.Mime)
	}
	return a.Kind.NeedsSandbox(), nil
}

func put(ctx context.Context, s *stage, o *op) (any, error) {
	a := o.args()
	r, err := s.collection(o.Store).Put(ctx, a.draft())
	if err == nil {
		s.last = plain(r.Descriptor).(map[string]any)
	}
	return r.Descriptor, err
}

func write(ctx context.Context, s *stage, o *op) (any, error) {
	a := o.args()
	r, err := s.collection(o.Store).Put(ctx, a.draft())
	if r.OverwrotePerson != (r.Note != "") {
		return nil, fmt.Errorf("the note %q does not fit", r.Note)
	}
	return r, err
}

func edit(ctx context.Context, s *stage, o *op) (any, error) {
	a := o.args()
	return none(s.collection(o.Store).Edit(ctx, artifact.Edit{Artifact: string(a.ID), Content: string(a.Content)}))
}

func get(ctx context.Context, s *stage, o *op) (any, error) {
	a := o.args()
	version := artifact.Latest
	if a.Version != nil {
		version = *a.Version
	}
	c := s.collection(o.Store)
	r, content, err := c.Read(ctx, string(a.ID), version)
	if err != nil {
		return none(any(nil), err)
	}
	whole, err := c.Get(ctx, string(a.ID))
	if err != nil {
		return nil, err
	}
	v, ok := whole.Find(r.Version)
	if !ok || v.Digest != r.Digest {
		return nil, fmt.Errorf("version %d is not the one of the list", r.Version)
	}
	rev := plain(v).(map[string]any)
	rev["content"] = content
	return map[string]any{"artifact": plain(whole), "revision": rev}, nil
}

func list(ctx context.Context, s *stage, o *op) (any, error) { return s.collection(o.Store).List(ctx) }

func size(ctx context.Context, s *stage, o *op) (any, error) {
	l, err := s.collection(o.Store).List(ctx)
	return len(l), err
}

func remove(ctx context.Context, s *stage, o *op) (any, error) {
	err := s.collection(o.Store).Delete(ctx, string(o.args().ID))
	gone, err := none(true, err)
	return gone == true, err
}

// lines are the revisions of a collection in the form in which they travel.
func lines(ctx context.Context, c artifact.Replica) (out []artifact.Line, err error) {
	for copied, err := range c.Export(ctx) {
		if err != nil {
			return nil, err
		}
		l := artifact.Line{Revision: copied.Revision}
		if !l.Deleted {
			if l.Content, err = copied.Content(ctx); err != nil {
				return nil, err
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// travelled are lines as they read when they have arrived.
func travelled(all []artifact.Line) ([]map[string]any, error) {
	out := []map[string]any{}
	for _, l := range all {
		raw, err := l.Append(nil)
		if err != nil {
			return nil, err
		}
		again, err := artifact.DecodeLine(raw)
		if err != nil || again != l {
			return nil, fmt.Errorf("%+v came back as %+v: %w", l, again, err)
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		if !l.Deleted {
			out = append(out, m)
		}
	}
	return out, nil
}

func export(ctx context.Context, s *stage, o *op) (any, error) {
	all, err := lines(ctx, s.collection(o.Store))
	if err != nil {
		return nil, err
	}
	return travelled(all)
}

func exportInto(ctx context.Context, s *stage, o *op) (any, error) {
	return s.collection(o.args().Store).Merge(ctx, s.collection(o.Store).Export(ctx))
}

func announced(_ context.Context, s *stage, _ *op) (any, error) { return travelled(s.announced) }

func mutateReturned(ctx context.Context, s *stage, o *op) (any, error) {
	a := o.args()
	whole, err := s.collection(o.Store).Get(ctx, string(a.ID))
	if err != nil {
		return nil, err
	}
	whole.Title = a.Title
	for i := range whole.Versions {
		whole.Versions[i] = artifact.Version{Digest: string(a.Content)}
	}
	descriptors, err := s.collection(o.Store).List(ctx)
	for i := range descriptors {
		descriptors[i].Title = a.Title
	}
	return nil, err
}

func markPublished(ctx context.Context, s *stage, o *op) (any, error) {
	a := o.args()
	p := &a.Publication
	if o.Op == "clearPublication" {
		p = nil
	}
	c := s.collection(o.Store)
	if _, err := c.Get(ctx, string(a.ID)); err != nil {
		return none(any(nil), err)
	}
	return c.Publish(ctx, string(a.ID), p)
}

func stale(ctx context.Context, s *stage, o *op) (any, error) {
	all, err := s.collection(o.Store).List(ctx)
	for _, d := range all {
		if d.ID == string(o.args().ID) {
			return d.Stale(), nil
		}
	}
	return false, err
}

// read takes a log and tells what became of its lines.
func (s *stage) read(ctx context.Context, o *op, log string) (loaded, skipped int, m artifact.Merged, err error) {
	copies := artifact.Copies(artifact.Lines(strings.NewReader(log), 0), func(*artifact.BadLine) { skipped++ })
	m, err = s.collection(o.Store).Merge(ctx, copies)
	return m.Added + m.Known, skipped, m, err
}

func loadLog(ctx context.Context, s *stage, o *op) (any, error) {
	loaded, skipped, _, err := s.read(ctx, o, o.Text)
	return map[string]any{"loaded": loaded, "skipped": skipped}, err
}

func (s *stage) restore(ctx context.Context, o *op, all []json.RawMessage) (any, error) {
	loaded, skipped, m, err := s.read(ctx, o, string(bytes.Join(toBytes(all), []byte("\n"))))
	return map[string]any{"loaded": loaded, "skipped": skipped, "clashes": m.Clashes}, err
}

func toBytes(all []json.RawMessage) (out [][]byte) {
	for _, raw := range all {
		out = append(out, raw)
	}
	return out
}

func merge(ctx context.Context, s *stage, o *op) (any, error) {
	clashes := []string{}
	for _, log := range o.Logs {
		_, _, m, err := s.read(ctx, o, string(bytes.Join(toBytes(log), []byte("\n"))))
		if err != nil {
			return nil, err
		}
		clashes = append(clashes, m.Clashes...)
	}
	var want struct{ Clashes *int } // some count them
	if json.Unmarshal(o.Expect, &want) == nil && want.Clashes != nil {
		return map[string]any{"clashes": len(clashes)}, nil
	}
	return map[string]any{"clashes": clashes}, nil
}

// nextSeq is the counter that the next revision would have; it is asked of a copy.
func nextSeq(ctx context.Context, s *stage, o *op) (any, error) {
	var log artifact.Log
	for c, err := range s.collection(o.Store).Export(ctx) {
		if err == nil {
			_, err = log.Add(c.Revision)
		}
		if err != nil {
			return nil, err
		}
	}
	return log.NextSeq()
}

// rehydrate is silent: the announcements of the writes are taken back by whoever
// replays, who has no listener.
func rehydrate(ctx context.Context, s *stage, o *op) (any, error) {
	quiet := artifact.NewMemory(artifact.MemoryConfig{Device: "replay", Limits: s.limits})
	c, err := quiet.Open(ctx, "one")
	if err != nil {
		return nil, err
	}
	n, err := artifact.Rehydrate(ctx, c, o.Messages)
	if err != nil {
		return nil, err
	}
	_, err = s.collection(o.Store).Merge(ctx, c.Export(ctx))
	return n, err
}

func load(ctx context.Context, s *stage, o *op) (any, error) {
	if o.Log != nil {
		if got, err := s.restore(ctx, o, *o.Log); err != nil {
			return got, err
		}
	}
	return artifact.Rehydrate(ctx, s.collection(o.Store), o.Messages)
}

func getStoreTwice(_ context.Context, s *stage, o *op) (any, error) {
	if s.collection(o.Store) == s.collection(o.Store) {
		return "same", nil
	}
	return "another", nil
}

// plain returns a value as JSON has it.
func plain(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

func show(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// compare says how an answer differs from what the op expects.
func (o *op) compare(got any) (why []string) {
	if o.expectsThing {
		var want any
		if err := json.Unmarshal(o.Expect, &want); err != nil {
			return []string{err.Error()}
		}
		if !fits(want, got, o.AnyOrder) {
			why = append(why, fmt.Sprintf("expected %s", o.Expect))
		}
	}
	why = append(why, present(got, o.Absent)...)
	if all, ok := got.([]any); ok {
		for _, each := range all {
			why = append(why, present(each, o.AbsentEach)...)
		}
	}
	if m, ok := got.(map[string]any); ok {
		why = append(why, present(m["revision"], o.AbsentRev)...)
	}
	return why
}

func present(v any, keys []string) (why []string) {
	m, _ := v.(map[string]any)
	for _, k := range keys {
		if _, there := m[k]; there {
			why = append(why, k+" is there")
		}
	}
	return why
}

// fits compares objects as subsets and lists exactly.
func fits(want, got any, anyOrder bool) bool {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		for k, v := range want {
			if there, has := m[k]; !has || !fits(v, there, anyOrder) {
				return false
			}
		}
		return ok
	case []any:
		l, ok := got.([]any)
		if !ok || len(l) != len(want) {
			return false
		}
		left := slices.Clone(l)
		for _, v := range want {
			i := 0
			if anyOrder {
				i = slices.IndexFunc(left, func(g any) bool { return fits(v, g, true) })
			}
			if i < 0 || !fits(v, left[i], anyOrder) {
				return false
			}
			left = slices.Delete(left, i, i+1)
		}
		return true
	}
	return reflect.DeepEqual(want, got)
}
