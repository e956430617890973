package permission

import (
	"context"
	"sync"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/tool/shell/rule"
)

// Scope is what patterns of rules are about. All directories are absolute.
type Scope struct {
	Family   pathid.Family // of the tree; Posix when not said and Root does not show it
	Root     string        // of the task
	Home     string        // what "~" means in rules that do not say
	Writable []string      // further directories that agents may write, beside Root
	Tools    []string      // names of the tools that exist, for warnings; none: the tools of this package
}

// row is a compiled rule.
type row struct {
	rule     *Rule
	index    int
	pattern  pattern
	command  rule.Rule // of a tool that runs commands
	variants []variant // the pattern first, then its twins
	carves   []*row    // later rows that take something out of this one
}

// variant is a pattern as written or with one location replaced by where it leads.
type variant struct {
	pattern  pattern
	from, to string // of a twin
	allow    bool   // it may allow
}

// Set is a list of rules, compiled. It does not change and may be used by any
// number of goroutines.
type Set struct {
	scope    Scope
	rules    []Rule
	rows     []*row
	tables   map[string]*tables // by key of a tool
	warnings []Warning
	commands []*row
}

// tables are the rules for one tool.
type tables struct {
	deny, ask, allow table
}

func (t *tables) of(e Effect) *table {
	switch e {
	case Deny:
		return &t.deny
	case Ask:
		return &t.ask
	}
	return &t.allow
}

// table is the rules of one effect for one tool.
type table struct {
	whole []*row
	rows  []*row
	plain bool // no row has carve-outs
	tries [foldings]func() *trie
}

// Compile prepares rules. The environment says where their locations lead; it may
// be nil. Rules that can do nothing are told by Warnings.
func Compile(ctx context.Context, rules []Rule, scope Scope, env Env) *Set {
	if scope.Family == pathid.None {
		scope.Family = pathid.ReadingFamily(scope.Root, "", "")
	}
	s := &Set{scope: scope, rules: append([]Rule(nil), rules...), tables: map[string]*tables{}}
	leads := &leads{ctx: ctx, env: env, scope: scope, seen: map[string]*Lead{}}
	for i := range s.rules {
		s.addRow(&s.rules[i], i)
	}
	s.carve()
	for _, r := range s.rows {
		r.variants = leads.variants(r)
	}
	s.index()
	s.warn()
	return s
}

func (s *Set) addRow(r *Rule, index int) {
	key := ToolKey(r.Tool)
	switch {
	case r.Effect == None:
	case !r.Whole && has(commandTools, key):
		command, err := rule.Parse(r.Pattern)
		if err != nil && r.Effect == Allow {
			return // it holds a NUL, which no command does
		}
		s.commands = append(s.commands, &row{rule: r, index: index, command: command})
	case r.Whole || !has(plainTools, key):
		at := places{root: s.scope.Root, anchor: r.Anchor, home: r.Home, family: s.scope.Family}
		if at.home == "" {
			at.home = s.scope.Home
		}
		w := &row{rule: r, index: index}
		if !r.Whole {
			w.pattern = parsePattern(r, at)
		}
		s.rows = append(s.rows, w)
	case r.Effect != Allow:
		// The tool has no path that could be told apart: its calls are all meant.
		whole := *r
		whole.Whole = true
		s.rows = append(s.rows, &row{rule: &whole, index: index})
	}
}

// carve gives every row the later carve-outs of its own list.
func (s *Set) carve() {
	for i, r := range s.rows {
		if r.rule.Whole || r.pattern.carve || !r.pattern.relative {
			continue
		}
		for _, c := range s.rows[i+1:] {
			if c.pattern.carve && c.pattern.unusable == "" && c.rule.Effect == r.rule.Effect &&
				c.rule.Source.Name == r.rule.Source.Name && carvesFrom(c.rule, r.rule) {
				r.carves = append(r.carves, c)
			}
		}
	}
}

// carvesFrom reports whether a carve-out speaks about all that a rule is for, or
// at least about the tools that both name.
func carvesFrom(carve, rule *Rule) bool {
	return reaches(ToolKey(carve.Tool), ToolKey(rule.Tool))
}

func (s *Set) index() {
	keys := append([]string(nil), pathTools...)
	for _, r := range s.rows {
		if key := ToolKey(r.rule.Tool); !has(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		t := &tables{}
		for _, r := range s.rows {
			if !reaches(ToolKey(r.rule.Tool), key) {
				continue
			}
			list := t.of(r.rule.Effect)
			switch {
			case r.rule.Whole:
				list.whole = append(list.whole, r)
			case !r.pattern.carve && len(r.variants) > 0:
				list.rows = append(list.rows, r)
			}
		}
		for _, list := range []*table{&t.deny, &t.ask, &t.allow} {
			list.prepare()
		}
		s.tables[key] = t
	}
}

// prepare makes the tries when they are needed first.
func (t *table) prepare() {
	rows, allow := t.rows, false
	t.plain = true
	for _, r := range rows {
		t.plain = t.plain && len(r.carves) == 0
	}
	if len(rows) > 0 {
		allow = rows[0].rule.Effect == Allow
	}
	for i := range t.tries {
		f := foldingOf(i)
		t.tries[i] = sync.OnceValue(func() *trie {
			made := &trie{}
			for ri, r := range rows {
				for vi := range r.variants {
					if v := &r.variants[vi]; v.allow || !allow {
						p := v.pattern.folded(f)
						made.insert(p.segs, hit{row: ri, variant: vi})
					}
				}
			}
			return made
		})
	}
}

// none is what holds for a tool that no rule names.
var noTables = func() *tables {
	t := &tables{}
	t.deny.prepare()
	t.ask.prepare()
	t.allow.prepare()
	return t
}()

func (s *Set) tablesOf(tool string) *tables {
	if t := s.tables[ToolKey(tool)]; t != nil {
		return t
	}
	return noTables
}

// Paths reports whether some rule for a tool is about paths. Without one, the
// tool's calls need no reading for this Set.
func (s *Set) Paths(tool string) bool {
	t := s.tablesOf(tool)
	return len(t.deny.rows)+len(t.ask.rows)+len(t.allow.rows) > 0
}

// Rules returns the rules in the order given.
func (s *Set) Rules() []Rule { return append([]Rule(nil), s.rules...) }

// Warnings tells which rules can do nothing or not what they seem to say.
func (s *Set) Warnings() []Warning { return append([]Warning(nil), s.warnings...) }
