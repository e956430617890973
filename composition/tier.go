package composition

import (
	"slices"

	"github.com/tenonrun/tenon/workflow"
)

// Tier says whose something is. What is more specific comes first.
type Tier string

// Tiers, the most specific first.
const (
	TierUser    Tier = "user"
	TierProject Tier = "project"
	TierOrg     Tier = "org"
	TierBiome   Tier = "biome"
	TierSystem  Tier = "system"
)

// Tiers lists the tiers, the most specific first.
func Tiers() []Tier { return []Tier{TierUser, TierProject, TierOrg, TierBiome, TierSystem} }

// rank orders tiers; an unknown one is the least specific.
func (t Tier) rank() int {
	if i := slices.Index(Tiers(), t); i >= 0 {
		return i
	}
	return len(Tiers())
}

// Lifecycle says whether something can be used.
type Lifecycle string

// Lifecycles.
const (
	Draft     Lifecycle = "draft"     // can change; resolved only for its author
	Published Lifecycle = "published" // never changes
	Archived  Lifecycle = "archived"  // kept for those who pinned it
)

// To checks a change of the lifecycle: a draft is published, what is published is
// archived, and nothing goes back.
func (l Lifecycle) To(next Lifecycle) error {
	if l == Draft && next == Published || l == Published && next == Archived {
		return nil
	}
	hint := "a published version never changes: publish a new version"
	if l == Draft {
		hint = "publish it first"
	}
	return workflow.Errorf(workflow.CodeInvalidArguments, "what is %s cannot become %s", l, next).WithHint("%s", hint)
}
