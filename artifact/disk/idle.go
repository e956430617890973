package disk

import "slices"

// maxOpen is how many collections may have their files open. Those that nobody
// used for the longest time are closed, and opened again when they are needed.
const maxOpen = 64

// visit notes that a collection is used, and lets others rest.
func (c *Collections) visit(s *collection) error {
	c.mu.Lock()
	if n := len(c.recent); n == 0 || c.recent[n-1] != s {
		c.recent = append(slices.DeleteFunc(c.recent, func(o *collection) bool { return o == s }), s)
	}
	var old []*collection
	if n := len(c.recent) - maxOpen; n > 0 {
		old = slices.Clone(c.recent[:n])
		c.recent = slices.Delete(c.recent, 0, n)
	}
	c.mu.Unlock()
	for _, o := range old {
		if err := o.rest(); err != nil {
			return err
		}
	}
	return nil
}

// rest closes the files of a collection that nobody uses; one that is used now is
// noted again by its next use.
func (s *collection) rest() error {
	if !s.turn.TryLock() {
		return nil
	}
	defer s.turn.Unlock()
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	return s.release()
}
