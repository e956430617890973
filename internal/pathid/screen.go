package pathid

import "strings"

// Word tells why a Win32 spelling is refused. It is empty when it is not.
type Word string

// Words of refusal.
const (
	Verbatim      Word = "verbatim"       // \\?\…: the system does not read it as a path
	Device        Word = "device"         // \\.\…
	NTObject      Word = "nt-object"      // \??\…: the same as \\?\
	IncompleteUNC Word = "unc-incomplete" // \\server without a share
	ReservedName  Word = "reserved-name"  // CON, NUL, COM1, …: a device in every directory
	Stream        Word = "stream"         // file:stream, and a drive that is not at the beginning
)

// Screen looks for spellings in the device namespaces of Windows. Both separators
// count as one. A Posix spelling is never refused.
func Screen(s string, f Family) Word {
	if f != Win32 || s == "" {
		return ""
	}
	if w := namespace(s); w != "" {
		return w
	}
	rest := s
	if isDrive(s) {
		rest = s[2:]
	}
	for rest != "" {
		n := segment(rest)
		if w := component(rest[:n]); w != "" {
			return w
		}
		if n == len(rest) {
			break
		}
		rest = rest[n+1:]
	}
	return ""
}

// namespace judges the beginning of a spelling.
func namespace(s string) Word {
	if !isSep(s[0]) {
		return ""
	}
	if len(s) >= 3 && s[1:3] == "??" && (len(s) == 3 || isSep(s[3])) {
		return NTObject
	}
	if len(s) < 2 || !isSep(s[1]) {
		return ""
	}
	switch s[2 : 2+segment(s[2:])] {
	case "?":
		return Verbatim
	case ".":
		return Device
	}
	if volume(s) == "" {
		return IncompleteUNC
	}
	return ""
}

func component(name string) Word {
	if strings.IndexByte(name, ':') >= 0 {
		return Stream
	}
	if isReserved(name) {
		return ReservedName
	}
	return ""
}

// isReserved reports whether a component is a device whatever its extension and
// the spaces behind its stem.
func isReserved(name string) bool {
	stem := name
	if dot := strings.IndexByte(stem, '.'); dot >= 0 {
		stem = stem[:dot]
	}
	stem = strings.TrimRight(stem, " ")
	switch len(stem) {
	case 3:
		return fold(stem, "con") || fold(stem, "prn") || fold(stem, "aux") || fold(stem, "nul")
	case 4, 5: // a superscript digit has two bytes
		if !fold(stem[:3], "com") && !fold(stem[:3], "lpt") {
			return false
		}
		switch digit := stem[3:]; digit {
		case "¹", "²", "³":
			return true
		default:
			return len(digit) == 1 && digit[0] >= '1' && digit[0] <= '9'
		}
	case 6:
		return fold(stem, "conin$")
	case 7:
		return fold(stem, "conout$")
	}
	return false
}

// fold compares ASCII without case; lower is in lower case.
func fold(s, lower string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
