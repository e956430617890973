package verification

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// Reuse of a result.
const (
	ReuseNever    = "never"
	ReuseSnapshot = "snapshot-local" // a passing result counts again while nothing it depends on changed
)

// Policy says how a check may be treated.
type Policy struct {
	// IndependentGroup names the neighbours that the check may run beside.
	IndependentGroup string
	// Resources are what the check uses besides its repository: ports,
	// databases, caches. nil is unknown, which nothing may run beside; empty is
	// none.
	Resources []string
	// Reuse is ReuseNever ("" too) or ReuseSnapshot.
	Reuse string
	// Deterministic and ReadOnly are the author's word that the result depends
	// on the inputs alone and that the check writes nothing.
	Deterministic, ReadOnly bool
	// Inputs are the files and directories, relative to the repository, that the
	// result depends on, dependencies included; ToolchainInputs those of the
	// machine, as absolute paths, the program itself among them.
	Inputs, ToolchainInputs []string
	// TrustExit takes exit code 0 for a pass whatever the output says.
	TrustExit bool
}

// ParsePolicy reads the policy of a check; nothing is the zero Policy. Keys and
// shapes that are not known are errors that name what is.
func ParsePolicy(raw json.RawMessage) (Policy, error) {
	var p Policy
	if len(raw) == 0 || string(raw) == "null" {
		return p, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return p, fmt.Errorf("policy has to be an object: %w", err)
	}
	into := map[string]any{
		"independentGroup": &p.IndependentGroup, "resources": &p.Resources, "reuse": &p.Reuse, "deterministic": &p.Deterministic,
		"readOnly": &p.ReadOnly, "inputs": &p.Inputs, "toolchainInputs": &p.ToolchainInputs, "trustExit": &p.TrustExit,
	}
	known := slices.Sorted(maps.Keys(into))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		to, ok := into[name]
		if !ok {
			hint := "allowed are " + strings.Join(known, ", ")
			if near := text.Nearest(name, known); near != "" {
				hint = fmt.Sprintf("did you mean %q? %s", near, hint)
			}
			return p, fmt.Errorf("policy holds %q, which is not known; %s", name, hint)
		}
		if err := json.Unmarshal(members[name], to); err != nil {
			return p, fmt.Errorf("policy.%s: %w", name, err)
		}
	}
	return p, p.check()
}

func (p Policy) check() error {
	for name, list := range map[string][]string{"resources": p.Resources, "inputs": p.Inputs, "toolchainInputs": p.ToolchainInputs} {
		if slices.Contains(list, "") {
			return fmt.Errorf("policy.%s holds an empty text; leave it out", name)
		}
	}
	switch p.Reuse {
	case "", ReuseNever:
		return nil
	case ReuseSnapshot:
	default:
		return fmt.Errorf("policy.reuse is %q; write %s or %s", p.Reuse, ReuseNever, ReuseSnapshot)
	}
	switch {
	case !p.Deterministic || !p.ReadOnly:
		return fmt.Errorf("policy.reuse %s needs deterministic: true and readOnly: true", ReuseSnapshot)
	case len(p.Inputs) == 0 || len(p.ToolchainInputs) == 0:
		return fmt.Errorf("policy.reuse %s needs inputs and toolchainInputs, with all that the result depends on", ReuseSnapshot)
	case len(p.Resources) > 0:
		return fmt.Errorf("policy.reuse %s excludes resources: what they hold is not known", ReuseSnapshot)
	}
	return nil
}

// reusable reports what keeps the result of a command from being reused.
func (p Policy) reusable(c Check) error {
	if p.Reuse != ReuseSnapshot {
		return nil
	}
	if !strings.HasPrefix(c.Command, "/") || !slices.Contains(p.ToolchainInputs, c.Command) {
		return fmt.Errorf("policy.reuse %s needs the absolute path of the program as command, listed in toolchainInputs", ReuseSnapshot)
	}
	for _, path := range p.ToolchainInputs {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("policy.toolchainInputs holds %q, which is not an absolute path", path)
		}
	}
	return nil
}

// PolicyOf reads and checks the policy of a check.
func PolicyOf(c Check) (Policy, error) {
	p, err := ParsePolicy(c.Policy)
	if err != nil {
		return p, err
	}
	return p, p.reusable(c)
}
