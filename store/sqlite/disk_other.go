//go:build !linux

package sqlite

// noRoom cannot tell on this platform.
func noRoom(string) bool { return false }
