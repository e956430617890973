package artifact

import (
	"fmt"
	"slices"
)

// Receipt is the answer to a draft.
type Receipt struct {
	Descriptor Descriptor `json:"descriptor"`
	// OverwrotePerson is set when an agent replaced the current version, a person
	// had written that one, and the texts differ.
	OverwrotePerson bool `json:"overwrotePerson"`
	// PersonVersions are the versions that a person wrote since an agent wrote
	// the last one, in order.
	PersonVersions []int64 `json:"personVersions,omitempty"`
	// Note says so to the agent; "" when there is nothing to say.
	Note string `json:"note,omitempty"`
}

// Again returns the receipt of a draft whose key is in the log, as it was given
// then, whatever was written since; false when it is not there.
func (l *Log) Again(d *Draft) (Receipt, bool) {
	r := l.known[d.Key]
	if d.Key == "" || r == nil || r.Deleted || r.Artifact != d.ID {
		return Receipt{}, false
	}
	told := l.Receipt(r)
	told.Descriptor = r.describe()
	if t := l.find(r.Artifact); t != nil {
		told.Descriptor.VersionCount, told.Descriptor.Publication = len(t.live), t.publication()
	}
	return told, true
}

// Receipt returns what is to be told of a revision that is planned, or was told
// of one that is in the log. The descriptor is filled in by whoever adds it.
func (l *Log) Receipt(r *Revision) Receipt {
	t := l.find(r.Artifact)
	if t == nil || r.Author != Model {
		return Receipt{}
	}
	run, same := t.personal(r)
	if len(run) == 0 || same {
		return Receipt{}
	}
	last := run[len(run)-1]
	which := ""
	if len(run) > 1 {
		which = fmt.Sprintf(" (versions %d–%d)", run[0], last)
	}
	return Receipt{
		OverwrotePerson: true, PersonVersions: run,
		Note: fmt.Sprintf("Note: version %d was edited by a person%s and is now replaced by version %d. Read it with artifact_read before changing it again.",
			last, which, r.Version),
	}
}

// personal returns the versions of a person that a revision covers: the run of
// them up to the one before it. A person's twin of that one counts although
// another device wrote over it: nobody has read it since. same is set when the
// last of them has the content of the revision.
func (t *thing) personal(by *Revision) (run []int64, same bool) {
	list := t.sorted()
	for len(list) > 0 && !by.newer(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		now := r.Version == list[len(list)-1].Version
		switch {
		case r.Author == Person && (now || len(run) > 0):
			if len(run) == 0 {
				same = r.Digest == by.Digest
			}
			if len(run) == 0 || run[0] != r.Version {
				run = slices.Insert(run, 0, r.Version)
			}
		case !now:
			return run, same
		}
	}
	return run, same
}
