package artifact

import (
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// MaxID is the length of the longest id of an artifact and name of a collection,
// in bytes.
const MaxID = 64

// CheckID tells whether an artifact may have an id: 1 to MaxID ASCII letters,
// digits, dots, underscores and dashes, the first one a letter or a digit, and
// not a name that a system keeps for a device ("nul", "com1.txt"). Ids are
// compared byte for byte. The error has workflow.CodeInvalidArtifactID.
func CheckID(id string) error { return refuse("the id of an artifact", id, flaw(id)) }

// CheckName tells whether a collection may have a name. The rules are those of
// CheckID, and the last character is no dot: a name is also that of a directory.
func CheckName(name string) error {
	why := flaw(name)
	if why == "" && strings.HasSuffix(name, ".") {
		why = "ends in a dot"
	}
	return refuse("the name of a collection", name, why)
}

func refuse(what, id, why string) error {
	if why == "" {
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalidArtifactID, "%s %s: %q", what, why, shown(id)).
		WithHint("use at most %d letters, digits, dots, underscores and dashes, and begin with a letter or a digit", MaxID)
}

// shown bounds what may be no id.
func shown(id string) string {
	if len(id) > MaxID {
		return id[:MaxID] + "…"
	}
	return id
}

// flaw says what is wrong with an id; "" is nothing.
func flaw(id string) string {
	if id == "" {
		return "is empty"
	}
	if len(id) > MaxID {
		return "is too long"
	}
	if !alphanumeric(id[0]) {
		return "does not begin with a letter or a digit"
	}
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return "has a character that is not allowed"
		}
	}
	if Reserved(id) {
		return "is the name of a device"
	}
	return ""
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Reserved reports whether a system keeps a file name for one of its devices,
// whatever its extension and its case.
func Reserved(name string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	if len(stem) != 4 || stem[:3] != "com" && stem[:3] != "lpt" {
		return false
	}
	return '0' <= stem[3] && stem[3] <= '9'
}

// DirName returns the name of a directory for a collection. Capital letters are
// written "=a", for file systems that do not tell them apart.
func DirName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if 'A' <= name[i] && name[i] <= 'Z' {
			b.WriteByte('=')
		}
		b.WriteByte(name[i])
	}
	return strings.ToLower(b.String())
}

// FromDirName returns the collection of a directory; false when it is none.
func FromDirName(dir string) (string, bool) {
	parts := strings.Split(dir, "=")
	for i, p := range parts[1:] {
		if p == "" {
			return "", false
		}
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	name := strings.Join(parts, "")
	return name, CheckName(name) == nil && DirName(name) == dir
}
