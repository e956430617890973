package permission

import "github.com/tenonrun/tenon/internal/pathid"

// reach is how a row was reached.
type reach struct {
	row     *row
	variant *variant
	view    View
	path    string
}

// eachView calls yield for every view of a reading until it returns false.
func (r *Reading) eachView(yield func(View, string) bool) {
	if !yield(Lexical, r.Lexical) {
		return
	}
	if r.Canonical != "" && r.Canonical != r.Lexical && !yield(Canonical, r.Canonical) {
		return
	}
	for _, hop := range r.Hops {
		if !yield(Hop, hop) {
			return
		}
	}
}

// tighten finds a row of a deny or ask table that reaches one view of a path.
func (t *table) tighten(view View, path string, family pathid.Family, fold Fold) (reach, bool) {
	if len(t.rows) == 0 {
		return reach{}, false
	}
	f := folding{fold: fold}
	if family == pathid.Win32 {
		f = folding{fold: Fold{Case: true, Norm: fold.Norm}, tails: true}
	}
	var names [48]string
	parts := splitPath(names[:0], path, family)
	if f != (folding{}) {
		for i := range parts {
			parts[i] = f.name(parts[i])
		}
	}
	var found [16]hit
	for _, h := range t.tries[f.index()]().find(parts, found[:0], t.plain) {
		r := t.rows[h.row]
		v := &r.variants[h.variant]
		if len(r.carves) == 0 || r.reached(v, parts, f) {
			return reach{row: r, variant: v, view: view, path: path}, true
		}
	}
	return reach{}, false
}

// admit finds a row of an allow table that admits every view of a path. keep says
// which rows count; nil for all.
func (t *table) admit(r *Reading, fold Fold, keep func(*Rule) bool) (reach, bool) {
	if len(t.rows) == 0 || !r.Known() {
		return reach{}, false
	}
	var names [48]string
	parts := splitPath(names[:0], r.Canonical, r.Family)
	var found [16]hit
	// The canonical view must match as the disk spells it; the others may differ as
	// far as the volume takes them for the same.
	for _, h := range t.tries[0]().find(parts, found[:0], false) {
		row := t.rows[h.row]
		v := &row.variants[h.variant]
		if keep != nil && !keep(row.rule) || len(row.carves) > 0 && !row.reached(v, parts, folding{}) {
			continue
		}
		if row.admitsOthers(r, fold) {
			return reach{row: row, variant: v, view: Canonical, path: r.Canonical}, true
		}
	}
	return reach{}, false
}

// admitsOthers reports whether a row admits the views beside the canonical one.
func (r *row) admitsOthers(reading *Reading, fold Fold) bool {
	f := folding{fold: fold}
	if reading.Family == pathid.Win32 {
		f.fold.Case = true
	}
	ok := true
	reading.eachView(func(view View, path string) bool {
		if path != reading.Canonical {
			ok = r.admits(path, reading.Family, f)
		}
		return ok
	})
	return ok
}

func (r *row) admits(path string, family pathid.Family, f folding) bool {
	var names [48]string
	parts := splitPath(names[:0], path, family)
	if f != (folding{}) {
		for i := range parts {
			parts[i] = f.name(parts[i])
		}
	}
	for i := range r.variants {
		v := &r.variants[i]
		if !v.allow {
			continue
		}
		if len(r.carves) > 0 {
			if r.reached(v, parts, f) {
				return true
			}
			continue
		}
		found := false
		p := &v.pattern
		if f != (folding{}) {
			q := p.folded(f)
			p = &q
		}
		p.levels(parts, func(int) bool {
			found = true
			return false
		})
		if found {
			return true
		}
	}
	return false
}
