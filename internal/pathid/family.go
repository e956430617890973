package pathid

// Family is a way to write paths.
type Family uint8

// Families. None is that of a relative spelling.
const (
	None Family = iota
	Posix
	Win32
)

func (f Family) String() string {
	switch f {
	case Posix:
		return "posix"
	case Win32:
		return "win32"
	}
	return "none"
}

// Of returns the family that a spelling shows by itself: "/x" is Posix; "C:\x",
// "C:/x", "\\server" and "\??\x" are Win32; everything else is None.
func Of(s string) Family {
	switch {
	case s == "":
		return None
	case s[0] == '/':
		return Posix
	case len(s) >= 3 && isDrive(s) && isSep(s[2]):
		return Win32
	case len(s) >= 2 && s[:2] == `\\`, len(s) >= 4 && s[:4] == `\??\`:
		return Win32
	}
	return None
}

// ReadingFamily returns the family in which a spelling is read: that of the tree,
// which its root or else its working directory shows; without a tree that of the
// spelling; else Posix.
func ReadingFamily(root, cwd, spelled string) Family {
	for _, s := range [...]string{root, cwd, spelled} {
		if f := Of(s); f != None {
			return f
		}
	}
	return Posix
}

// Qualified reports whether a path of a family stands for itself, whatever the
// base: "/x" in Posix, "C:\x" and "\\server\share" in Win32.
func Qualified(s string, f Family) bool {
	if f != Win32 {
		return s != "" && s[0] == '/'
	}
	return volume(s) != ""
}

func isSep(c byte) bool { return c == '/' || c == '\\' }

// isDrive reports whether s begins with a drive, as in "C:".
func isDrive(s string) bool {
	if len(s) < 2 || s[1] != ':' {
		return false
	}
	c := s[0] | 0x20
	return c >= 'a' && c <= 'z'
}

// volume returns the part of a fully qualified Win32 path that ".." cannot leave,
// as spelled and without the separator behind it: "C:" or "\\server\share". It is
// empty for every other path.
func volume(s string) string {
	if len(s) >= 3 && isDrive(s) && isSep(s[2]) {
		return s[:2]
	}
	if !isUNC(s) {
		return ""
	}
	server := 2 + segment(s[2:])
	if server == 2 || server == len(s) {
		return ""
	}
	share := server + 1 + segment(s[server+1:])
	if s[2:server] == ".." || isDots(s[server+1:share]) || share == server+1 {
		return ""
	}
	return s[:share]
}

// isUNC reports whether s begins with exactly two separators.
func isUNC(s string) bool {
	return len(s) >= 2 && isSep(s[0]) && isSep(s[1]) && (len(s) == 2 || !isSep(s[2]))
}

func isDots(name string) bool { return name == "." || name == ".." }

// segment returns the length of s up to its first separator.
func segment(s string) int {
	for i := range len(s) {
		if isSep(s[i]) {
			return i
		}
	}
	return len(s)
}
