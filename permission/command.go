package permission

import (
	"path"
	"strings"
)

// Command is one simple command of a command line.
type Command struct {
	Words []string // name and arguments; "" for one that the text does not show
	Text  string   // as written
}

// JudgeCommands decides about the commands of one command line by the rules for
// its tool: a deny or ask holds if any command is reached, an allow only if every
// command is. None says that the rules leave it open.
func (j *Judge) JudgeCommands(tool string, commands []Command) Verdict {
	var strictest Verdict
	for i := range j.policies {
		p := &j.policies[i]
		v := p.Rules.judgeCommands(tool, commands)
		if p.Defaults != nil {
			v = p.Defaults.asked(v)
		}
		if i == 0 || v.Effect.strictness() > strictest.Effect.strictness() {
			strictest = v
		}
	}
	strictest.Tool = tool
	return strictest
}

func (s *Set) judgeCommands(tool string, commands []Command) Verdict {
	t := s.tablesOf(tool)
	for _, e := range [...]Effect{Deny, Ask} {
		if list := t.of(e); len(list.whole) > 0 {
			return wholeVerdict(list.whole[0])
		}
		for i := range commands {
			if r := s.commandRule(tool, e, &commands[i]); r != nil {
				return Verdict{Effect: e, Rule: r, Reason: "a rule names the command " + commands[i].Text}
			}
		}
	}
	if len(t.allow.whole) > 0 {
		return wholeVerdict(t.allow.whole[0])
	}
	var last *Rule
	for i := range commands {
		if last = s.commandRule(tool, Allow, &commands[i]); last == nil {
			return Verdict{Reason: "no rule speaks about the command " + commands[i].Text}
		}
	}
	if last == nil {
		return Verdict{Reason: "there is no command"}
	}
	return Verdict{Effect: Allow, Rule: last, Reason: "rules allow every command"}
}

func (s *Set) commandRule(tool string, e Effect, c *Command) *Rule {
	for _, r := range s.commands {
		if r.rule.Effect == e && ToolKey(r.rule.Tool) == ToolKey(tool) && c.matches(r.rule.Pattern, e) {
			return r.rule
		}
	}
	return nil
}

// hidden stands for a word that the text does not show. No pattern names it.
const hidden = "\x00"

// matches compares a command with a pattern. For deny and ask, the directory of
// the program does not count and words that are not shown may be anything; for
// allow the name must be shown and written without a directory, or as the pattern
// has it.
func (c *Command) matches(pattern string, e Effect) bool {
	if len(c.Words) == 0 {
		return false
	}
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = w
		if w == "" {
			words[i] = hidden
		}
	}
	if e == Allow {
		return words[0] != hidden && matchCommand(pattern, strings.Join(words, " "))
	}
	if matchCommand(pattern, strings.Join(words, " ")) || matchCommand(pattern, strings.TrimSpace(c.Text)) {
		return true
	}
	words[0] = path.Base(words[0])
	return matchCommand(pattern, strings.Join(words, " "))
}

// matchCommand knows "git diff", "git diff:*" and "git *": a pattern that ends in
// ":*" or " *" also matches the command alone.
func matchCommand(pattern, command string) bool {
	if p, ok := strings.CutSuffix(pattern, ":*"); ok {
		pattern = p + " *"
	}
	if p, ok := strings.CutSuffix(pattern, " *"); ok && matchWild(p, command) {
		return true
	}
	return matchWild(pattern, command)
}

// matchWild matches "*" to any text.
func matchWild(pattern, s string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, first)
	if !ok {
		return false
	}
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], next
	}
}
