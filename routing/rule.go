package routing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/internal/text"
)

// readRules reads the rules of a file.
func (l *loader) readRules() {
	ids, same := map[string]int{}, map[string][]int{}
	for i, r := range l.file.Rules {
		at := "/rules/" + strconv.Itoa(i)
		if first, ok := ids[r.ID]; ok && r.ID != "" {
			l.say(at+"/id", FindingDuplicate, "give each rule its own id", "the id %q is already that of rule %d", r.ID, first+1)
		} else {
			ids[r.ID] = i
		}
		choice := l.target(at+"/target", r.Target)
		pairs := r.Selector.pairs()
		if len(pairs) == 0 && l.told(at+"/selector") {
			continue
		}
		key := selectorKey(pairs)
		for _, earlier := range same[key] {
			if l.sameSelector(earlier, i, len(pairs) == 0) {
				break
			}
		}
		same[key] = append(same[key], i)
		if len(pairs) == 0 {
			l.byDefault = &choice
			continue
		}
		l.rules = append(l.rules, rule{id: r.ID, pairs: pairs, priority: r.Priority, choice: choice})
	}
}

// sameSelector tells of two rules for the same contexts: with the same priority
// nobody can say which is meant, and otherwise one of them never counts. It
// reports whether that is an error.
func (l *loader) sameSelector(first, second int, empty bool) bool {
	a, b := l.file.Rules[first], l.file.Rules[second]
	at := "/rules/" + strconv.Itoa(second)
	switch {
	case empty:
		l.say(at+"/selector", FindingDuplicate, "keep one default rule", "rule %q already has the empty selector", a.ID)
		return true
	case a.Priority == b.Priority:
		l.say(at+"/selector", FindingDuplicate, "remove one, or give them different priorities", "rule %q has the same selector and priority", a.ID)
		return true
	}
	lower, higher := a, b
	if b.Priority < a.Priority {
		lower, higher = b, a
	} else {
		at = "/rules/" + strconv.Itoa(first)
	}
	l.Warnings = append(l.Warnings, l.doc.Locate(source.Error{
		Pointer: at + "/selector", Code: FindingUnused,
		Message: fmt.Sprintf("rule %q never wins: rule %q has the same selector and a higher priority", lower.ID, higher.ID),
	}))
	return false
}

// selectorKey is the same for equal selectors.
func selectorKey(pairs []pair) string {
	var b strings.Builder
	for _, p := range pairs {
		b.WriteString(strconv.Quote(p.dim) + strconv.Quote(p.value))
	}
	return b.String()
}

// target reads what a rule leads to.
func (l *loader) target(at string, t fileTarget) Choice {
	switch {
	case t.ModelID != "" && t.Class != "":
		l.say(at, FindingValue, "write modelId for one model, modelClass for a class", "a target has modelId and modelClass")
	case t.ModelID == "" && t.Class == "":
		if !l.told(at) {
			l.say(at, FindingValue, "write modelId for one model, modelClass for a class", "a target has no model")
		}
	case t.Kind == Concrete && t.Class != "", t.Kind == Strategy && t.ModelID != "":
		l.say(at+"/kind", FindingValue, "a concrete target has modelId, a strategy modelClass", "the kind %q does not fit", t.Kind)
	case t.Class != "" && t.Provider != "":
		l.say(at+"/providerSlug", FindingValue, "leave it out", "a class names providers itself")
	case t.Class != "":
		return l.targetClass(at, t.Class)
	default:
		if _, ok := l.file.Classes[t.ModelID]; ok {
			l.say(at, FindingValue, "write modelClass: "+t.ModelID, "%q is a class", t.ModelID)
			break
		}
		c, _ := l.resolve(at, t.ModelID, t.Provider)
		return c
	}
	return Choice{}
}

// told reports whether something is already said of a value or what is in it.
func (l *loader) told(at string) bool {
	return slices.ContainsFunc(l.found, func(e source.Error) bool { return e.Pointer == at || strings.HasPrefix(e.Pointer, at+"/") })
}

func (l *loader) targetClass(at, name string) Choice {
	models, ok := l.classes[name]
	if _, written := l.file.Classes[name]; !ok && !written {
		hint := "it has no classes yet"
		if all := l.classNames(); len(all) > 0 {
			hint = "classes are: " + strings.Join(all, ", ")
			if near := text.Nearest(name, all); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
		}
		l.say(at, FindingUnknown, hint, "models.yaml has no class %q", name)
	}
	return Choice{Kind: Strategy, Name: name, Models: models}
}
