package store

import (
	"context"
	"encoding/json"
)

// MaxScript is the size in bytes of the longest script that is kept or read.
const MaxScript = 4 << 20

// Store keeps the scripts of runs. Every method takes the scope: a store without
// partitions does not satisfy it.
type Store interface {
	// Persist keeps the script of a run and returns its absolute path.
	Persist(ctx context.Context, run, script, scope string) (path string, err error)
	// Load returns the script at a path that Persist gave out in the same scope.
	// The error has CodeRefused for every path outside of it, and wraps
	// fs.ErrNotExist for one inside that is missing.
	Load(ctx context.Context, path, scope string) (script string, err error)
}

// Resolver is a Store that also knows scripts by name.
type Resolver interface {
	// ResolveName returns a saved script; ok is false when there is none. It has
	// no side effects and may be asked several times for one call.
	ResolveName(ctx context.Context, name string) (r Resolution, ok bool, err error)
}

// Lister is a Store that can list its names.
type Lister interface {
	List(ctx context.Context) ([]Listing, error)
}

// Resolution is a saved script.
type Resolution struct {
	Script string
	// DefaultArgs are the arguments that a call is merged over; nil means none.
	DefaultArgs json.RawMessage
	// StringArgKey is the member that a bare string argument becomes; nil means
	// DefaultStringArgKey.
	StringArgKey *string
}

// Listing describes a saved script.
type Listing struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	WhenToUse   string `json:"whenToUse,omitempty"`
}

// Code tells why a script is not available.
type Code string

// The codes of an Error.
const (
	CodeRefused        Code = "refused"               // outside of what the scope may see or write
	CodeTooLarge       Code = "too-large"             // longer than MaxScript
	CodeNoStore        Code = "no-store"              // a path or name without a store
	CodeNotPartitioned Code = "not-scope-partitioned" // a foreign store without scopes
	CodeMigration      Code = "migration"             // a foreign store that resolves names to bare strings
	CodeUnknownName    Code = "unknown-name"          // nobody knows the name
	CodeNothingNamed   Code = "nothing-named"         // a call without script, path and name
)

// Error says why a script is not available and what to do.
type Error struct {
	Code Code
	Text string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// errRefused is one error for everything that a scope may not see, so that its
// text tells nothing about what is there.
func errRefused() error {
	return &Error{CodeRefused, "loading a workflow script: the path is not a script of this session: use a path that a workflow call returned here"}
}

// IsName reports whether s may be the name of a saved script or the id of a run:
// one segment of at most 200 letters, digits, ".", "_" and "-" that begins with a
// letter or digit, all of ASCII.
func IsName(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}
