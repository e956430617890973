package files

import (
	"slices"
	"strings"

	"github.com/tenonrun/tenon/tool"
)

// best keeps the first entries, in an order, of any number of them.
type best struct {
	limit int
	order func(a, b tool.Entry) int
	list  []tool.Entry
}

func (k *best) add(e tool.Entry) {
	k.list = append(k.list, e)
	if len(k.list) >= 2*k.limit+1000 {
		k.sorted()
	}
}

func (k *best) sorted() []tool.Entry {
	slices.SortFunc(k.list, k.order)
	k.list = k.list[:min(len(k.list), k.limit)]
	return k.list
}

func byName(a, b tool.Entry) int { return strings.Compare(a.Rel, b.Rel) }
