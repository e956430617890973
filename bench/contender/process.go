package contender

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// kill ends this process as a power switch would end it.
func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

// written returns the bytes that this process has given to the kernel to write.
// write_bytes, which counts what goes to the disk, counts the whole of a large
// folio for each page that is written in it.
func written() (int64, error) { return field("/proc/self/io", "wchar:") }

// memory returns the peak and the present resident memory in bytes.
func memory() (peak, now int64, err error) {
	if peak, err = field("/proc/self/status", "VmHWM:"); err != nil {
		return 0, 0, err
	}
	now, err = field("/proc/self/status", "VmRSS:")
	return peak << 10, now << 10, err
}

// field reads a number from a file of "name: number unit" lines.
func field(file, name string) (int64, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) > 1 && words[0] == name {
			return strconv.ParseInt(words[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}
