package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

// literal are the params that are never filled in, by their key: they hold
// expressions, patterns, schemas and whole bodies.
var literal = []string{"expr", "continueWhen", "pattern", "schema", "structuredOutput", "body", "branches"}

// builtin are the kinds whose variables are known from their params. In a body
// with any other kind, variables are not judged.
var builtin = []string{
	"prompt", "role-turn", "decider", "verify", "shell", "artifact-contract", "openspec-validate", "openspec-archive",
	"condition", "end", "approval", "question", "gate", "assign", "implementation-step", "component", "map",
	"implementation", "join", "parallel", "wait", "workflow", "agent", "artifact",
}

// checkNames checks the names that expressions, tokens and params use.
func (c *checker) checkNames() {
	vars := c.variables()
	inputs := c.inputNames()
	for _, b := range c.bodies {
		s := &names{c: c, body: b, vars: vars[b], inputs: inputs}
		for _, name := range b.order {
			if n := b.nodes[name]; n.params != nil {
				s.checkTokens(n)
				s.checkExpressions(n)
				s.checkReferences(n)
			}
		}
	}
}

// variables returns the variables that each body can have; nil where they
// cannot be known.
func (c *checker) variables() map[*body]map[string]bool {
	all := map[*body]map[string]bool{}
	open := map[*body]bool{}
	for _, b := range c.bodies {
		vars := maps.Clone(b.given)
		vars["changeId"] = true
		if b.mapped {
			vars["item"], vars["index"] = true, true
		}
		for _, name := range b.inputs {
			vars[name] = true
		}
		for _, n := range b.nodes {
			n.assigns(vars)
			open[b] = open[b] || !slices.Contains(builtin, n.kind)
		}
		all[b] = vars
	}
	for changed := true; changed; { // branches begin with the variables around them
		changed = false
		for _, b := range c.bodies {
			for _, r := range b.references() {
				if r.branch == "" {
					continue
				}
				before := len(all[r.body])
				maps.Copy(all[r.body], all[b])
				changed = changed || len(all[r.body]) > before || open[b] && !open[r.body]
				open[r.body] = open[r.body] || open[b]
			}
		}
	}
	for b := range open {
		if open[b] {
			all[b] = nil
		}
	}
	return all
}

// assigns adds the variables that a node may set.
func (n *node) assigns(vars map[string]bool) {
	fields := n.fields
	if n.kind == workflow.KindAssign {
		for _, key := range []string{"set", "increment"} {
			for name := range object(fields[key]) {
				vars[name] = true
			}
		}
	}
	for _, raw := range array(fields["captureVars"]) {
		if name, ok := str(object(raw)["name"]); ok {
			vars[name] = true
		}
	}
}

// inputNames are the launch inputs; known is false when the schema lets in
// others than it names.
type inputNames struct {
	names    []string
	known    bool
	declared bool
}

func (c *checker) inputNames() inputNames {
	raw, declared := c.fields["inputs"]
	schema := object(raw)
	if !declared || schema == nil {
		return inputNames{declared: declared, known: !declared}
	}
	in := inputNames{declared: true, known: true, names: sortedKeys(object(schema["properties"]))}
	for _, key := range []string{"patternProperties", "unevaluatedProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"} {
		if _, ok := schema[key]; ok {
			in.known = false
		}
	}
	if more, ok := schema["additionalProperties"]; ok && string(more) != "false" {
		in.known = false
	}
	return in
}

// names judges the names used in one body.
type names struct {
	c      *checker
	body   *body
	vars   map[string]bool
	inputs inputNames
}

// checkTokens checks the {{...}} tokens of a node's params.
func (s *names) checkTokens(n *node) {
	fields := n.fields
	for _, key := range sortedKeys(fields) {
		if slices.Contains(literal, key) {
			continue
		}
		at := n.pointer + "/params/" + escape(key)
		tokens, wrong := expr.Tokens(fields[key], s.c.level)
		for _, e := range wrong {
			if !inside(literal, e.Pointer) {
				s.c.fail(workflow.Code(e.Code), at+e.Pointer, e.Message, e.Hint)
			}
		}
		unsafe := map[string]bool{}
		for _, token := range tokens {
			if inside(literal, token.Pointer) {
				continue
			}
			if pointer := at + token.Pointer; strings.HasSuffix(pointer, "/commandLine") && !unsafe[pointer] {
				unsafe[pointer] = true
				s.unsafe(pointer, token)
			}
			s.checkPath(at+token.Pointer, workflow.CodeInvalidInterpolation, "{{"+token.Text+"}}", token.Root, token.Path)
		}
	}
}

// inside reports whether a pointer passes one of the keys.
func inside(keys []string, pointer string) bool {
	return slices.ContainsFunc(segments(pointer), func(key string) bool { return slices.Contains(keys, key) })
}

func (s *names) unsafe(pointer string, token expr.Token) {
	report := s.c.fail
	if s.c.cfg.Compat.ShellInterpolation {
		report = s.c.warn
	}
	report(workflow.CodeUnsafeInterpolation, pointer, fmt.Sprintf("{{%s}} inside commandLine would become part of a shell program", token.Text),
		"use argv, where a token stays one argument, or pass it with env or stdin")
}

// checkExpressions checks the paths of a node's expressions. Those that do not
// parse are told by the piece.
func (s *names) checkExpressions(n *node) {
	fields := n.fields
	for _, at := range []struct {
		pointer string
		raw     json.RawMessage
	}{{"/expr", fields["expr"]}, {"/continueWhen", fields["continueWhen"]}, {"/over/expr", object(fields["over"])["expr"]}} {
		if src, ok := str(at.raw); ok {
			s.checkExpression(n.pointer+"/params"+at.pointer, src)
		}
	}
	if n.kind != workflow.KindComponent {
		return
	}
	inputs := object(fields["inputs"])
	for _, name := range sortedKeys(inputs) {
		if src, ok := str(inputs[name]); ok && strings.HasPrefix(src, "$") {
			s.checkArgument(n.pointer+"/params/inputs/"+escape(name), src)
		}
	}
}

func (s *names) checkExpression(pointer, src string) {
	e, err := expr.Parse(src, s.c.level)
	if err != nil {
		return
	}
	for _, p := range e.Paths() {
		s.checkPath(pointer, workflow.CodeInvalidExpression, p.String(), p.Root, p.Segments)
	}
}

// channels are what a component may be given, beyond the paths of expressions.
var channels = []string{"vars", "outputs", "history", "answers", "candidate", "verified", "item", "inputs"}

// checkArgument checks the path that a component is given as an input.
func (s *names) checkArgument(pointer, src string) {
	path := strings.Split(src[1:], ".")
	root := path[0]
	if root == "inputs" && s.c.level < 2 || !slices.Contains(channels, root) {
		s.c.fail(workflow.CodeInvalidInput, pointer, fmt.Sprintf("%q does not begin with a channel", src), orElse(near(root, channels), "write a path such as $vars.name"))
		return
	}
	s.checkPath(pointer, workflow.CodeInvalidExpression, src, root, path[1:])
}

// checkPath checks the name that a path begins with.
func (s *names) checkPath(pointer string, code workflow.Code, written, root string, path []string) {
	if len(path) == 0 || s.c.full() {
		return
	}
	name := path[0]
	switch root {
	case "outputs", "attempts", "answers":
		if s.body.nodes[name] == nil {
			s.c.strict(workflow.CodeNodeNotFound, pointer, fmt.Sprintf("%s: there is no node %q%s", written, name, s.body.where()), didYouMean(name, s.body.order))
		}
	case "vars":
		if s.vars != nil && !s.vars[name] && !strings.HasPrefix(name, "verification-") {
			s.c.strict(code, pointer, fmt.Sprintf("%s: nothing%s sets the variable %q", written, s.body.where(), name), didYouMean(name, sortedKeys(s.vars)))
		}
	case "inputs":
		switch {
		case !s.inputs.declared:
			s.c.fail(code, pointer, fmt.Sprintf("%s: the definition declares no inputs", written), "describe them with a JSON Schema below inputs: at the root")
		case s.inputs.known && !slices.Contains(s.inputs.names, name):
			s.c.fail(code, pointer, fmt.Sprintf("%s: there is no input %q", written, name), didYouMean(name, s.inputs.names))
		}
	}
}

// checkReferences checks the params that name a node.
func (s *names) checkReferences(n *node) {
	fields := n.fields
	for _, at := range []struct {
		pointer string
		raw     json.RawMessage
	}{
		{"/over/outputsOf", object(fields["over"])["outputsOf"]},
		{"/additionalCommandsFrom", fields["additionalCommandsFrom"]},
		{"/verificationProposalsFrom", fields["verificationProposalsFrom"]},
		{"/blockerFrom", fields["blockerFrom"]},
	} {
		name, ok := str(at.raw)
		if ok && s.body.nodes[name] == nil {
			s.c.strict(workflow.CodeNodeNotFound, n.pointer+"/params"+at.pointer, fmt.Sprintf("there is no node %q%s", name, s.body.where()), didYouMean(name, s.body.order))
		}
	}
}
