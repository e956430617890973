package project

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/workflow"
)

// Setting is one effective value and where it came from.
type Setting struct {
	Key   string `json:"key"`   // dotted, such as "limits.timeout"
	Value string `json:"value"` // a text as it is, anything else as JSON
	From  string `json:"from"`  // flag, environment NAME, FILE:LINE:COLUMN, or default
	// Withheld tells that the value does not hold because the project is not
	// trusted.
	Withheld bool `json:"withheld,omitempty"`
}

// Settings returns every setting, sorted by key; what is withheld stands beside
// what holds instead. Keys are never shown, only the variables that hold them.
func (p *Project) Settings() []Setting { return slices.Clone(p.settings) }

// Withheld returns what the project's file asks for and does not get before it
// is trusted.
func (p *Project) Withheld() []Setting { return slices.Clone(p.withheld) }

// joined are lists to which every layer adds.
var joined = []string{"permissions.allow", "permissions.ask", "permissions.deny", "permissions.directories"}

// configure merges the layers; a later one wins.
func (p *Project) configure(all layers) error {
	trusted, err := p.Trusted()
	if err != nil {
		return err
	}
	merged := map[string]leaf{}
	for _, l := range []layer{all.defaults, all.user, all.project, all.env, all.flags} {
		for _, key := range slices.Sorted(maps.Keys(l.leaves)) {
			next := l.leaves[key]
			if l.name == all.project.name && l.name != "" && !trusted && needsTrust(key, next) {
				p.withheld = append(p.withheld, next.setting(true))
				continue
			}
			if old, ok := merged[key]; ok && slices.Contains(joined, key) {
				next = old.join(next)
			}
			merged[key] = next
		}
	}
	tree := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		plant(tree, merged[key])
		p.settings = append(p.settings, merged[key].setting(false))
	}
	p.settings = append(p.settings, p.withheld...)
	slices.SortStableFunc(p.settings, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	raw, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("merging configuration: %w", err)
	}
	if err := json.Unmarshal(raw, &p.Config); err != nil {
		return fmt.Errorf("merging configuration: %w", err)
	}
	return nil
}

// needsTrust reports whether a value from a repository gives it commands,
// rights, or a place that keys are sent to.
func needsTrust(key string, l leaf) bool {
	switch {
	case key == "verification.commands", key == "verification.setup", key == "openspec.command",
		key == "permissions.allow", key == "permissions.directories":
		return string(l.raw) != "[]"
	case len(l.path) == 3 && l.path[0] == "providers" && l.path[2] == "baseURL":
		var address string
		return json.Unmarshal(l.raw, &address) != nil || !local(address)
	}
	return false
}

// local reports whether an address stays on this machine.
func local(address string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// join adds the items of a later list to those of l.
func (l leaf) join(next leaf) leaf {
	var a, b []string
	if json.Unmarshal(l.raw, &a) != nil || json.Unmarshal(next.raw, &b) != nil {
		return next
	}
	for _, item := range b {
		if !slices.Contains(a, item) {
			a = append(a, item)
		}
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return next
	}
	return leaf{path: l.path, raw: raw, from: l.from + " and " + next.from}
}

func (l leaf) setting(withheld bool) Setting {
	s := Setting{Key: strings.Join(l.path, "."), Value: string(l.raw), From: l.from, Withheld: withheld}
	var text string
	if json.Unmarshal(l.raw, &text) == nil {
		s.Value = text
	}
	return s
}

// plant puts a leaf into a tree of objects.
func plant(tree map[string]any, l leaf) {
	for _, key := range l.path[:len(l.path)-1] {
		below, ok := tree[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			tree[key] = below
		}
		tree = below
	}
	tree[l.path[len(l.path)-1]] = l.raw
}

// Checks returns the configured verification plan and its setup, or an error
// that says how to trust the project when it has one that is withheld.
func (p *Project) Checks() (commands, setup []workflow.Check, err error) {
	for _, s := range p.withheld {
		if strings.HasPrefix(s.Key, "verification.") {
			return nil, nil, p.notTrusted(s)
		}
	}
	v := p.Config.Verification
	for i, c := range slices.Concat(v.Commands, v.Setup) {
		if _, err := verification.ParsePolicy(c.Policy); err != nil {
			where := fmt.Sprintf("verification.commands[%d]", i)
			if i >= len(v.Commands) {
				where = fmt.Sprintf("verification.setup[%d]", i-len(v.Commands))
			}
			return nil, nil, workflow.Errorf(workflow.CodeInvalidArguments, "%s.policy: %w", where, err)
		}
	}
	return v.Commands, v.Setup, nil
}

func (p *Project) notTrusted(s Setting) error {
	return workflow.Errorf(workflow.CodeNotTrusted, "%s is configured in %s, which is not trusted", s.Key, s.From).
		WithHint("read it, then type: tenon trust; or set TENON_TRUST=%s", p.digest)
}
