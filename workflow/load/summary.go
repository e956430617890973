package load

import (
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

// summaryLimit bounds a summary, in characters.
const summaryLimit = 120

// summary says in a few words what a node does, from its params.
func (n *node) summary() string {
	s := strings.Join(strings.Fields(n.told()), " ")
	return text.Head(s, summaryLimit, "…")
}

// told are the params of known kinds that say most.
func (n *node) told() string {
	switch n.kind {
	case workflow.KindEnd:
		return strings.TrimSpace(n.field("outcome") + " " + n.field("exit"))
	case workflow.KindMap:
		return "over " + n.over()
	case workflow.KindParallel:
		return fmt.Sprintf("%d branches", len(object(n.fields["branches"])))
	case workflow.KindAssign:
		names := append(sortedKeys(object(n.fields["set"])), sortedKeys(object(n.fields["increment"]))...)
		return strings.Join(names, ", ")
	case "verify":
		for _, key := range []string{"commands", "checks"} {
			if list := array(n.fields[key]); list != nil {
				return fmt.Sprintf("%d checks", len(list))
			}
		}
		return n.field("commands")
	case "shell":
		if argv := strs(n.fields["argv"]); argv != nil {
			return strings.Join(argv, " ")
		}
	}
	for _, key := range []string{
		"expr", "commandLine", "roleId", "agent", "composition", "ref", "name", "file", "signal", "for", "until",
		"reduce", "id", "contractId", "phase", "text", "prompt", "reason", "goal",
	} {
		if s := n.field(key); s != "" {
			return s
		}
	}
	id, _ := str(object(n.fields["nativeCommand"])["id"])
	return id
}

// over says what a map runs over.
func (n *node) over() string {
	if name := n.field("over"); name != "" {
		return name
	}
	over := object(n.fields["over"])
	if list := array(over["items"]); list != nil {
		return fmt.Sprintf("%d items", len(list))
	}
	if src, ok := str(over["expr"]); ok {
		return src
	}
	from, _ := str(over["outputsOf"])
	path, _ := str(over["path"])
	return strings.TrimSuffix(from+"."+path, ".")
}
