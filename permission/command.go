package permission

import (
	"path"
	"slices"

	"github.com/tenonrun/tenon/tool/shell/rule"
)

// Command is one simple command of a command line. rule.NotShown stands in a word
// for what the text does not show.
type Command struct {
	Words []string   // name and arguments; none for a redirection alone
	Outer [][]string // the same with the wrappers that were looked through
	Text  string     // as written
}

// JudgeCommands decides about the commands of one command line by the rules for
// its tool. A deny or ask holds if any command is reached, with or without its
// wrappers; what may be reached, for all that the text shows, is asked about. An
// allow holds only if every command is allowed; covered tells which are.
func (j *Judge) JudgeCommands(tool string, commands []Command) (v Verdict, covered []bool) {
	for i := range j.policies {
		p := &j.policies[i]
		next, allowed := p.Rules.judgeCommands(tool, commands)
		if p.Defaults != nil {
			next = p.Defaults.asked(next)
		}
		switch {
		case i == 0:
			v, covered = next, allowed
		case next.Effect == None && !p.Rules.allowsCommands(tool):
			// A layer without a word about commands narrows nothing.
		default:
			if next.Effect.strictness() > v.Effect.strictness() || next.Effect == Allow && v.Effect == Allow && !next.Rule.Whole {
				v = next
			}
			for k := range covered {
				covered[k] = covered[k] && allowed[k]
			}
		}
	}
	v.Tool = tool
	return v, covered
}

func (s *Set) allowsCommands(tool string) bool {
	return slices.ContainsFunc(s.commands, func(r *row) bool {
		return r.rule.Effect == Allow && ToolKey(r.rule.Tool) == ToolKey(tool)
	})
}

func (s *Set) judgeCommands(tool string, commands []Command) (Verdict, []bool) {
	covered := make([]bool, len(commands))
	t := s.tablesOf(tool)
	var maybe *Verdict
	for _, e := range [...]Effect{Deny, Ask} {
		if list := t.of(e); len(list.whole) > 0 {
			return wholeVerdict(list.whole[0]), covered
		}
		for i := range commands {
			r, match := s.reachedBy(tool, e, &commands[i])
			switch {
			case match == rule.Yes:
				return Verdict{Effect: e, Rule: r, Reason: "a rule names the command " + commands[i].Text}, covered
			case match == rule.Maybe && maybe == nil:
				maybe = &Verdict{Effect: Ask, Rule: r, Reason: "a rule may be about the command " + commands[i].Text + ", whose text does not show all of it"}
			}
		}
	}
	if maybe != nil {
		return *maybe, covered
	}
	if len(t.allow.whole) > 0 {
		for i := range covered {
			covered[i] = true
		}
		return wholeVerdict(t.allow.whole[0]), covered
	}
	return s.allowCommands(tool, commands, covered)
}

func (s *Set) allowCommands(tool string, commands []Command, covered []bool) (Verdict, []bool) {
	v := Verdict{Reason: "there is no command"}
	var last *Rule
	for i := range commands {
		if len(commands[i].Words) == 0 {
			covered[i] = true
			continue
		}
		r := s.allowing(tool, commands[i].Words)
		if covered[i] = r != nil; covered[i] {
			last = r
		}
	}
	if i := slices.Index(covered, false); i >= 0 {
		v.Reason = "no rule speaks about the command " + commands[i].Text
	} else if last != nil {
		v = Verdict{Effect: Allow, Rule: last, Reason: "rules allow every command"}
	}
	return v, covered
}

func (s *Set) allowing(tool string, words []string) *Rule {
	for _, r := range s.commands {
		if r.rule.Effect == Allow && ToolKey(r.rule.Tool) == ToolKey(tool) && r.command.Allows(words) {
			return r.rule
		}
	}
	return nil
}

// reachedBy finds the rule that reaches a command most. The directory of the
// program does not count.
func (s *Set) reachedBy(tool string, e Effect, c *Command) (*Rule, rule.Match) {
	var found *Rule
	most := rule.No
	for _, r := range s.commands {
		if r.rule.Effect != e || ToolKey(r.rule.Tool) != ToolKey(tool) {
			continue
		}
		for _, words := range append([][]string{c.Words}, c.Outer...) {
			if len(words) == 0 {
				continue
			}
			plain := append([]string{path.Base(words[0])}, words[1:]...)
			if m := max(r.command.Reaches(words), r.command.Reaches(plain)); m > most {
				found, most = r.rule, m
			}
		}
	}
	return found, most
}
