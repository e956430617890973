package runcontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/runcontext/token"
)

// walk tells every string value of JSON text with its pointer, members by name.
func walk(raw []byte, tell func(pointer, s string)) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) == nil {
		walkValue("", v, tell)
	}
}

func walkValue(at string, v any, tell func(pointer, s string)) {
	switch v := v.(type) {
	case string:
		tell(at, v)
	case []any:
		for i, item := range v {
			walkValue(at+pointer(i), item, tell)
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			walkValue(at+pointer(name), v[name], tell)
		}
	}
}

// alone checks what concerns one document without its base: names that are twice,
// paths, modes, declarations of inputs.
func (c *compiler) alone(doc *source.Document, s spec) {
	c.inputs(doc, s)
	for _, slot := range declarable {
		at := pointer("spec", "mounts", string(slot), "mode")
		var o struct{ Mode Mode }
		if json.Unmarshal(s.Mounts[slot], &o) == nil && o.Mode == ReadWrite && !slot.Writable() {
			c.say(place{doc, at}, FindingValue, "leave the mode out", "slot %s is always read-only", slot)
		}
	}
	once := map[string]bool{}
	twice := func(kind, name string, at ...any) {
		if once[kind+name] {
			c.say(place{doc, pointer(at...)}, FindingDuplicate, "keep one of them", "%s %q is there twice", kind, name)
		}
		once[kind+name] = true
	}
	for i, v := range s.Env {
		twice("variable", v.Name, "spec", "env", i, "name")
	}
	for i, cr := range s.Credentials {
		twice("credential", cr.Name, "spec", "credentials", i, "name")
	}
	for i, sk := range s.Skills {
		twice("skill", sk.Slug, "spec", "skills", i)
	}
	for i, seed := range s.SeedFiles {
		twice("seed file", seed.key(), "spec", "seedFiles", i, "path")
		c.seed(doc, i, seed)
	}
	if s.Agent != nil {
		for i, sub := range s.Agent.SubAgents {
			name := sub.Alias
			if name == "" {
				name = sub.Slug
			}
			twice("sub-agent", name, "spec", "agent", "subAgents", i)
		}
	}
	if s.Persistence != nil {
		for i, p := range s.Persistence.Paths {
			if why := CheckPath(p); why != "" {
				c.say(place{doc, pointer("spec", "persistence", "paths", i)}, FindingValue, "name a path inside the workspace", "%s", why)
			}
		}
	}
	if o := s.OutputSurface; o != nil && o.Kind != "none" && o.Port == 0 {
		c.say(place{doc, "/spec/outputSurface"}, FindingShape, "write the port that it listens on", "an output surface of kind %s needs a port", o.Kind)
	}
}

func (s Seed) key() string { return s.Slot.Dir() + "/" + s.Path }

func (c *compiler) seed(doc *source.Document, i int, s Seed) {
	if why := CheckPath(s.Path); why != "" {
		c.say(place{doc, pointer("spec", "seedFiles", i, "path")}, FindingValue, "name a path inside the slot", "%s", why)
	}
	if s.key() == SlotInputs.Dir()+"/"+inputsFile {
		c.say(place{doc, pointer("spec", "seedFiles", i, "path")}, FindingValue, "choose another name", "%s holds the inputs", s.key())
	}
	if (s.Template == "") == (s.Content == nil) {
		c.say(place{doc, pointer("spec", "seedFiles", i)}, FindingShape, "keep one of template and content", "a seed file has exactly one of template and content")
	}
}

// check checks the merged spec: tokens in every document against the declared
// names, and seeds against the mounted slots.
func (c *compiler) check(s spec) {
	var credentials []string
	for _, cr := range s.Credentials {
		credentials = append(credentials, cr.Name)
	}
	for _, doc := range c.docs {
		walk(doc.JSON(), func(at, value string) {
			if !strings.HasPrefix(at, "/spec/") || strings.HasPrefix(at, "/spec/inputs/") {
				return
			}
			c.tokens(place{doc, at}, value, s.Inputs, credentials)
		})
	}
	seeded := map[string]place{} // the last document of a seed counts
	for _, doc := range c.docs {
		var f file
		if doc.Decode(&f) != nil {
			continue
		}
		for i, seed := range f.Spec.SeedFiles {
			seeded[seed.key()] = place{doc, pointer("spec", "seedFiles", i, "slot")}
		}
	}
	for _, seed := range s.SeedFiles {
		if raw := s.Mounts[seed.Slot]; len(raw) == 0 || string(raw) == "false" {
			c.say(seeded[seed.key()], FindingUnknown, fmt.Sprintf("add %s: true to spec.mounts", seed.Slot), "seed file %s is in a slot that is not mounted", seed.key())
		}
	}
}

var (
	credentialPlace = text.MustPattern(`^/spec/env/[0-9]+/value$`)
	tokenPlace      = text.MustPattern(`^/spec/(env/[0-9]+/value$|seedFiles/[0-9]+/(content$|vars/)|mounts/)`)
)

// tokens checks the tokens of one text.
func (c *compiler) tokens(at place, s string, inputs map[string]declaration, credentials []string) {
	if !tokenPlace().MatchString(at.pointer) {
		if strings.Contains(s, "${") {
			c.say(at, FindingToken, "interpolation is read in mounts, seed files and values of env", "tokens are not replaced here")
		}
		return
	}
	tokens, wrong := token.Lex(s)
	for _, why := range wrong {
		c.say(at, FindingToken, token.Hint, "%s", why)
	}
	for _, t := range tokens {
		switch {
		case t.Input != "":
			c.inputToken(at, t, inputs)
		case t.Credential == "":
		case !credentialPlace().MatchString(at.pointer):
			c.say(at, FindingToken, "give the credential to the agent by a variable of env", "credential %s may stand in the values of env only", t.Credential)
		default:
			c.known(at, "credential", t.Credential, credentials)
		}
	}
}

func (c *compiler) known(at place, kind, name string, all []string) bool {
	for _, other := range all {
		if other == name {
			return true
		}
	}
	c.say(at, FindingUnknown, "declare it in spec."+kind+"s", "there is no %s %q%s", kind, name, didYouMean(name, all))
	return false
}

func (c *compiler) inputToken(at place, t token.Token, inputs map[string]declaration) {
	if !c.known(at, "input", t.Input, sortedKeys(inputs)) || t.Fallback == nil {
		return
	}
	d := inputs[t.Input]
	if why := d.problem(t.Fallback); why != "" {
		c.say(at, FindingToken, "write a default of the type of the input", "the default %s of input %q: %s", t.Fallback, t.Input, why)
	}
}
