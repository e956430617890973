//go:build !linux

package lock

// NetworkKind cannot tell on this platform.
func NetworkKind(string) (string, error) { return "", nil }
