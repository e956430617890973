package artifact

import (
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/workflow"
)

// Address names an artifact, or one version of it.
type Address struct {
	Collection string // "" when it is not said
	ID         string
	Version    int64 // Latest when it is not said
}

// ParseAddress reads ID, COLLECTION/ID, and either with @VERSION behind it. The
// error has workflow.CodeInvalidArtifactID or CodeInvalidArguments.
func ParseAddress(s string) (Address, error) {
	a := Address{ID: s, Version: Latest}
	if rest, version, ok := strings.Cut(s, "@"); ok {
		n, err := strconv.ParseInt(version, 10, 64)
		if err != nil || n < 1 {
			return Address{}, workflow.Errorf(workflow.CodeInvalidArguments, "%q has no version after the @", s).WithHint("write it as in chart@3")
		}
		a.ID, a.Version = rest, n
	}
	if collection, id, ok := strings.Cut(a.ID, "/"); ok {
		if err := CheckName(collection); err != nil {
			return Address{}, err
		}
		a.Collection, a.ID = collection, id
	}
	return a, CheckID(a.ID)
}

// String returns the address as ParseAddress reads it.
func (a Address) String() string {
	s := a.ID
	if a.Collection != "" {
		s = a.Collection + "/" + s
	}
	if a.Version != Latest {
		s += "@" + strconv.FormatInt(a.Version, 10)
	}
	return s
}
