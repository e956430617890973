package permission

import (
	"context"
	"strings"

	"github.com/tenonrun/tenon/internal/pathid"
)

// Mode is how much is done without a person.
type Mode string

// Modes.
const (
	ModeDefault   Mode = "default"
	ModeAskWrites Mode = "ask-writes" // writes that no rule allows are asked about
	ModeLocked    Mode = "locked"     // what would be asked about is denied
)

// Access is what a turn may do with files at all.
type Access string

// Accesses. The zero value is AccessRead.
const (
	AccessRead  Access = "read"
	AccessWrite Access = "write"
)

// Defaults is what holds when no rule speaks, and what rules of a repository
// cannot lift. Make it with NewDefaults.
type Defaults struct {
	Mode     Mode
	Access   Access
	family   pathid.Family
	roots    [][]string // work tree and added directories, as spelled and where they lead
	readable [][]string // further directories that may be read
	private  [][]string // never read or written
	guarded  [][]string // written only with a rule of the user
}

// DefaultsConfig is what Defaults are made from. All directories are absolute.
type DefaultsConfig struct {
	Mode     Mode   // empty: ModeDefault
	Access   Access // empty: AccessRead
	Roots    []string
	Readable []string
	Home     string
	// Private are the program's own places, such as its state; the key stores of Home
	// are added.
	Private []string
	Family  pathid.Family // None: that of the first root
}

// keyStores and startup are below a home; guardedDirs and startup below a root.
var (
	keyStores   = []string{".ssh", ".gnupg", ".aws", ".config/gh"}
	guardedDirs = []string{".tenon", ".claude"}
	startup     = []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
		".config/fish", ".config/git", ".gitconfig",
	}
)

// NewDefaults prepares defaults. The environment says where the directories lead;
// it may be nil.
func NewDefaults(ctx context.Context, c DefaultsConfig, env Env) *Defaults {
	d := &Defaults{Mode: c.Mode, Access: c.Access, family: c.Family}
	if d.Mode == "" {
		d.Mode = ModeDefault
	}
	if d.Access == "" {
		d.Access = AccessRead
	}
	if d.family == pathid.None && len(c.Roots) > 0 {
		d.family = pathid.Of(c.Roots[0])
	}
	add := func(to *[][]string, dir string, below ...string) {
		for _, at := range d.forms(ctx, env, dir) {
			*to = append(*to, at)
		}
		for _, name := range below {
			at := components(dir, d.family)
			if at == nil {
				return
			}
			at = append(at, strings.Split(name, "/")...)
			*to = append(*to, at)
			for _, led := range d.forms(ctx, env, joinPath(at, d.family)) {
				*to = append(*to, led)
			}
		}
	}
	for _, root := range c.Roots {
		add(&d.roots, root)
		var here [][]string
		add(&here, root, append(append([]string(nil), guardedDirs...), startup...)...)
		d.guarded = append(d.guarded, here[len(d.forms(ctx, env, root)):]...)
	}
	for _, dir := range c.Readable {
		add(&d.readable, dir)
	}
	for _, dir := range c.Private {
		add(&d.private, dir)
	}
	if c.Home != "" {
		var here [][]string
		skip := len(d.forms(ctx, env, c.Home))
		add(&here, c.Home, keyStores...)
		d.private = append(d.private, here[skip:]...)
		here = nil
		add(&here, c.Home, startup...)
		d.guarded = append(d.guarded, here[skip:]...)
	}
	return d
}

// forms gives the components of a directory and of the place where it leads.
func (d *Defaults) forms(ctx context.Context, env Env, dir string) [][]string {
	var list [][]string
	at := components(dir, d.family)
	if at == nil {
		return nil
	}
	list = append(list, at)
	if env == nil {
		return list
	}
	if lead, err := env.Lead(ctx, joinPath(at, d.family)); err == nil && lead.To != "" {
		if to := components(lead.To, d.family); to != nil && !(len(to) == len(at) && hasPrefix(to, at)) {
			list = append(list, to)
		}
	}
	return list
}

// over lays the defaults over what the rules of a policy say.
func (d *Defaults) over(v Verdict, p *Policy, q *question) Verdict {
	if v.Effect == Deny {
		return v
	}
	r := &q.protective
	if q.op == OpWrite && d.Access != AccessWrite {
		return d.says(Deny, "this turn may only read", "write access was not given to this turn")
	}
	if r.Kind == pathid.AtPath {
		if view, path, ok := d.in(r, d.isPrivate, q.folds); ok {
			return at(d.says(Deny, "keys and the program's own state are closed", "it is a place of keys or of the program itself"), view, path)
		}
	}
	if v.Effect == Ask {
		return d.asked(v)
	}
	if r.Kind == pathid.AtPath && q.op == OpWrite {
		if view, path, ok := d.in(r, d.isGuarded, q.folds); ok {
			t := p.Rules.tablesOf(q.tool)
			if got, ok := t.allow.admit(q.allowed(), q.folds, func(r *Rule) bool { return r.Owner() != Repository }); ok {
				return ruleVerdict(got)
			}
			return at(d.asked(d.says(Ask, "places that run code are guarded; only a rule of the user opens them", "what is written there may be run later")), view, path)
		}
	}
	if v.Effect == Allow {
		return v
	}
	return d.silent(q)
}

// Owner says whose word the rule is.
func (r *Rule) Owner() Owner { return r.Source.Owner }

func at(v Verdict, view View, path string) Verdict {
	v.View, v.Path = view, path
	return v
}

func (d *Defaults) says(e Effect, name, reason string) Verdict {
	return Verdict{Effect: e, Default: name, Reason: reason}
}

// asked is what an ask is in the mode.
func (d *Defaults) asked(v Verdict) Verdict {
	if v.Effect == Ask && d.Mode == ModeLocked {
		v.Effect = Deny
		v.Reason += "; nobody is asked in the mode locked"
	}
	return v
}

// silent decides where no rule speaks.
func (d *Defaults) silent(q *question) Verdict {
	r := &q.protective
	switch r.Kind {
	case pathid.Refused:
		return Verdict{}
	case pathid.Unreadable:
		return d.asked(d.says(Ask, "a path that cannot be located is asked about", r.Reason))
	case pathid.NoPath:
		return d.says(Allow, "a call without a path is allowed", "it names no path")
	}
	if !r.Known() {
		return d.asked(d.says(Ask, "a path that cannot be followed to its end is asked about", unknown(r)))
	}
	view, path, outside := d.in(r, func(path []string, f Fold) bool { return !d.inRoots(path) }, Fold{})
	switch {
	case q.op == OpWrite && outside:
		return at(d.says(Deny, "writes outside the roots are denied", "it is outside the work tree and the added directories"), view, path)
	case q.op == OpWrite && d.Mode == ModeAskWrites:
		return d.says(Ask, "the mode ask-writes asks about every write", "no rule allows this write")
	case q.op == OpWrite:
		return d.says(Allow, "writes inside the roots are allowed", "it is inside the roots")
	case outside:
		if _, _, unreadable := d.in(r, func(path []string, f Fold) bool { return !d.inRoots(path) && !under(d.readable, path, Fold{}) }, Fold{}); unreadable {
			return at(d.asked(d.says(Ask, "reads outside the roots are asked about", "it is outside the work tree and the added directories")), view, path)
		}
	}
	if view, path, ok := d.in(r, isEnvFile, q.folds); ok {
		return at(d.asked(d.says(Ask, "files named .env… are asked about", "such files often hold secrets")), view, path)
	}
	return d.says(Allow, "reads inside the roots are allowed", "it is inside the roots")
}

func unknown(r *Reading) string {
	switch {
	case !r.Asked:
		return "nothing was asked where it leads"
	case r.Cause != nil:
		return "where it leads is not known: " + r.Cause.Error()
	}
	return "where it leads is not known"
}

// in looks for a view that a test holds for.
func (d *Defaults) in(r *Reading, test func([]string, Fold) bool, fold Fold) (View, string, bool) {
	if r.Family == pathid.Win32 {
		fold.Case = true
	}
	var names [48]string
	if test(splitPath(names[:0], r.Lexical, r.Family), fold) {
		return Lexical, r.Lexical, true
	}
	if r.Canonical != "" && r.Canonical != r.Lexical && test(splitPath(names[:0], r.Canonical, r.Family), fold) {
		return Canonical, r.Canonical, true
	}
	for _, hop := range r.Hops {
		if test(splitPath(names[:0], hop, r.Family), fold) {
			return Hop, hop, true
		}
	}
	return NoView, "", false
}

// isPrivate reports whether a path lies in a private place and not in a root that
// lies there itself.
func (d *Defaults) isPrivate(path []string, f Fold) bool {
	for _, p := range d.private {
		if !below(path, p, f) {
			continue
		}
		inner := false
		for _, root := range d.roots {
			inner = inner || len(root) > len(p) && hasPrefix(root, p) && hasPrefix(path, root)
		}
		if !inner {
			return true
		}
	}
	return false
}

// isGuarded reports whether a path may be run later: the guarded places, and
// ".git" at every depth of a root.
func (d *Defaults) isGuarded(path []string, f Fold) bool {
	if under(d.guarded, path, f) {
		return true
	}
	for _, name := range path {
		if sameName(name, ".git", f) {
			return true
		}
	}
	return false
}

func (d *Defaults) inRoots(path []string) bool { return under(d.roots, path, Fold{}) }

func isEnvFile(path []string, f Fold) bool {
	if len(path) == 0 {
		return false
	}
	name := path[len(path)-1]
	return len(name) >= 4 && sameName(name[:4], ".env", f)
}

func under(dirs [][]string, path []string, f Fold) bool {
	for _, dir := range dirs {
		if below(path, dir, f) {
			return true
		}
	}
	return false
}

func below(path, dir []string, f Fold) bool {
	if len(path) < len(dir) {
		return false
	}
	for i := range dir {
		if !sameName(path[i], dir[i], f) {
			return false
		}
	}
	return true
}

func sameName(a, b string, f Fold) bool {
	if a == b {
		return true
	}
	if f == (Fold{}) {
		return false
	}
	k := folding{fold: f}
	return k.name(a) == k.name(b)
}
