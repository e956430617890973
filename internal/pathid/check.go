package pathid

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf16"
)

// MaxGrant is the length of a directory that may be granted, in UTF-16 units.
const MaxGrant = 1024

// CheckCoordinate reports whether a value stands for one place by itself: it is
// fully qualified in its own family. It may be unfolded.
func CheckCoordinate(s string) error {
	if f := Of(s); f == None || !Qualified(s, f) {
		return errors.New("it is not an absolute path")
	}
	return nil
}

// CheckGrant reports whether a value may be a directory that is granted, because
// the directory shown to a person must be the directory that is meant: absolute,
// short, without control characters, in normal form, not a root, and in Win32 no
// alias of another name and outside every device namespace.
func CheckGrant(s string) error {
	if err := CheckCoordinate(s); err != nil {
		return err
	}
	units := 0
	for _, r := range s {
		if unicode.IsControl(r) {
			return errors.New("it holds a control character")
		}
		units += max(1, utf16.RuneLen(r))
	}
	if units > MaxGrant {
		return fmt.Errorf("it is longer than %d characters", MaxGrant)
	}
	if Of(s) == Win32 {
		return checkGrantWin32(s)
	}
	if s == "/" {
		return errors.New("it is the root of the file system")
	}
	if path.Clean(s) != s {
		return errors.New("it is not in its shortest form: " + path.Clean(s))
	}
	return nil
}

func checkGrantWin32(s string) error {
	if w := Screen(s, Win32); w != "" {
		return errors.New("it is in a device namespace: " + string(w))
	}
	rest := s[len(volume(s)):]
	if strings.Trim(rest, `\/`) == "" {
		return errors.New("it is the root of a volume")
	}
	if native(s) != s {
		return errors.New("it is not in its shortest form: " + native(s))
	}
	for name := range strings.SplitSeq(rest[1:], `\`) {
		if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
			return errors.New("a name in it ends with a dot or a space, which Windows drops")
		}
		if isShort(name) {
			return errors.New("a name in it is the short form of another one")
		}
	}
	return nil
}

// isShort reports whether a name has the form of an 8.3 alias, such as
// "PROGRA~1" or "LONGFI~2.TXT".
func isShort(name string) bool {
	stem, ext, _ := strings.Cut(name, ".")
	tilde := strings.LastIndexByte(stem, '~')
	if tilde < 1 || len(stem) > 8 || len(ext) > 3 || tilde == len(stem)-1 {
		return false
	}
	for _, c := range []byte(stem[tilde+1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
