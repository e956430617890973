package store

import (
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/workflow"
)

// Garbage tells which runs can go: those that ended before the time, in groups
// of which every run did and none is owned. A group is what forks, parents and
// children connect. kept says of every other run why it stays.
func Garbage(heads []Head, before workflow.Time) (groups [][]workflow.RunID, kept []string) {
	top := make(map[workflow.RunID]workflow.RunID, len(heads))
	find := func(r workflow.RunID) workflow.RunID {
		for top[r] != r {
			top[r] = top[top[r]]
			r = top[r]
		}
		return r
	}
	for _, h := range heads {
		top[h.Run] = h.Run
	}
	for _, h := range heads {
		for _, near := range []workflow.RunID{h.Root, h.ChildOf, h.ForkOf} {
			if _, ok := top[near]; ok {
				top[find(near)] = find(h.Run)
			}
		}
	}
	stays := make(map[workflow.RunID]workflow.RunID) // by group: a run that keeps it
	reason := make(map[workflow.RunID]string)
	members := make(map[workflow.RunID][]workflow.RunID)
	for _, h := range heads {
		group := find(h.Run)
		members[group] = append(members[group], h.Run)
		if why := alive(h, before); why != "" {
			reason[h.Run] = why
			stays[group] = h.Run
		}
	}
	for _, h := range heads {
		group := find(h.Run)
		keeper, ok := stays[group]
		switch {
		case !ok:
			if members[group] != nil {
				groups = append(groups, members[group])
				members[group] = nil
			}
		case reason[h.Run] != "":
			kept = append(kept, fmt.Sprintf("%s: %s", h.Run, reason[h.Run]))
		default:
			kept = append(kept, fmt.Sprintf("%s: belongs to %s", h.Run, keeper))
		}
	}
	slices.Sort(kept)
	return groups, kept
}

func alive(h Head, before workflow.Time) string {
	switch {
	case h.Owner != nil:
		return fmt.Sprintf("process %d on %s owns it", h.Owner.PID, h.Owner.Host)
	case !h.Status.Terminal():
		return fmt.Sprintf("it has not ended (%s)", h.Status)
	case h.Updated >= before:
		return "it ended too recently"
	}
	return ""
}

// Digests calls f with everything in a text that could be the digest of a blob.
func Digests(text []byte, f func(workflow.Digest)) {
	const size = 64
	run := 0
	for i, c := range text {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			if run++; run >= size {
				f(workflow.Digest(text[i+1-size : i+1]))
			}
			continue
		}
		run = 0
	}
}
