package harvest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/deliverable"
)

// maxIndex bounds the index, in bytes.
const maxIndex = 1 << 20

// readIndex reads the index of the slot deliverables, if there is one.
func (t *taker) readIndex() {
	if t.spec.Contract.Slot.Kind != deliverable.SlotDeliverables {
		return
	}
	data, err := t.read(deliverable.IndexFile, maxIndex)
	var refused refusal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case errors.As(err, &refused):
		t.fault(refused.reason, deliverable.IndexFile, "%s", refused.detail)
		return
	case err != nil:
		t.fault(deliverable.HarvestError, deliverable.IndexFile, "reading it: %v", plain(err))
		return
	}
	t.out.Indexed = true
	var list struct {
		Deliverables []struct{ Path, Kind string }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.fault(deliverable.MalformedJSON, deliverable.IndexFile, `%v; it has to be {"deliverables": [{"path": "FILE", "kind": "WHAT IT IS"}]}`, err)
		return
	}
	if n := len(list.Deliverables); n > t.limits.Files {
		t.fault(deliverable.SchemaViolation, deliverable.IndexFile, "it lists %d files, at most %d can be taken", n, t.limits.Files)
		return
	}
	t.kinds = map[string]string{}
	for _, one := range list.Deliverables {
		t.listed(one.Path, one.Kind)
	}
}

// listed adds a path of the index. One that is written from the workspace on is
// understood.
func (t *taker) listed(written, kind string) {
	p := strings.TrimPrefix(written, "./")
	if rest, ok := strings.CutPrefix(p, deliverable.SlotDeliverables+"/"); ok && deliverable.CleanPath(rest) {
		if _, err := t.root.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			p = rest
		}
	}
	switch {
	case p == deliverable.IndexFile:
		return
	case !deliverable.CleanPath(p):
		t.refuse(p, deliverable.WrongTargetSlot, "is listed in "+deliverable.IndexFile+", and is no path inside of the directory")
	case slices.Contains(t.out.Listed, p):
		t.warn("%s lists %s twice", deliverable.IndexFile, p)
		return
	}
	t.out.Listed = append(t.out.Listed, p)
	t.kinds[p] = kind
}
