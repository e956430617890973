package verification

import "slices"

// MaxConcurrency is the largest number of checks that run at once.
const MaxConcurrency = 4

// Waves splits a plan into groups of indexes that may run together, in order.
// Checks share a wave when they follow each other, name the same independent
// group, work on different repositories, and declare resources that do not
// overlap. Everything else runs alone. most is held to 1..MaxConcurrency.
func Waves(checks []Check, most int) [][]int {
	most = max(1, min(most, MaxConcurrency))
	var waves [][]int
	var group string
	var repositories, resources []string
	for i, c := range checks {
		p, err := PolicyOf(c)
		free := err == nil && p.IndependentGroup != "" && p.Resources != nil
		last := len(waves) - 1
		joins := free && group == p.IndependentGroup && last >= 0 && len(waves[last]) < most &&
			!slices.Contains(repositories, c.Repository()) &&
			!slices.ContainsFunc(p.Resources, func(r string) bool { return slices.Contains(resources, r) })
		if joins {
			waves[last] = append(waves[last], i)
		} else {
			waves = append(waves, []int{i})
			group, repositories, resources = "", nil, nil
			if free {
				group = p.IndependentGroup
			}
		}
		repositories, resources = append(repositories, c.Repository()), append(resources, p.Resources...)
	}
	return waves
}
