package deliverable

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// Pick finds the spec that a reference names, the newest where it names no
// version. The error is a *workflow.Error: there is none, or there are two.
func Pick(specs []*Spec, ref Ref) (*Spec, error) {
	var found []*Spec
	var slugs, versions []string
	for _, s := range specs {
		slugs = append(slugs, s.Slug)
		if s.Slug != ref.Slug {
			continue
		}
		versions = append(versions, s.Version)
		if ref.Version == "" || ref.Version == s.Version {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, unknown(ref, slugs, versions)
	}
	slices.SortStableFunc(found, func(a, b *Spec) int { return -newer(a.Version, b.Version) })
	for _, other := range found[1:] {
		if other.Version == found[0].Version && other.Digest != found[0].Digest {
			return nil, workflow.Errorf(workflow.CodeInvalidArguments, "two different deliverable specs are %s", Ref{ref.Slug, found[0].Version}).
				WithHint("give one of them another version")
		}
	}
	return found[0], nil
}

func unknown(ref Ref, slugs, versions []string) error {
	err := workflow.Errorf(workflow.CodeDeliverableUnknown, "there is no deliverable spec %s", ref)
	slices.Sort(slugs)
	slugs = slices.Compact(slugs)
	switch near := text.Nearest(ref.Slug, slugs); {
	case len(versions) > 0:
		slices.SortFunc(versions, newer)
		return err.WithHint("versions are: %s", strings.Join(versions, ", "))
	case near != "":
		return err.WithHint("did you mean %q?", near)
	case len(slugs) > 0:
		return err.WithHint("specs are: %s", strings.Join(slugs, ", "))
	}
	return err.WithHint("write it into .tenon/specs/%s.yaml", ref.Slug)
}

// newer compares versions: numbers as numbers, and what follows a hyphen before
// the same without it.
func newer(a, b string) int {
	a, _, _ = strings.Cut(a, "+")
	b, _, _ = strings.Cut(b, "+")
	aMain, aPre, aHas := strings.Cut(a, "-")
	bMain, bPre, bHas := strings.Cut(b, "-")
	if c := parts(aMain, bMain); c != 0 {
		return c
	}
	if aHas != bHas {
		if aHas {
			return -1
		}
		return 1
	}
	return parts(aPre, bPre)
}

func parts(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		n, errN := strconv.ParseUint(x, 10, 64)
		m, errM := strconv.ParseUint(y, 10, 64)
		if errN == nil && errM == nil {
			return cmp.Compare(n, m)
		}
		return strings.Compare(x, y)
	})
}
