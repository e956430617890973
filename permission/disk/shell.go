package disk

import (
	"context"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/tool"
)

// JudgeShell implements tool.Fence. Every command and every path that the text
// shows is judged; the strictest verdict is the answer.
func (f *Fence) JudgeShell(ctx context.Context, r tool.ShellRequest) error {
	commands := make([]permission.Command, len(r.Commands))
	for i, c := range r.Commands {
		commands[i] = permission.Command{Words: c.Words, Outer: c.Outer, Text: c.Text}
	}
	ruled, covered := f.judge.JudgeCommands(r.Tool, commands)
	if ruled.Effect == permission.Deny {
		return &tool.Denied{Verdict: told(&ruled)}
	}
	if f.access != permission.AccessWrite && r.Confined != tool.ConfinedReads {
		return &tool.Denied{Verdict: tool.Verdict{Tool: r.Tool, Reason: "this turn may only read, and nothing on this machine keeps commands from writing"}}
	}
	asked, err := f.judgeOperands(ctx, r)
	switch {
	case err != nil:
		return err
	case f.grantedText(&r):
		return nil
	case ruled.Effect == permission.Ask:
		return &tool.Asked{Verdict: told(&ruled)}
	case asked != nil:
		return asked
	case ruled.Effect == permission.Allow && (ruled.Rule.Whole || f.held(&r) || len(uncovered(&r, covered)) == 0):
		return nil
	}
	return f.silentShell(&r, covered)
}

// judgeOperands judges the paths. A denial is an error, a question is kept: a
// later path may be denied.
func (f *Fence) judgeOperands(ctx context.Context, r tool.ShellRequest) (asked, denied error) {
	for _, c := range r.Commands {
		for _, o := range c.Operands {
			v := f.judgePath(ctx, toolFor("bash", o.Op), o.Op, o.Base, o.Spelled)
			if v.Rule == nil && (harmless(v.Reading.Lexical) || harmless(o.Spelled)) || v.Effect == permission.Allow || f.granted(forShell(&v, r.Tool)) {
				continue
			}
			t := told(&v)
			t.Tool = r.Tool
			if o.Why != "" {
				t.Reason = o.Why + ": " + t.Reason
			}
			switch {
			case v.Reading.Kind == pathid.Refused:
				return nil, &tool.Failed{What: tool.Quote(o.Spelled) + " is no file that can be opened (" + string(v.Reading.Word) + ")"}
			case v.Effect == permission.Deny:
				return nil, &tool.Denied{Verdict: t}
			case asked == nil:
				asked = &tool.Asked{Verdict: t}
			}
		}
	}
	return asked, nil
}

// forShell is a verdict about an operand, as about the tool of the shell.
func forShell(v *permission.Verdict, name string) *permission.Verdict {
	as := *v
	as.Tool = name
	return &as
}

// harmless are devices that hold nothing.
func harmless(lexical string) bool {
	switch lexical {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	fd, ok := strings.CutPrefix(lexical, "/dev/fd/")
	return ok && len(fd) == 1 && fd[0] >= '0' && fd[0] <= '2'
}

// held reports whether the system keeps a command from what its text does not
// show. It knows roots, and no list of places in them.
func (f *Fence) held(r *tool.ShellRequest) bool {
	return r.Confined == tool.ConfinedReads || r.Confined == tool.ConfinedWrites && !f.listed
}

// silentShell decides where neither a rule nor a path settles a command line.
func (f *Fence) silentShell(r *tool.ShellRequest, covered []bool) error {
	v := tool.Verdict{Tool: r.Tool}
	opaque := uncovered(r, covered)
	switch {
	case len(opaque) > 0 && !f.held(r):
		v.Reason = "its text does not show all that it does (" + strings.Join(opaque, ", ") + "), and nothing on this machine confines it"
		if r.Confined != tool.ConfinedNot {
			v.Reason = "its text does not show all that it does (" + strings.Join(opaque, ", ") + "), and only some places may be written"
		}
	case f.mode == permission.ModeAskWrites && r.Confined != tool.ConfinedReads:
		v.Reason = "no rule allows this command, and the mode ask-writes asks about all that may write"
	default:
		return nil
	}
	if f.mode == permission.ModeLocked {
		v.Reason += "; nobody is asked in the mode locked"
		return &tool.Denied{Verdict: v}
	}
	return &tool.Asked{Verdict: v}
}

// uncovered is what the text does not show, without what is about a command that
// a rule allows. No rule about commands allows a redirection.
func uncovered(r *tool.ShellRequest, covered []bool) []string {
	var left []string
	for _, o := range r.Opaque {
		about, open := false, false
		for i := range r.Commands {
			if slices.Contains(r.Commands[i].Opaque, o) {
				about, open = true, open || !covered[i] || len(r.Commands[i].Words) == 0
			}
		}
		if !about || open {
			left = append(left, o)
		}
	}
	return left
}
