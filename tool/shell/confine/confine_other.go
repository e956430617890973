//go:build !linux

package confine

// Available tells what can confine commands here, and why nothing can.
func Available() (kind Kind, why string) {
	return None, "commands can only be confined on Linux"
}

func self() string { return "" }

// Main does nothing on this system.
func Main() {}
