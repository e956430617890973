// Package confine holds a command to what it may write, by the operating system.
//
// Holds: Spec, what a confined command may do; Available, whether this machine can
// hold it; Argv, which starts this binary again as the child that confines itself
// and becomes the command; Main, the part that the child runs.
//
// Guarantees: where Available names a kind, a command and all its descendants write,
// make, rename and remove files only below Spec.Write, whatever their text is, and
// cannot signal processes outside, on kernels that can keep them from it. They can
// neither lift this nor gain rights by it; set-user-id programs such as sudo do not
// work, and a superuser loses what reads the memory of other processes. A child that
// cannot confine itself does not run the command.
//
// Does not: bound reading (but see Hide), the network, modes, owners and times of
// files that the user may change anyway (chmod, chown, touch), or what another
// process does for a command that speaks to its socket. Landlock (Linux 6.2 and later) is the
// only kind.
package confine

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// Kind names what confines commands.
type Kind string

// Kinds.
const (
	None     Kind = ""
	Landlock Kind = "landlock"
)

// Spec is what a confined command may do. The zero value writes nothing but
// devices such as /dev/null.
type Spec struct {
	// Write lists absolute paths; the command may write what lies below them. One
	// that is missing when the command starts is left out.
	Write []string `json:"write"`
	// Hide lists absolute paths that the command cannot read either. In the
	// directories above them it also cannot read files that are made after it
	// started. A path below one of Write or Read is not hidden.
	Hide []string `json:"hide,omitempty"`
	// Read lists absolute directories in what is hidden that the command may read
	// all the same.
	Read []string `json:"read,omitempty"`
}

// marker is the first argument of a child.
const marker = "__confined"

// exitRefused is the exit code of a child that cannot confine itself or start the
// command.
const exitRefused = 126

// Argv returns the argv that runs argv confined, on a machine where Available
// names a kind. The binary that calls it must call Main first of all.
func (s Spec) Argv(argv []string) ([]string, error) {
	for _, list := range [][]string{s.Write, s.Hide, s.Read} {
		for _, p := range list {
			if !filepath.IsAbs(p) {
				return nil, fmt.Errorf("confining a command: %q is not an absolute path", p)
			}
		}
	}
	if len(argv) == 0 || !filepath.IsAbs(argv[0]) {
		return nil, fmt.Errorf("confining a command: the program must be an absolute path: %q", argv)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("confining a command: %w", err)
	}
	return append([]string{self(), marker, string(raw)}, argv...), nil
}
