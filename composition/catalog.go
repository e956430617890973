package composition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/version"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
)

// Catalog is all that can be named, of all tiers. It does not change and may be
// used by any number of goroutines.
type Catalog struct {
	items []*Item
	named map[naming][]*Item
	slugs map[Kind][]string
}

type naming struct {
	kind Kind
	name string
}

// NewCatalog makes a catalog; the order of the items does not count.
func NewCatalog(items []Item) *Catalog {
	c := &Catalog{named: map[naming][]*Item{}, slugs: map[Kind][]string{}}
	for i := range items {
		it := items[i]
		c.items = append(c.items, &it)
	}
	slices.SortStableFunc(c.items, func(a, b *Item) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name(), b.Name()), rankOf(a, b),
			strings.Compare(a.Version, b.Version), cmp.Compare(boolInt(a.Stored), boolInt(b.Stored)), strings.Compare(a.Source, b.Source),
			strings.Compare(a.Digest, b.Digest))
	})
	for _, it := range c.items {
		key := naming{it.Kind, it.Name()}
		if len(c.named[key]) == 0 {
			c.slugs[it.Kind] = append(c.slugs[it.Kind], it.Name())
		}
		c.named[key] = append(c.named[key], it)
	}
	return c
}

// rankOf orders by how specific the source is.
func rankOf(a, b *Item) int {
	return cmp.Or(cmp.Compare(a.Tier.rank(), b.Tier.rank()), cmp.Compare(a.Place, b.Place))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Items returns the items of a kind, by name, the most specific first. They must
// not be changed.
func (c *Catalog) Items(kind Kind) []*Item {
	var out []*Item
	for _, it := range c.items {
		if it.Kind == kind {
			out = append(out, it)
		}
	}
	return out
}

// Shadows tells which files nobody gets by their name, as a more specific one has
// the same.
func (c *Catalog) Shadows() source.Errors {
	var out source.Errors
	for _, kind := range Kinds() {
		for _, name := range c.slugs[kind] {
			var first *Item
			for _, it := range c.named[naming{kind, name}] {
				switch {
				case it.Stored:
				case first == nil:
					first = it
				default:
					e := it.Position("")
					e.Code, e.Message = FindingShadow, fmt.Sprintf("the %s %s of the tier %s is hidden by %s (%s)", kind, name, it.Tier, first.Source, first.Tier)
					e.Hint = "rename one of them, or remove the one that is not wanted"
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// fault is why a reference leads to nothing.
type fault struct {
	code, message, hint string
	cause               error
}

// Find returns what a reference stands for. The error is source.Errors without a
// place.
func (c *Catalog) Find(kind Kind, ref Ref, o Options) (*Item, error) {
	it, f := c.find(kind, ref, o)
	if f != nil {
		return nil, source.Errors{{Code: f.code, Message: f.message, Hint: f.hint}}
	}
	return it, nil
}

// find looks in the tiers, the most specific first, for one that has a published
// version that fits.
func (c *Catalog) find(kind Kind, ref Ref, o Options) (*Item, *fault) {
	q, err := version.ParseRequest(ref.Version)
	if err != nil {
		return nil, &fault{code: FindingReference, message: err.Error()}
	}
	items := c.named[naming{kind, ref.Name()}]
	if o.Shared {
		items = slices.DeleteFunc(slices.Clone(items), func(it *Item) bool { return it.Tier == TierUser })
	}
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && rankOf(items[from], items[to]) == 0 {
			to++
		}
		if it, f := pick(items[from:to], q, o); it != nil || f != nil {
			return it, f
		}
		from = to
	}
	return nil, c.missing(kind, ref, items)
}

// pick chooses among the items of one place. A file as it is now comes before what
// is kept.
func pick(items []*Item, q version.Request, o Options) (*Item, *fault) {
	var live, kept *Item
	exact, one := q.Exact()
	for _, it := range items {
		v, _ := version.Parse(it.Version)
		usable := it.Lifecycle == Published && !retired(items, it) || it.Lifecycle == Draft && o.Draft
		switch {
		case !it.Stored && it.Err != nil && (!one || exact == it.Version):
			return nil, broken(it)
		case it.Err != nil || !usable || !q.Fits(v, it.Version, it.Revision) || it.Stored && it.Implicit && !one:
		case it.Stored:
			kept = newer(kept, it)
		case live != nil && tied(live, it):
			return nil, &fault{code: FindingAmbiguous, message: fmt.Sprintf("%s and %s are both the %s %s", live.Source, it.Source, it.Kind, it.Name()),
				hint: "rename one of them, or give them different versions"}
		default:
			live = newer(live, it)
		}
	}
	if live == nil {
		return kept, nil
	}
	for _, it := range items {
		if it.Stored && !live.Implicit && live.Lifecycle == Published && it.Version == live.Version && it.Digest != live.Digest {
			return nil, &fault{code: FindingVersion, message: fmt.Sprintf("%s differs from the %s %s@%s that was published", live.Source, it.Kind, it.Name(), it.Version),
				hint: "a published version never changes: give the file a new version, or write lifecycle: draft"}
		}
	}
	return live, nil
}

// retired reports whether a file is a version that was archived.
func retired(items []*Item, it *Item) bool {
	return !it.Stored && slices.ContainsFunc(items, func(o *Item) bool {
		return o.Lifecycle == Archived && o.Version == it.Version && o.Digest == it.Digest
	})
}

// newer gives the one with the higher version; a pre-release is chosen only where
// there is nothing else.
func newer(a, b *Item) *Item {
	if a == nil {
		return b
	}
	va, _ := version.Parse(a.Version)
	vb, _ := version.Parse(b.Version)
	if (va.Pre == "") != (vb.Pre == "") {
		if va.Pre == "" {
			return a
		}
		return b
	}
	if va.Compare(vb) < 0 {
		return b
	}
	return a
}

func tied(a, b *Item) bool {
	va, _ := version.Parse(a.Version)
	vb, _ := version.Parse(b.Version)
	return va.Compare(vb) == 0 && a.Digest != b.Digest
}

func broken(it *Item) *fault {
	return &fault{code: FindingBroken, message: fmt.Sprintf("the %s %s cannot be used", it.Kind, it.Name()), hint: "mend " + it.Source, cause: it.Err}
}

// missing says why nothing was found.
func (c *Catalog) missing(kind Kind, ref Ref, items []*Item) *fault {
	if len(items) == 0 {
		near := text.Nearest(ref.Name(), c.slugs[kind])
		hint := fmt.Sprintf("there is no %s of that name; tenon %s ls lists them", kind, kind)
		switch {
		case near != "":
			hint = fmt.Sprintf("did you mean %q?", near)
		case len(c.slugs[kind]) == 0:
			hint = fmt.Sprintf("there are no %ss: write one in .tenon/%ss", kind, kind)
		case kind == KindSkill:
			hint = "there is no skill of that name in .tenon/skills, .claude/skills or the other tiers"
		}
		return &fault{code: FindingMissing, message: fmt.Sprintf("the %s %s is not there", kind, ref), hint: hint}
	}
	q, _ := version.ParseRequest(ref.Version)
	var versions []string
	for _, it := range items {
		v, _ := version.Parse(it.Version)
		fits := q.Fits(v, it.Version, it.Revision)
		switch {
		case fits && it.Lifecycle == Draft:
			return &fault{code: FindingNotPublished, message: fmt.Sprintf("the %s %s is a draft", kind, it.Ref()), hint: "publish it, or allow drafts with --draft"}
		case fits && it.Lifecycle == Archived:
			return &fault{code: FindingNotPublished, message: fmt.Sprintf("the %s %s is archived", kind, it.Ref()),
				hint: "only those who pinned it in a lock get it: name another version"}
		case it.Lifecycle == Published && !slices.Contains(versions, it.Version):
			versions = append(versions, it.Version)
		}
	}
	hint := "publish a version first"
	if len(versions) > 0 {
		hint = "there are: " + strings.Join(versions, ", ")
	}
	return &fault{code: FindingMissing, message: fmt.Sprintf("the %s %s has no published version %s", kind, ref.Name(), cmp.Or(ref.Version, "latest")), hint: hint}
}
