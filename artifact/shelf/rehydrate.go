package shelf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/tenonrun/tenon/artifact"
	nodes "github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/provider"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// Rehydrated tells of a collection whose log was lost what the histories of its
// runs gave back.
type Rehydrated struct {
	Versions int      `json:"versions"` // that are there again, under the ids and numbers they had
	Missing  []string `json:"missing"`  // those that no history holds, each with the reason, for people
}

// Rehydrated returns what was written again into a collection since this project
// was opened; false when nothing was.
func (s *Shelf) Rehydrated(collection string) (Rehydrated, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.again[collection]
	return r, ok
}

// rehydrate writes again what the agents, nodes and scripts of a run and its child
// runs wrote, as far as their histories tell: under the ids, numbers and times of
// then, so that several processes that do it write the same. What people wrote is
// in no history.
func (s *Shelf) rehydrate(ctx context.Context, h store.Head, name string, to artifact.Collection) error {
	var deeds []*deed
	w := walk{shelf: s, see: func(d deed) error {
		if d.Made != nil && d.Collection == name {
			deeds = append(deeds, &d)
		}
		return nil
	}}
	if _, err := w.read(ctx, []workflow.RunID{h.Run}, h.Cut, math.MaxInt64); err != nil {
		return err
	}
	if w.before != "" {
		if err := s.goOn(ctx, w.before, h.Run, to); err != nil && workflow.CodeOf(err) != workflow.CodeRunNotFound {
			return err
		}
	}
	if len(deeds) == 0 {
		return nil
	}
	r, err := s.rehydration(ctx, deeds, to)
	if err != nil {
		return err
	}
	m, err := to.Merge(ctx, r.copies(ctx))
	if err != nil {
		return fmt.Errorf("writing the artifacts of run %s again: %w", h.Run, err)
	}
	if m.Added == 0 && m.Known+len(m.Clashes) > 0 {
		return nil // nothing was lost: somebody else was a moment faster
	}
	r.gaps(deeds)
	told := Rehydrated{Versions: m.Added, Missing: append(r.report(), m.Refused...)}
	s.again[name] = told
	if s.cfg.Log != nil {
		s.cfg.Log.Warn("the log of artifacts was lost; what the history knows is written again", "run", h.Run, "versions", told.Versions, "missing", told.Missing)
	}
	return nil
}

// rehydration is a rehydrate at work.
type rehydration struct {
	shelf   *Shelf
	set     *tool.Set
	device  string
	runs    map[workflow.RunID][]*deed
	seq     map[*deed]int64
	there   map[string]int64    // the last numbers of artifacts that the collection began with
	missing map[numbered]string // why
}

func (s *Shelf) rehydration(ctx context.Context, deeds []*deed, to artifact.Replica) (*rehydration, error) {
	r := &rehydration{shelf: s, runs: map[workflow.RunID][]*deed{}, seq: map[*deed]int64{}, there: map[string]int64{}, missing: map[numbered]string{}}
	var err error
	if r.set, err = s.cfg.Tools(); err != nil {
		return nil, err
	}
	if r.device, err = s.Device(); err != nil {
		return nil, err
	}
	last := int64(0)
	for c, err := range to.Export(ctx) {
		if err != nil {
			return nil, err
		}
		last, r.there[c.Artifact] = max(last, c.Seq), max(r.there[c.Artifact], c.Version)
	}
	for i, d := range deeds {
		r.seq[d] = last + int64(i+1)
		r.runs[d.run] = append(r.runs[d.run], d)
		r.missing[numbered{d.ID, d.Version}] = "the history does not hold it"
	}
	return r, nil
}

// copies are the revisions whose contents the histories hold.
func (r *rehydration) copies(ctx context.Context) func(yield func(artifact.Copy, error) bool) {
	return func(yield func(artifact.Copy, error) bool) {
		for _, run := range slices.Sorted(maps.Keys(r.runs)) {
			err := r.steps(ctx, run, yield)
			if err == nil {
				err = r.visits(ctx, run, yield)
			}
			if errors.Is(err, errEnough) {
				return
			}
			if err != nil {
				yield(artifact.Copy{}, fmt.Errorf("reading the history of run %s: %w", run, err))
				return
			}
		}
	}
}

var errEnough = errors.New("enough")

// give hands on a write with its content, when that is the one it had.
func (r *rehydration) give(d *deed, content string, yield func(artifact.Copy, error) bool) error {
	at := numbered{d.ID, d.Version}
	if artifact.KindOf(d.Mime) != artifact.Image {
		content = r.shelf.cfg.Redactor.Redact(content)
	}
	if artifact.Digest(content) != d.Digest {
		kept, there := r.shelf.content(d.Digest, d.Bytes)
		if !there && content != "" {
			r.missing[at] = "what the history holds is another text"
		}
		if content = kept; !there {
			return nil
		}
	}
	delete(r.missing, at)
	c := artifact.Copy{
		Revision: artifact.Revision{
			ID: d.key(), Seq: r.seq[d], Device: r.device, Artifact: d.ID, Title: d.Title, Mime: d.Mime, Language: d.Language,
			Version: d.Version, Digest: d.Digest, Bytes: d.Bytes, At: d.at.Std().UnixMilli(),
		},
		Content: func(context.Context) (string, error) { return content, nil },
	}
	if !yield(c, nil) {
		return errEnough
	}
	return nil
}

// visits gives what nodes and scripts wrote: the run is folded again, so that what
// they had to write is known again.
func (r *rehydration) visits(ctx context.Context, run workflow.RunID, yield func(artifact.Copy, error) bool) error {
	wrote, visits := map[workflow.VisitID]*deed{}, map[workflow.VisitID]bool{}
	for _, d := range r.runs[run] {
		if d.step == "" {
			wrote[d.visit], visits[d.visit] = d, true
		}
	}
	err := r.shelf.cfg.Retrace(ctx, run, visits, func(p nodes.Source) error {
		d := wrote[p.Frame().Visit]
		if p.Frame().Kind != nodes.Kind {
			return nil
		}
		content, err := nodes.Content(ctx, p)
		if err != nil {
			r.missing[numbered{d.ID, d.Version}] = err.Error()
			if content = ""; ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return r.give(d, content, yield)
	})
	if workflow.CodeOf(err) == workflow.CodeResumeIncompatible { // then nobody can tell what they wrote
		return nil
	}
	return err
}

// steps gives what agents wrote: the answers of models hold the calls.
func (r *rehydration) steps(ctx context.Context, run workflow.RunID, yield func(artifact.Copy, error) bool) error {
	memos, err := r.memos(ctx, run)
	if err != nil {
		return err
	}
	for _, d := range r.runs[run] {
		if d.step == "" {
			continue
		}
		c, n := callOf(d)
		args, err := r.args(ctx, memos[c], n)
		if err != nil {
			return err
		}
		written, err := artifact.DecodeWrite(args)
		if err != nil {
			r.missing[numbered{d.ID, d.Version}] = "the history does not hold its content, which came from a file or is gone"
		}
		if err := r.give(d, written.Content, yield); err != nil {
			return err
		}
	}
	return nil
}

// call names a model call of a run.
type call struct {
	visit workflow.VisitID
	key   string
}

// callOf returns the call that asked for a step, and which of its tools that is.
func callOf(d *deed) (c call, n string) {
	at := max(0, bytes.LastIndexByte([]byte(d.step), '/'))
	return call{d.visit, d.step[:at]}, d.step[min(at+1, len(d.step)):]
}

// memos are the answers of models that asked for the writes of a run.
func (r *rehydration) memos(ctx context.Context, run workflow.RunID) (map[call]workflow.Value, error) {
	wanted, memos := map[call]bool{}, map[call]workflow.Value{}
	for _, d := range r.runs[run] {
		if d.step != "" {
			c, _ := callOf(d)
			wanted[c] = true
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	return memos, r.shelf.cfg.Runs.Events(ctx, run, 0, func(e workflow.Event) error {
		if p, ok := e.Payload.(*workflow.InvocationSettled); ok && p.Status == workflow.InvocationOK && wanted[call{e.VisitID(), p.Key}] {
			memos[call{e.VisitID(), p.Key}] = p.Memo
		}
		return nil
	})
}

// args returns the arguments of the n-th call in the memo of a model call, as the
// tool read them; nil when it has none.
func (r *rehydration) args(ctx context.Context, memo workflow.Value, n string) (json.RawMessage, error) {
	raw := memo.JSON
	if memo.Digest != "" {
		var err error
		if raw, err = r.shelf.cfg.Runs.Blob(ctx, memo.Digest); err != nil {
			return nil, err
		}
	}
	var answer provider.Response
	if len(raw) == 0 || json.Unmarshal(raw, &answer) != nil {
		return nil, nil //nolint:nilerr // it is no answer of a model: then nothing is known of the call
	}
	for i, p := range answer.ToolUses() {
		if fmt.Sprint(i+1) != n || p.Name != artifact.WriteTool {
			continue
		}
		args, err := r.set.Read(artifact.WriteTool, p.Input)
		if err != nil {
			return nil, nil //nolint:nilerr // it made no sense
		}
		return args.Raw, nil
	}
	return nil, nil
}

// gaps notes the numbers below the last one of an artifact that no history tells
// of.
func (r *rehydration) gaps(deeds []*deed) {
	slices.SortFunc(deeds, func(x, y *deed) int { return cmp.Compare(x.Version, y.Version) })
	next := map[string]int64{}
	for _, d := range deeds {
		for n := max(next[d.ID], r.there[d.ID]+1); n < d.Version; n++ {
			r.missing[numbered{d.ID, n}] = "no agent, node or script of the run wrote it, so a person did"
		}
		next[d.ID] = d.Version + 1
	}
}

// maxMissing bounds how many versions are named that are lost.
const maxMissing = 20

// report names what is missing.
func (r *rehydration) report() []string {
	list := slices.SortedFunc(maps.Keys(r.missing), func(x, y numbered) int {
		return cmp.Or(cmp.Compare(x.artifact, y.artifact), cmp.Compare(x.version, y.version))
	})
	out := []string{}
	for i, at := range list {
		if i == maxMissing {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		out = append(out, fmt.Sprintf("%s version %d: %s", at.artifact, at.version, r.missing[at]))
	}
	return out
}
