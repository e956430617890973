package disk

import (
	"github.com/tenonrun/tenon/internal/pathid"
	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/tool"
)

// Grant is the answer of a person who was asked. It lets through what would be
// asked about again, and nothing that is denied.
type Grant struct {
	Tool  string  // that was asked for
	Op    tool.Op // that was asked for; with OpWrite, reading is granted too
	Path  string  // canonical, as the question showed it; with Text the directory in which the command line starts; empty for a call without a path
	Below bool    // all that is below Path too
	Text  string  // of a whole command line, as asked about; empty for a path
}

// Granting returns a fence that knows further answers. It shares the handle of f.
func (f *Fence) Granting(grants ...Grant) *Fence {
	more := *f
	more.grants = append(append([]Grant(nil), f.grants...), grants...)
	return &more
}

// granted reports whether a person has allowed what a verdict asks about.
func (f *Fence) granted(v *permission.Verdict) bool {
	if v.Effect != permission.Ask {
		return false
	}
	for i := range f.grants {
		g := &f.grants[i]
		if g.Text != "" || permission.ToolKey(g.Tool) != permission.ToolKey(v.Tool) {
			continue
		}
		if v.Reading.Kind == pathid.NoPath {
			if g.Path == "" {
				return true
			}
			continue
		}
		if g.Path == "" || !g.covers(v.Reading.Canonical) {
			continue
		}
		if op := tool.Op(v.Op); op == g.Op || g.Op == tool.OpWrite && op != tool.OpWrite {
			return true
		}
	}
	return false
}

func (g *Grant) covers(canonical string) bool {
	return canonical == g.Path || g.Below && canonical != "" && within(canonical, g.Path)
}

// grantedText reports whether a person has allowed a whole command line.
func (f *Fence) grantedText(r *tool.ShellRequest) bool {
	for i := range f.grants {
		if g := &f.grants[i]; g.Text != "" && g.Text == r.Text && g.Path == r.Cwd && permission.ToolKey(g.Tool) == permission.ToolKey(r.Tool) {
			return true
		}
	}
	return false
}
