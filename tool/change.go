package tool

import (
	"context"
	"fmt"
)

// Change is the evidence of one write: what the file at a path was and what it
// becomes. It is journaled before the write is published.
type Change struct {
	Path   string `json:"path"`   // canonical
	Before string `json:"before"` // lower hex SHA-256, or NoFile
	After  string `json:"after"`
	Size   int64  `json:"size"` // of the new content, in bytes
}

// Fate is what became of a change that was announced before a crash.
type Fate string

// Fates.
const (
	Done    Fate = "done"     // the file is as the change leaves it
	NotDone Fate = "not-done" // the file is as it was before
	Neither Fate = "neither"  // somebody else wrote it: a person has to look
)

// FateOf decides from the digest that the file has now.
func (c Change) FateOf(now string) Fate {
	switch now {
	case c.After:
		return Done
	case c.Before:
		return NotDone
	}
	return Neither
}

// Resolve looks at the files of announced changes after a crash, later changes
// of the same path replacing earlier ones. It is Done when all are, NotDone when
// none is, and Neither otherwise.
func Resolve(ctx context.Context, f Fence, changes []Change) (Fate, error) {
	last := map[string]Change{}
	for _, c := range changes {
		if first, ok := last[c.Path]; ok {
			c.Before = first.Before
		}
		last[c.Path] = c
	}
	fates := map[Fate]int{}
	for _, c := range last {
		now, err := f.Digest(ctx, c.Path)
		if err != nil {
			return Neither, fmt.Errorf("looking what became of %s: %w", c.Path, err)
		}
		fates[c.FateOf(now)]++
	}
	switch {
	case fates[Done] == len(last) && len(last) > 0:
		return Done, nil
	case fates[NotDone] == len(last):
		return NotDone, nil
	}
	return Neither, nil
}
