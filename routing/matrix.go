package routing

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/source"
)

// Matrix is what models.yaml says, with the providers that there are. It does not
// change and may be used by any number of goroutines.
type Matrix struct {
	// Warnings are findings that do not keep the file from being used.
	Warnings source.Errors

	names
	rules     []rule  // by id
	byDefault *Choice // of the rule with the empty selector
	inherit   bool
	index     map[string][]*shape // the shapes by one of their dimensions
	forRun    *Choice             // --model NAME
	runFlag   string              // what was typed
	rebound   map[string]string   // class to what was typed
}

// Routes reports whether the matrix may choose a model where nobody names one.
func (m *Matrix) Routes() bool { return len(m.rules) > 0 || m.byDefault != nil || m.forRun != nil }

// rule is a rule that selects something.
type rule struct {
	id       string
	pairs    []pair
	priority int
	choice   Choice
}

// before orders the rules that match one context: the more specific one wins, then
// the higher priority, then the smaller id.
func (r *rule) before(other *rule) int {
	return cmp.Or(cmp.Compare(len(other.pairs), len(r.pairs)), cmp.Compare(other.priority, r.priority), strings.Compare(r.id, other.id))
}

// shape is a set of dimensions, with the rules that select by just these.
type shape struct {
	dims []string
	best map[string]*rule // by the values; of equal selectors the rule that wins
}

// key appends the values that a context has for the dimensions of a shape. It
// reports false if one is missing.
func (s *shape) key(buf []byte, context []pair) ([]byte, bool) {
	for _, dim := range s.dims {
		value, ok := valueOf(context, dim)
		if !ok {
			return buf, false
		}
		buf = binary.AppendUvarint(buf, uint64(len(value)))
		buf = append(buf, value...)
	}
	return buf, true
}

// build makes the index. A shape stands under that one of its dimensions which
// the fewest shapes have, so that a context meets few that it cannot match.
func (m *Matrix) build() {
	shapes, uses := map[string]*shape{}, map[string]int{}
	var order []*shape
	for i := range m.rules {
		r := &m.rules[i]
		dims := dimensions(r.pairs)
		name := strings.Join(dims, "\x00")
		s := shapes[name]
		if s == nil {
			s = &shape{dims: dims, best: map[string]*rule{}}
			shapes[name], order = s, append(order, s)
			for _, dim := range dims {
				uses[dim]++
			}
		}
		key, _ := s.key(nil, r.pairs)
		if old := s.best[string(key)]; old == nil || r.before(old) < 0 {
			s.best[string(key)] = r
		}
	}
	m.index = map[string][]*shape{}
	for _, s := range order {
		rarest := slices.MinFunc(s.dims, func(a, b string) int { return cmp.Or(cmp.Compare(uses[a], uses[b]), strings.Compare(a, b)) })
		m.index[rarest] = append(m.index[rarest], s)
	}
	for _, list := range m.index {
		slices.SortStableFunc(list, func(a, b *shape) int { return cmp.Compare(len(b.dims), len(a.dims)) })
	}
}

// winner finds the rule that wins for a context, nil for none.
func (m *Matrix) winner(context []pair) *rule {
	var best *rule
	var space [256]byte
	buf := space[:0]
	for _, p := range context {
		for _, s := range m.index[p.dim] {
			if len(s.dims) > len(context) {
				continue
			}
			if best != nil && len(s.dims) < len(best.pairs) {
				break
			}
			var ok bool
			if buf, ok = s.key(buf[:0], context); !ok {
				continue
			}
			if r := s.best[string(buf)]; r != nil && (best == nil || r.before(best) < 0) {
				best = r
			}
		}
	}
	return best
}

// matching returns all rules that match a context, the winner first. It looks at
// every rule.
func (m *Matrix) matching(context []pair) []*rule {
	var out []*rule
	for i := range m.rules {
		if misses, _ := m.rules[i].misses(context, 1); misses == 0 {
			out = append(out, &m.rules[i])
		}
	}
	slices.SortFunc(out, (*rule).before)
	return out
}

// misses counts the dimensions in which a rule differs from a context, up to
// enough, and returns the last of them.
func (r *rule) misses(context []pair, enough int) (int, pair) {
	n, last := 0, pair{}
	for _, p := range r.pairs {
		if value, ok := valueOf(context, p.dim); !ok || value != p.value {
			n, last = n+1, p
			if n >= enough {
				break
			}
		}
	}
	return n, last
}
