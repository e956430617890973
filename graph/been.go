package graph

import (
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// Been implements workflow.Pathfinder. A scope that is not open any more, or
// not yet, is as far as the visit it belongs to.
func (p *program) Been(id workflow.VisitID) bool {
	for {
		scope := id.Scope()
		s := p.scopes[scope]
		if s != nil {
			name, number, ok := strings.Cut(strings.TrimPrefix(string(id[len(scope):]), "/"), "#")
			n, err := strconv.Atoi(number)
			return !ok || err != nil || s.counts[name] >= n
		}
		origin, _, _ := strings.Cut(scope[strings.LastIndexByte(scope, '/')+1:], "[")
		id = workflow.VisitID(scope[:strings.LastIndexByte(scope, '/')+1] + origin)
	}
}
