//go:build !linux

package sqlite

// networkKind cannot tell on this platform.
func networkKind(string) (string, error) { return "", nil }

// noRoom cannot tell on this platform.
func noRoom(string) bool { return false }
