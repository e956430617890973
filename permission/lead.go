package permission

import (
	"context"
)

// leads makes the twins of patterns: the same pattern where its head leads.
type leads struct {
	ctx   context.Context
	env   Env
	scope Scope
	seen  map[string]*Lead
	roots [][]string // writable directories, as spelled and where they lead
}

// of says where a location leads; nil when nowhere else or when nothing answers.
func (l *leads) of(location string) *Lead {
	if l.env == nil {
		return nil
	}
	if lead, ok := l.seen[location]; ok {
		return lead
	}
	var found *Lead
	lead, err := l.env.Lead(l.ctx, location)
	if err == nil && lead.To != "" && lead.To != location {
		found = &lead
	}
	l.seen[location] = found
	return found
}

// variants gives the pattern of a row and its twins. A row that can do nothing
// has none.
func (l *leads) variants(r *row) []variant {
	p := &r.pattern
	if r.rule.Whole || p.unusable != "" && (r.rule.Effect == Allow || p.carve) {
		return nil
	}
	list := []variant{{pattern: *p, allow: true}}
	head := p.head()
	for n := 1; n <= len(head); n++ {
		location := joinPath(head[:n], l.scope.Family)
		lead := l.of(location)
		if lead == nil {
			continue
		}
		to := components(lead.To, l.scope.Family)
		if to == nil {
			continue
		}
		twin := variant{pattern: p.moved(n, to), from: location, to: lead.To, allow: l.outside(location, lead)}
		if !covered(list, twin) {
			list = append(list, twin)
		}
	}
	return list
}

func covered(list []variant, twin variant) bool {
	for i := range list {
		if len(list[i].pattern.segs) != len(twin.pattern.segs) || !list[i].allow && twin.allow {
			continue
		}
		same := true
		for j, s := range list[i].pattern.segs {
			same = same && s.kind == twin.pattern.segs[j].kind && s.text == twin.pattern.segs[j].text
		}
		if same {
			return true
		}
	}
	return false
}

// outside reports whether no link on the way of a lead lies inside a directory
// that agents may write: what an agent or a repository can make must not widen an
// allow.
func (l *leads) outside(location string, lead *Lead) bool {
	links := lead.Links
	if len(links) == 0 {
		links = []string{location}
	}
	for _, link := range links {
		if l.inWritable(link) {
			return false
		}
	}
	return true
}

func (l *leads) inWritable(link string) bool {
	if l.roots == nil {
		l.roots = [][]string{}
		for _, dir := range append([]string{l.scope.Root}, l.scope.Writable...) {
			if parts := components(dir, l.scope.Family); parts != nil {
				l.roots = append(l.roots, parts)
			}
			if lead := l.of(dir); lead != nil {
				l.roots = append(l.roots, components(lead.To, l.scope.Family))
			}
		}
	}
	at := components(link, l.scope.Family)
	for _, root := range l.roots {
		if len(at) > len(root) && hasPrefix(at, root) {
			return true
		}
	}
	return false
}

func hasPrefix(path, dir []string) bool {
	if len(path) < len(dir) {
		return false
	}
	for i := range dir {
		if path[i] != dir[i] {
			return false
		}
	}
	return true
}

// reached reports whether a row with carve-outs holds for a path. What lies in a
// directory that the row blocks as a whole cannot be taken out.
func (r *row) reached(v *variant, path []string, f folding) bool {
	blocked := false
	p := v.pattern.folded(f)
	p.levels(path, func(n int) bool {
		blocked = !r.carvedAt(path[:n], f)
		return !blocked
	})
	return blocked
}

// carvedAt reports whether a carve-out names exactly this path, or all that is
// below a directory that holds it.
func (r *row) carvedAt(path []string, f folding) bool {
	for _, c := range r.carves {
		for i := range c.variants {
			if !c.variants[i].allow && r.rule.Effect != Allow {
				continue
			}
			found := false
			p := c.variants[i].pattern.folded(f)
			p.levels(path, func(n int) bool {
				found = n == len(path) || p.below
				return !found
			})
			if found {
				return true
			}
		}
	}
	return false
}
