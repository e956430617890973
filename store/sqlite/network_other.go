//go:build !linux

package sqlite

// networkKind cannot tell on this platform.
func networkKind(string) (string, error) { return "", nil }
