package runcontext

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/source"
)

// builtinVersion is the version of every built-in base.
const builtinVersion = "1.0.0"

// Bases returns the built-in bases as slug@version, in order.
func Bases() []string {
	entries, err := builtin.ReadDir("bases")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml")+"@"+builtinVersion)
	}
	return out
}

// base finds the text of a base and the name of its file.
func base(ref string, given map[string][]byte) (string, []byte, bool) {
	if text, ok := given[ref]; ok {
		return ref + ".yaml", text, true
	}
	slug, version, _ := strings.Cut(ref, "@")
	if version != builtinVersion {
		return "", nil, false
	}
	text, err := builtin.ReadFile("bases/" + slug + ".yaml")
	return ref + ".yaml", text, err == nil
}

// inherit merges the base into f. The base is checked by itself first; a base that
// has a base is refused.
func (c *compiler) inherit(f *file, doc *source.Document, given map[string][]byte) error {
	at := place{doc, "/extends"}
	f.Extends = f.Extends[strings.Index(f.Extends, "manifest/")+len("manifest/"):]
	name, text, ok := base(f.Extends, given)
	if !ok {
		all := slices.Concat(Bases(), slices.Sorted(maps.Keys(given)))
		c.say(at, FindingExtends, "known: "+strings.Join(all, ", "), "there is no manifest %s to extend%s", f.Extends, didYouMean(f.Extends, all))
		return nil
	}
	before := len(c.found)
	b, _, err := c.read(name, text)
	if err != nil {
		return err
	}
	if b == nil || len(c.found) > before {
		c.say(at, FindingExtends, "mend the base", "manifest %s, which this one extends, has defects", f.Extends)
		return nil
	}
	if own := b.Metadata.Slug + "@" + b.Metadata.Version; own != f.Extends {
		c.say(at, FindingExtends, "correct the metadata of the base", "what is found as %s calls itself %s", f.Extends, own)
	}
	if b.Extends != "" {
		c.say(at, FindingExtends, "bases do not extend others; write what is inherited into one of them", "manifest %s extends %s itself", f.Extends, b.Extends)
		return nil
	}
	slices.Reverse(c.docs) // the base first
	if f.Metadata.SurfaceCompat == nil {
		f.Metadata.SurfaceCompat = b.Metadata.SurfaceCompat
	}
	f.Spec = merge(b.Spec, f.Spec)
	return nil
}

// merge adds the child to its base. Mounts, inputs and whatever has a name: the
// child's counts. agent, persistence and outputSurface are replaced as a whole.
// Permissions narrow, so what either denies is denied, and what either does not
// allow is not allowed.
func merge(b, child spec) spec {
	out := spec{
		Inputs: union(b.Inputs, child.Inputs), Mounts: union(b.Mounts, child.Mounts), Agent: whole(b.Agent, child.Agent),
		SeedFiles:     lastOf(b.SeedFiles, child.SeedFiles, Seed.key),
		Env:           lastOf(b.Env, child.Env, func(v variable) string { return v.Name }),
		Skills:        lastOf(b.Skills, child.Skills, func(s SkillRef) string { return s.Slug }),
		Credentials:   lastOf(b.Credentials, child.Credentials, func(c Credential) string { return c.Name }),
		ToolSelection: slices.Concat(b.ToolSelection, child.ToolSelection),
		Persistence:   whole(b.Persistence, child.Persistence), OutputSurface: whole(b.OutputSurface, child.OutputSurface),
		Permissions: whole(b.Permissions, child.Permissions),
	}
	if b.Permissions != nil && child.Permissions != nil {
		p, q := b.Permissions.Tools, child.Permissions.Tools
		out.Permissions = &Permissions{Tools: ToolClasses{Deny: sortedSet(slices.Concat(p.Deny, q.Deny)), Allow: both(p.Allow, q.Allow)}}
	}
	return out
}

// both are the classes that both lists allow; a nil list allows all.
func both(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	out := []string{}
	for _, class := range a {
		if slices.Contains(b, class) {
			out = append(out, class)
		}
	}
	return out
}

func union[K comparable, V any](b, child map[K]V) map[K]V {
	out := make(map[K]V, len(b)+len(child))
	maps.Copy(out, b)
	maps.Copy(out, child)
	return out
}

func whole[T any](b, child *T) *T {
	if child != nil {
		return child
	}
	return b
}

// lastOf concatenates, keeping the place of the first and the value of the last of
// one name.
func lastOf[T any](b, child []T, name func(T) string) []T {
	var out []T
	for _, item := range slices.Concat(b, child) {
		if i := slices.IndexFunc(out, func(o T) bool { return name(o) == name(item) }); i >= 0 {
			out[i] = item
			continue
		}
		out = append(out, item)
	}
	return out
}

// compacted returns the distinct values of JSON, in the order of their text.
func compacted(in []json.RawMessage) []json.RawMessage {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	return slices.CompactFunc(out, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}
