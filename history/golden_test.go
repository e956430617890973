package history_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/admission"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/memory"
	"github.com/tenonrun/tenon/workflow"
)

var update = flag.Bool("update", false, "write the golden histories that are not there; none is ever rewritten")

// line is one line of a golden file: an append as the store got it, or what the
// histories of the file must give.
type line struct {
	Append *appended                       `json:"append,omitempty"`
	Want   map[workflow.RunID]*expectation `json:"want,omitempty"`
}

type appended struct {
	Run    workflow.RunID             `json:"run"`
	After  int64                      `json:"after"`
	Create *store.Create              `json:"create,omitempty"`
	Events []workflow.WireEvent       `json:"events"`
	Blobs  map[workflow.Digest]string `json:"blobs,omitempty"`
}

// expectation is what a history gives: at its end, and when it is resumed.
type expectation struct {
	Status    workflow.Status            `json:"status"`
	Outputs   map[string]json.RawMessage `json:"outputs"`
	Open      []string                   `json:"open"`      // visits without a result: state, attempt
	Wishes    []string                   `json:"wishes"`    // commands that no event answers
	Questions []string                   `json:"questions"` // open ones: id, node, text
	Tokens    int64                      `json:"tokens"`
	Resumed   workflow.Status            `json:"resumed"` // where a resume ends
	Did       []string                   `json:"did"`     // commands and calls of that resume, sorted
}

// recorder is a store that writes down what is appended.
type recorder struct {
	*memory.Store
	lines []line
}

func (r *recorder) Append(ctx context.Context, a store.Append) error {
	err := r.Store.Append(ctx, a)
	if err != nil || len(a.Events) == 0 {
		return err
	}
	l := &appended{Run: a.Run, After: a.After, Create: a.Create, Blobs: map[workflow.Digest]string{}}
	for _, e := range a.Events {
		l.Events = append(l.Events, workflow.Wire(a.Run, e))
	}
	for _, b := range a.Blobs {
		l.Blobs[b.Digest] = string(b.Data)
	}
	r.lines = append(r.lines, line{Append: l})
	return nil
}

// append puts a recorded batch into a store.
func (l *appended) append(s store.Store) error {
	a := store.Append{Run: l.Run, After: l.After, Create: l.Create}
	for _, w := range l.Events {
		p, err := workflow.DecodePayload(w.Type, w.Data)
		if err != nil {
			return err
		}
		a.Epoch = w.Epoch
		a.Events = append(a.Events, workflow.Event{
			Seq: w.Seq, At: w.At, Epoch: w.Epoch, ID: w.ID, Node: w.Node, Visit: w.Visit,
			Attempt: w.Attempt, Invocation: w.Invocation, Payload: p,
		})
	}
	for d, text := range l.Blobs {
		a.Blobs = append(a.Blobs, store.Blob{Digest: d, Data: []byte(text)})
	}
	return s.Append(context.Background(), a)
}

// load makes a store of the first n appends of a golden file; all, when n is
// negative. It returns the runs in the order of their beginning.
func load(t *testing.T, lines []line, n int) (s *memory.Store, runs []workflow.RunID) {
	t.Helper()
	s = memory.New()
	for i, l := range lines {
		if l.Append == nil || n >= 0 && i >= n {
			continue
		}
		if err := l.Append.append(s); err != nil {
			t.Fatalf("append %d of run %s: %v", i+1, l.Append.Run, err)
		}
		if !slices.Contains(runs, l.Append.Run) {
			runs = append(runs, l.Append.Run)
		}
	}
	return s, runs
}

// replay folds a run.
func replay(t *testing.T, h *host, s *memory.Store, run workflow.RunID) *history.State {
	t.Helper()
	state := &history.State{ID: run, Values: history.NewLayered(texts{s})}
	err := s.Events(context.Background(), run, 0, func(e workflow.Event) error {
		if err := state.Replay(e, h.programs); err != nil {
			return fmt.Errorf("event %d, %s of %s: %w", e.Seq, e.Type(), e.ID, err)
		}
		return nil
	})
	if err == nil {
		err = state.Decide()
	}
	if err != nil {
		t.Fatalf("run %s: %v", run, err)
	}
	return state
}

type texts struct{ s store.Store }

func (b texts) Load(d workflow.Digest) ([]byte, error) { return b.s.Blob(context.Background(), d) }

// look describes what a history gives today.
func look(t *testing.T, lines []line, run workflow.RunID) *expectation {
	t.Helper()
	h := newHost(t)
	s, _ := load(t, lines, -1)
	state := replay(t, h, s, run)
	res, err := state.Result(state.Status())
	if err != nil {
		t.Fatal(err)
	}
	x := &expectation{
		Status: res.Status, Outputs: res.Outputs, Tokens: res.Usage.Input + res.Usage.Output,
		Open: []string{}, Wishes: []string{}, Questions: []string{}, Did: []string{},
	}
	for _, st := range []admission.State{admission.Wanted, admission.Running, admission.Waiting, admission.Refused, admission.Lost} {
		for _, o := range state.Gate.InState(st) {
			x.Open = append(x.Open, fmt.Sprintf("%s %s attempt %d", o.Command.Visit, st, o.Attempt))
		}
	}
	for _, c := range state.Wishes {
		x.Wishes = append(x.Wishes, fmt.Sprintf("%T %s", c, c.CommandID()))
	}
	for _, q := range res.Questions {
		x.Questions = append(x.Questions, q.ID+" "+q.Node+": "+q.Text)
	}
	resumed, err := h.engine(s).Drive(t.Context(), run, "golden")
	if err != nil {
		t.Fatalf("resuming run %s: %v", run, err)
	}
	x.Resumed, x.Did = resumed.Status, append(x.Did, h.did()...)
	return x
}

func read(t *testing.T, name string) []line {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []line
	in := bufio.NewScanner(bytes.NewReader(raw))
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, l)
	}
	return out
}

// write keeps a new golden file.
func write(t *testing.T, name string, lines []line) {
	t.Helper()
	want := line{Want: map[workflow.RunID]*expectation{}}
	_, runs := load(t, lines, -1)
	for _, run := range runs {
		want.Want[run] = look(t, lines, run)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	for _, l := range append(lines, want) {
		if err := e.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

const golden = "testdata/golden"

// TestRecord writes the golden files that are missing. A file that is there
// stays: it is the word of an older binary.
func TestRecord(t *testing.T) {
	t.Parallel()
	for name, play := range plays {
		file := filepath.Join(golden, name+".jsonl")
		_, err := os.Stat(file)
		switch {
		case err == nil:
		case !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		case !*update:
			t.Errorf("%s is not there; record it: go test ./history -update", file)
		default:
			rec := &recorder{Store: memory.New()}
			play(newActor(t, rec))
			write(t, file, rec.lines)
		}
	}
}

// TestGolden folds the histories that older binaries wrote and compares what
// they give with what they gave then.
func TestGolden(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob(filepath.Join(golden, "*.jsonl"))
	if err != nil || len(all) == 0 && !*update {
		t.Fatalf("there are no golden histories (%v)", err)
	}
	for _, name := range all {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			lines := read(t, name)
			if len(lines) < 2 || lines[len(lines)-1].Want == nil {
				t.Fatal("the file is not whole: its last line says what it must give")
			}
			for run, want := range lines[len(lines)-1].Want {
				got := look(t, lines, run)
				if a, b := indent(t, got), indent(t, want); a != b {
					t.Errorf("run %s gives\n%s\nwant\n%s", run, a, b)
				}
			}
		})
	}
}

// TestGoldenPrefixes resumes every beginning of every golden history, as after
// a crash of the older binary, and from snapshots on the way.
func TestGoldenPrefixes(t *testing.T) {
	t.Parallel()
	all, err := filepath.Glob(filepath.Join(golden, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			lines := read(t, name)
			for n := 1; n < len(lines); n++ {
				s, runs := load(t, lines, n)
				h := newHost(t)
				for _, run := range runs {
					same(t, h, replay(t, h, s, run))
				}
				last := lines[n-1].Append.Run
				if _, err := h.engine(s).Drive(t.Context(), last, "golden"); err != nil {
					t.Fatalf("after %d appends run %s does not go on: %v", n, last, err)
				}
				replay(t, h, s, last)
			}
		})
	}
}

// same restores a state from its snapshot and compares the two.
func same(t *testing.T, h *host, s *history.State) {
	t.Helper()
	raw, err := s.Encode()
	if err != nil {
		t.Fatalf("run %s: %v", s.ID, err)
	}
	again := &history.State{ID: s.ID, Values: s.Values}
	if err := again.Restore(raw, s.Seq, h.programs); err != nil {
		t.Fatalf("run %s: %v", s.ID, err)
	}
	twice, err := again.Encode()
	if err != nil || !bytes.Equal(raw, twice) {
		t.Errorf("the snapshot of run %s at %d comes back as another (%v):\n%s\n%s", s.ID, s.Seq, err, raw, twice)
	}
}

func indent(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
