package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// Bounds of a store.
const (
	MaxEventBytes = 16 << 20 // JSON text of one event
	MaxInbox      = 128      // untaken controls of a run
)

// DigestOf returns the digest under which a text is stored.
func DigestOf(data []byte) workflow.Digest {
	h := sha256.Sum256(data)
	return workflow.Digest(hex.EncodeToString(h[:]))
}

// CheckRun refuses what cannot be a run id: 1 to 128 letters, digits and
// "-_.", not starting with a dot, so that it is a safe file name.
func CheckRun(run workflow.RunID) error {
	ok := len(run) > 0 && len(run) <= 128 && run[0] != '.'
	for _, c := range []byte(run) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if !ok {
		return workflow.Errorf(workflow.CodeInvalidArguments, "%q is not a run id", string(run)).
			WithHint("use 1 to 128 letters, digits, '-', '_' and '.'")
	}
	return nil
}

// Check refuses an Append that could not be right in any store. Its errors are
// mistakes of the caller: CodeInvalidArguments.
func (a Append) Check() error {
	if err := CheckRun(a.Run); err != nil {
		return err
	}
	bad := func(format string, args ...any) error {
		args = append([]any{a.Run}, args...)
		return workflow.Errorf(workflow.CodeInvalidArguments, "appending to run %s: "+format, args...)
	}
	last := a.After + int64(len(a.Events))
	switch c := a.Create; {
	case a.Epoch < 1:
		return bad("epoch %d is not one that Own gave", a.Epoch)
	case a.After < 0:
		return bad("after is %d", a.After)
	case c != nil && c.Parent == "" && (a.After != 0 || c.Cut != 0):
		return bad("a fresh run begins after event 0, not %d", max(a.After, c.Cut))
	case c != nil && c.Parent != "" && (c.Cut < 1 || a.After != c.Cut || c.Parent == a.Run):
		return bad("a fork of %s at event %d cannot begin after event %d", c.Parent, c.Cut, a.After)
	case a.Head != nil && a.Head.Run != "" && a.Head.Run != a.Run:
		return bad("the head is that of run %s", a.Head.Run)
	case a.Snapshot != nil && (a.Snapshot.Seq < 1 || a.Snapshot.Seq > last):
		return bad("a snapshot of event %d, but the last is %d", a.Snapshot.Seq, last)
	}
	for i, e := range a.Events {
		switch {
		case e.Payload == nil:
			return bad("event %d has no payload", e.Seq)
		case e.Seq != a.After+int64(i)+1:
			return bad("event %d stands where %d belongs", e.Seq, a.After+int64(i)+1)
		case e.Epoch != a.Epoch:
			return bad("event %d has epoch %d in a batch of epoch %d", e.Seq, e.Epoch, a.Epoch)
		}
	}
	for _, b := range a.Blobs {
		if DigestOf(b.Data) != b.Digest {
			return bad("a blob of %d bytes does not have the digest %s", len(b.Data), b.Digest)
		}
	}
	return nil
}

// CheckSize refuses events that are too big to keep.
func CheckSize(run workflow.RunID, records []Record) error {
	for _, r := range records {
		if len(r.Data) > MaxEventBytes {
			return workflow.Errorf(workflow.CodeInvalidArguments, "appending to run %s: event %d (%s) is %d bytes, more than %d",
				run, r.Event.Seq, r.Type, len(r.Data), MaxEventBytes).WithHint("store its values as blobs")
		}
	}
	return nil
}

// Complete returns the head as it is kept: with the run, its root, and the
// parent of a fork.
func (h Head) Complete(run workflow.RunID, parent workflow.RunID, cut int64) Head {
	h.Run = run
	if h.Root == "" {
		h.Root = run
	}
	h.ForkOf, h.Cut = parent, cut
	h.Questions, h.Detail = slices.Clone(h.Questions), slices.Clone(h.Detail)
	h.Last, h.Epoch, h.Owner = 0, 0, nil
	return h
}

// Check refuses a control that cannot be kept.
func (c Control) Check() error {
	if err := CheckRun(c.Run); err != nil {
		return err
	}
	if c.ID == "" || c.Kind == "" || len(c.Data) > 0 && !json.Valid(c.Data) {
		return workflow.Errorf(workflow.CodeInvalidArguments, "posting %q to run %s: a control needs an id, a kind and JSON data", c.ID, c.Run)
	}
	return nil
}

// Same reports whether two controls of one ID say the same.
func (c Control) Same(o Control) bool {
	return c.Kind == o.Kind && bytes.Equal(compact(c.Data), compact(o.Data))
}

func compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// Match reports whether the query selects the head; Limit is not looked at.
func (q Query) Match(h Head) bool {
	return (q.Run == "" || q.Run == h.Run) &&
		strings.HasPrefix(string(h.Run), q.Prefix) &&
		(q.Question == "" || slices.Contains(h.Questions, q.Question)) &&
		(q.ChildOf == "" || q.ChildOf == h.ChildOf) &&
		(q.ForkOf == "" || q.ForkOf == h.ForkOf) &&
		(!q.Roots || h.ChildOf == "")
}
