package load

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// body is a graph as far as it can be understood, however broken its document
// is.
type body struct {
	name      string // "" is the root; else a component, or the path of a body written in place
	pointer   string
	component bool
	parent    *body // of a body written in place
	entry     string
	nodes     map[string]*node
	order     []string // names, sorted
	inputs    []string
	outputs   []string
	exhausted string
	mapped    bool            // it is the body of a map
	given     map[string]bool // variables that those who refer to it pass in
}

// node is a node as far as it can be understood.
type node struct {
	name    string
	pointer string
	kind    string
	params  json.RawMessage // an object, or nil
	fields  map[string]json.RawMessage
	ends    map[string]*string
	label   string
	group   string
	retry   workflow.Retry
	broken  bool // its shape says too little to judge what depends on it
	traits  piece.Traits
	known   bool // the kind is known and the traits hold
	refs    []*ref
}

// ref is the use of a body by a node.
type ref struct {
	pointer string
	branch  string // of a parallel
	name    string // of the component, or of the body written in place
	inline  bool
	body    *body // nil when there is none
}

var defaultOutputs = []string{"next", "failed"}

// exits are the outcomes that a node which runs the body must wire.
func (b *body) exits() []string {
	if b.outputs == nil {
		return defaultOutputs
	}
	return b.outputs
}

// readBody reads what it can; raw may be anything.
func readBody(raw json.RawMessage, name, pointer string) *body {
	fields := object(raw)
	b := &body{name: name, pointer: pointer, nodes: map[string]*node{}, given: map[string]bool{}}
	b.entry, _ = str(fields["entry"])
	b.exhausted, _ = str(fields["onExhausted"])
	b.inputs, b.outputs = strs(fields["inputs"]), strs(fields["outputs"])
	for id, raw := range object(fields["nodes"]) {
		b.nodes[id] = readNode(raw, id, pointer+"/nodes/"+escape(id))
	}
	b.order = slices.Sorted(maps.Keys(b.nodes))
	return b
}

func readNode(raw json.RawMessage, name, pointer string) *node {
	n := &node{name: name, pointer: pointer, ends: map[string]*string{}}
	fields := object(raw)
	n.kind, _ = str(fields["kind"])
	n.label, _ = str(fields["label"])
	n.group, _ = str(fields["group"])
	if json.Unmarshal(fields["retry"], &n.retry) != nil {
		n.retry = workflow.Retry{}
	}
	if n.fields = object(fields["params"]); n.fields != nil {
		n.params = fields["params"]
	}
	ends := object(fields["ends"])
	n.broken = n.kind == "" || n.params == nil || ends == nil
	for outcome, raw := range ends {
		to, ok := str(raw)
		switch {
		case ok:
			n.ends[outcome] = &to
		case string(raw) == "null":
			n.ends[outcome] = nil
		default:
			n.ends[outcome] = nil
			n.broken = true
		}
	}
	return n
}

// outcomes are the wired outcomes, sorted.
func (n *node) outcomes() []string { return slices.Sorted(maps.Keys(n.ends)) }

// field returns a param that is a text, or "".
func (n *node) field(name string) string {
	s, _ := str(n.fields[name])
	return s
}

// object returns the members of a JSON object; nil for anything else.
func object(raw json.RawMessage) map[string]json.RawMessage {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	m := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func array(raw json.RawMessage) []json.RawMessage {
	var a []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &a) != nil {
		return nil
	}
	return a
}

func str(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// strs returns the texts of a list; nil when it is none.
func strs(raw json.RawMessage) []string {
	var out []string
	for _, e := range array(raw) {
		if s, ok := str(e); ok {
			out = append(out, s)
		}
	}
	return out
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// escape makes a key a part of a JSON pointer.
func escape(key string) string { return escaper.Replace(key) }

func index(i int) string { return "/" + strconv.Itoa(i) }
