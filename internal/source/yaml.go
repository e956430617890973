package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlReader turns YAML nodes into ours and refuses what JSON cannot say.
type yamlReader struct {
	text    *text
	limits  Limits
	path    []string
	aliases int // used so far
	added   int // nodes made from aliases so far
	within  int // aliases around the current node
	errs    Errors
}

func parseYAML(t *text, limits Limits) (root *node, errs Errors) {
	defer func() { // the YAML parser's own mistakes must not end the process
		if cause := recover(); cause != nil {
			root, errs = nil, Errors{{File: t.name, Code: CodeSyntax, Message: fmt.Sprintf("this YAML cannot be read: %v", cause)}}
		}
	}()
	loader, err := yaml.NewLoader(bytes.NewReader(t.data))
	if err != nil {
		return nil, Errors{t.yamlError(err)}
	}
	var doc, next yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		return &node{at: place{line: t.firstLine, column: 1}}, nil
	case err != nil:
		return nil, Errors{t.yamlError(err)}
	}
	r := &yamlReader{text: t, limits: limits}
	switch err := loader.Load(&next); {
	case err == nil:
		r.fail(&next, CodeUnsupported, "a second document", "one file holds one document: remove the line ---")
		return nil, r.errs
	case !errors.Is(err, io.EOF):
		return nil, Errors{t.yamlError(err)}
	}
	return r.value(doc.Content[0]), r.errs
}

// yamlError gives a YAML parser's error our form.
func (t *text) yamlError(err error) Error {
	var at *yaml.LoadError
	if !errors.As(err, &at) || at.Mark.Line == 0 {
		return Error{File: t.name, Code: CodeSyntax, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	message := at.Message
	if at.ContextMsg != "" {
		message += " " + at.ContextMsg
	}
	p := Position{t.name, at.Mark.Line + t.firstLine - 1, max(1, at.Mark.Column)}
	hint := ""
	if strings.Contains(message, "cannot start any token") {
		hint = "indent with spaces, and quote text that begins with @, ` or %"
	}
	return t.errorAt(p, CodeSyntax, message, hint)
}

func (r *yamlReader) place(n *yaml.Node) place {
	return place{line: n.Line + r.text.firstLine - 1, column: max(1, n.Column)}
}

// fail records an error at n and returns a stand-in, so that reading goes on.
func (r *yamlReader) fail(n *yaml.Node, code, message, hint string) *node {
	at := r.place(n)
	e := r.text.errorAt(Position{r.text.name, at.line, at.column}, code, message, hint)
	e.Pointer = pointerTo(r.path)
	r.errs = append(r.errs, e)
	return &node{at: at}
}

func (r *yamlReader) value(n *yaml.Node) *node {
	if r.within > 0 {
		if r.added++; r.added > r.limits.MaxNodes {
			return r.fail(n, CodeTooLarge, fmt.Sprintf("aliases add more than %d values", r.limits.MaxNodes), "write the values out where they are needed")
		}
	}
	if n.Style&yaml.TaggedStyle != 0 && !plainTags[n.ShortTag()] {
		return r.fail(n, CodeUnsupported, fmt.Sprintf("the tag %.40s", n.ShortTag()), "remove the tag; only values that JSON has are possible")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.alias(n)
	case yaml.ScalarNode:
		return r.scalar(n)
	}
	if len(r.path) >= r.limits.MaxDepth {
		return r.fail(n, CodeTooDeep, fmt.Sprintf("more than %d nested mappings and sequences", r.limits.MaxDepth), "")
	}
	if n.Kind == yaml.SequenceNode {
		return r.sequence(n)
	}
	return r.mapping(n)
}

var plainTags = map[string]bool{"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!null": true, "!!map": true, "!!seq": true}

// alias reads the value that an alias stands for; its place is that of the alias.
func (r *yamlReader) alias(n *yaml.Node) *node {
	if r.aliases++; r.aliases > r.limits.MaxAliases {
		return r.fail(n, CodeUnsupported, fmt.Sprintf("more than %d aliases", r.limits.MaxAliases), "write the values out where they are needed")
	}
	r.within++
	defer func() { r.within-- }()
	value := r.value(n.Alias)
	value.at = r.place(n)
	return value
}

func (r *yamlReader) sequence(n *yaml.Node) *node {
	out := &node{kind: kindArray, at: r.place(n)}
	for i, item := range n.Content {
		if r.stopped() {
			break
		}
		r.path = append(r.path, strconv.Itoa(i))
		out.items = append(out.items, r.value(item))
		r.path = r.path[:len(r.path)-1]
	}
	return out
}

func (r *yamlReader) mapping(n *yaml.Node) *node {
	out := &node{kind: kindObject, at: r.place(n)}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if r.stopped() {
			break
		}
		key := n.Content[i]
		r.path = append(r.path, key.Value)
		if r.key(key, first) {
			out.members = append(out.members, member{key.Value, r.place(key), r.value(n.Content[i+1])})
		}
		r.path = r.path[:len(r.path)-1]
	}
	return out
}

// maxErrors is where reading a YAML document full of errors ends.
const maxErrors = 100

func (r *yamlReader) stopped() bool {
	return len(r.errs) >= maxErrors || r.added > r.limits.MaxNodes || r.aliases > r.limits.MaxAliases
}

// plainText reports whether a plain key, which YAML takes for a date or a boolean,
// can only mean its characters: nobody keys by the values, and outcomes are called
// true and false.
func plainText(key *yaml.Node) bool {
	if key.Style&yaml.TaggedStyle != 0 {
		return false
	}
	return key.ShortTag() == "!!timestamp" || key.Value == "true" || key.Value == "false"
}

// key judges a mapping's key; first holds the lines of the keys so far.
func (r *yamlReader) key(key *yaml.Node, first map[string]int) bool {
	switch tag := key.ShortTag(); {
	case tag == "!!merge":
		r.fail(key, CodeUnsupported, "a merge key (<<)", "write the keys out")
		return false
	case key.Kind != yaml.ScalarNode || tag != "!!str" && !plainText(key):
		r.fail(key, CodeUnsupported, "a key that is not a string", "put the key in quotes")
		return false
	case strings.ContainsRune(key.Value, 0):
		r.fail(key, CodeEncoding, "a NUL character in a key", "remove it")
		return false
	}
	at := r.place(key)
	if line, twice := first[key.Value]; twice {
		r.errs = append(r.errs, r.text.duplicate(key.Value, Position{r.text.name, at.line, at.column}, line, r.path))
	} else {
		first[key.Value] = at.line
	}
	return true
}

func (r *yamlReader) scalar(n *yaml.Node) *node {
	out := &node{kind: kindString, value: n.Value, at: r.place(n)}
	switch n.ShortTag() {
	case "!!null":
		out.kind, out.value = kindNull, ""
	case "!!bool":
		out.kind, out.value = kindBool, strings.ToLower(n.Value)
		if out.value != "true" && out.value != "false" {
			return r.fail(n, CodeUnsupported, fmt.Sprintf("%.40q as a boolean", n.Value), "write true or false")
		}
	case "!!int", "!!float":
		digits, hint := jsonNumber(n.Value)
		if digits == "" {
			return r.fail(n, CodeNumber, fmt.Sprintf("the number %.40s has no plain meaning", n.Value), hint)
		}
		out.kind, out.value = kindNumber, digits
	default:
		if strings.ContainsRune(n.Value, 0) {
			return r.fail(n, CodeEncoding, "a NUL character in a string", "remove it")
		}
	}
	return out
}

// jsonNumber gives a YAML number in JSON's grammar, or "" and what to do.
func jsonNumber(s string) (digits, hint string) {
	const asString = "put it in quotes if it is text"
	if isNumber(s) {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return "", asString
		}
		return s, ""
	}
	plain := strings.ReplaceAll(strings.TrimPrefix(s, "+"), "_", "")
	unsigned := strings.TrimPrefix(plain, "-")
	if len(unsigned) > 1 && unsigned[0] == '0' && unsigned[1] >= '0' && unsigned[1] <= '9' {
		return "", "YAML versions disagree about a leading zero: write 0o17 for octal, or quotes for text"
	}
	if len(plain) <= 80 {
		if n, ok := new(big.Int).SetString(plain, 0); ok {
			return n.String(), ""
		}
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", asString
	}
	return strconv.FormatFloat(f, 'g', -1, 64), ""
}
