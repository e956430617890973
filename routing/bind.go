package routing

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/workflow"
)

func (n *names) classNames() []string { return slices.Sorted(maps.Keys(n.classes)) }

// Rebind returns the matrix of one run, given its --model flags: NAME is used for
// everything, CLASS=NAME in place of what the class holds, fallbacks included.
// NAME may be a class too. The error is a *workflow.Error.
func (m *Matrix) Rebind(flags []string) (*Matrix, error) {
	out := *m
	out.classes, out.rules = maps.Clone(m.classes), slices.Clone(m.rules)
	out.rebound = map[string]string{}
	maps.Copy(out.rebound, m.rebound)
	typed := map[string]string{}
	for _, flag := range flags {
		class, name, isClass := strings.Cut(flag, "=")
		if !isClass {
			class, name = "", flag
		}
		if before, ok := typed[class]; ok && before != flag {
			return nil, workflow.Errorf(workflow.CodeInvalidArguments, "--model %s and --model %s contradict each other", before, flag).WithHint("keep one of them")
		}
		typed[class] = flag
		choice, err := m.Resolve(name, "")
		if err != nil {
			return nil, err
		}
		if !isClass {
			out.forRun, out.runFlag = &choice, flag
			continue
		}
		if _, ok := m.classes[class]; !ok {
			return nil, m.noClass(class, flag)
		}
		out.classes[class], out.rebound[class] = choice.Models, flag
	}
	out.refresh()
	return &out, nil
}

// refresh gives rules and flags what classes now hold.
func (m *Matrix) refresh() {
	for i := range m.rules {
		m.rules[i].choice = m.current(m.rules[i].choice)
	}
	for _, c := range []**Choice{&m.byDefault, &m.forRun} {
		if *c != nil {
			now := m.current(**c)
			*c = &now
		}
	}
	m.build()
}

func (m *Matrix) current(c Choice) Choice {
	if c.Kind == Strategy {
		c.Models = m.classes[c.Name]
	}
	return c
}

func (m *Matrix) noClass(class, flag string) error {
	all := m.classNames()
	err := workflow.Errorf(workflow.CodeModelUnknown, "--model %s: models.yaml has no class %q", flag, class)
	if near := text.Nearest(class, all); near != "" {
		return err.WithHint("did you mean --model %s=…?", near)
	}
	if len(all) == 0 {
		return err.WithHint("it has no classes; --model NAME chooses one model for everything")
	}
	return err.WithHint("classes are: %s", strings.Join(all, ", "))
}
