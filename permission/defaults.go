package permission

import (
	"context"
	"slices"
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
	Listed   bool // writes that no rule allows are denied
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
	Listed   bool   // writes that no rule allows are denied, inside the roots too
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

// KeyStores names the places below a home that hold a person's keys, with slashes.
func KeyStores() []string { return slices.Clone(keyStores) }

// Guarded names the places below a root that are written only with a rule of the
// user, beside those of git, with slashes.
func Guarded() []string { return slices.Concat(guardedDirs, startup) }

// NewDefaults prepares defaults. The environment says where the directories lead;
// it may be nil.
func NewDefaults(ctx context.Context, c DefaultsConfig, env Env) *Defaults {
	d := &Defaults{Mode: c.Mode, Access: c.Access, Listed: c.Listed, family: c.Family}
	if d.Mode == "" {
		d.Mode = ModeDefault
	}
	if d.Access == "" {
		d.Access = AccessRead
	}
	if d.family == pathid.None && len(c.Roots) > 0 {
		d.family = pathid.Of(c.Roots[0])
	}
	at := locating{ctx: ctx, env: env, family: d.family}
	for _, root := range c.Roots {
		d.roots = append(d.roots, at.forms(root)...)
		d.guarded = append(d.guarded, at.below(root, guardedDirs...)...)
		d.guarded = append(d.guarded, at.below(root, startup...)...)
	}
	for _, dir := range c.Readable {
		d.readable = append(d.readable, at.forms(dir)...)
	}
	for _, dir := range c.Private {
		d.private = append(d.private, at.forms(dir)...)
	}
	if c.Home != "" {
		d.private = append(d.private, at.below(c.Home, keyStores...)...)
		d.guarded = append(d.guarded, at.below(c.Home, startup...)...)
	}
	return d
}

// locating finds the components of directories.
type locating struct {
	ctx    context.Context
	env    Env
	family pathid.Family
}

// forms gives a directory as spelled and, if that is elsewhere, where it leads.
func (l locating) forms(dir string) [][]string {
	at := components(dir, l.family)
	if at == nil {
		return nil
	}
	list := [][]string{at}
	if l.env == nil {
		return list
	}
	lead, err := l.env.Lead(l.ctx, joinPath(at, l.family))
	if err != nil {
		return list
	}
	if to := components(lead.To, l.family); to != nil && !slices.Equal(to, at) {
		list = append(list, to)
	}
	return list
}

// below gives the forms of what lies in a directory by slash-separated names.
func (l locating) below(dir string, names ...string) [][]string {
	at := components(dir, l.family)
	if at == nil {
		return nil
	}
	var list [][]string
	for _, name := range names {
		full := append(slices.Clone(at), strings.Split(name, "/")...)
		list = append(list, l.forms(joinPath(full, l.family))...)
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
		if view, path, ok := d.in(r, private, q.folds); ok {
			return at(d.says(Deny, "keys and the program's own state are closed", "it is a place of keys or of the program itself"), view, path)
		}
	}
	if v.Effect == Ask {
		return d.asked(v)
	}
	if r.Kind == pathid.AtPath && q.op == OpWrite {
		if view, path, ok := d.in(r, guarded, q.folds); ok {
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
	view, path, out := d.in(r, outside, Fold{})
	switch {
	case q.op == OpWrite && out:
		return at(d.says(Deny, "writes outside the roots are denied", "it is outside the work tree and the added directories"), view, path)
	case q.op == OpWrite && d.Listed:
		return d.says(Deny, "only what a rule allows is written", "no rule allows this write")
	case q.op == OpWrite && d.Mode == ModeAskWrites:
		return d.says(Ask, "the mode ask-writes asks about every write", "no rule allows this write")
	case q.op == OpWrite:
		return d.says(Allow, "writes inside the roots are allowed", "it is inside the roots")
	case out:
		if _, _, no := d.in(r, unreadable, Fold{}); no {
			return at(d.asked(d.says(Ask, "reads outside the roots are asked about", "it is outside the work tree and the added directories")), view, path)
		}
	}
	if view, path, ok := d.in(r, envFile, q.folds); ok {
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

// zone is a set of paths.
type zone uint8

const (
	private    zone = iota // never read or written
	guarded                // may be run later
	outside                // of all roots
	unreadable             // outside, and of the readable directories too
	envFile                // named .env…
)

func (d *Defaults) holds(z zone, path []string, f Fold) bool {
	switch z {
	case private:
		return d.isPrivate(path, f)
	case guarded:
		return d.isGuarded(path, f)
	case outside:
		return !under(d.roots, path, Fold{})
	case unreadable:
		return !under(d.roots, path, Fold{}) && !under(d.readable, path, Fold{})
	}
	return isEnvFile(path, f)
}

// in looks for a view that lies in a zone.
func (d *Defaults) in(r *Reading, z zone, fold Fold) (View, string, bool) {
	if r.Family == pathid.Win32 {
		fold.Case = true
	}
	var names [48]string
	if d.holds(z, splitPath(names[:0], r.Lexical, r.Family), fold) {
		return Lexical, r.Lexical, true
	}
	if r.Canonical != "" && r.Canonical != r.Lexical && d.holds(z, splitPath(names[:0], r.Canonical, r.Family), fold) {
		return Canonical, r.Canonical, true
	}
	for _, hop := range r.Hops {
		if d.holds(z, splitPath(names[:0], hop, r.Family), fold) {
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
	inner := 0 // a root may lie below a ".git" itself
	for _, root := range d.roots {
		if hasPrefix(path, root) {
			inner = max(inner, len(root))
		}
	}
	for _, name := range path[inner:] {
		if sameName(name, ".git", f) {
			return true
		}
	}
	return false
}

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
