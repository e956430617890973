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

// Receipt returns what is to be told of a revision that is planned. The
// descriptor is filled in by whoever adds it.
func (l *Log) Receipt(r *Revision) Receipt {
	t := l.find(r.Artifact)
	if t == nil || r.Author != Model {
		return Receipt{}
	}
	run, same := t.personal(r.Digest)
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

// personal returns the versions of a person that the next revision covers: the
// run of them up to the current one. A person's twin of the current version
// counts although another device wrote over it: nobody has read it since. same is
// set when the last of them has the digest.
func (t *thing) personal(digest string) (run []int64, same bool) {
	list := t.sorted()
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		now := r.Version == t.current.Version
		switch {
		case r.Author == Person && (now || len(run) > 0):
			if len(run) == 0 {
				same = r.Digest == digest
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
