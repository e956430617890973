package process

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/tenonrun/tenon/workspace"
)

// proc is a live process as /proc shows it. Its start time tells it from a later
// one with the same id.
type proc struct {
	pid, parent, group int
	start              string
}

// survivors lists the live processes of the command: its group, the carriers of
// its id, and their descendants, also those that were seen as such before their
// parent died. ok is false when /proc cannot be read.
func (c *child) survivors() (found []proc, ok bool) {
	found, ok = scan(func(p proc) bool {
		return p.group == c.process.Pid || c.seen[p.pid] == p.start || slices.Contains(strings.Split(lookup(environOf(p.pid), workspace.EnvCommand), "/"), c.id)
	})
	for _, p := range found {
		c.seen[p.pid] = p.start
	}
	return found, ok
}

// carriers lists the live processes whose environment names the run and its home,
// and their descendants, without this process and those above it.
func carriers(home, run string) (found []proc, ok bool) {
	found, ok = scan(func(p proc) bool {
		env := environOf(p.pid)
		return slices.Contains(env, workspace.EnvRun+"="+run) && slices.Contains(env, workspace.EnvHome+"="+home)
	})
	for pid := os.Getpid(); pid > 0; {
		found = slices.DeleteFunc(found, func(p proc) bool { return p.pid == pid })
		self, alive := readProc(pid)
		if !alive {
			break
		}
		pid = self.parent
	}
	return found, ok
}

// scan lists the processes that match and everything below them.
func scan(match func(proc) bool) (found []proc, ok bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, false
	}
	defer dir.Close() //nolint:errcheck // only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, false
	}
	below := map[int][]proc{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, alive := readProc(pid); alive {
			below[p.parent] = append(below[p.parent], p)
			ok = true
			if match(p) {
				found = append(found, p)
			}
		}
	}
	seen := map[int]bool{}
	for _, p := range found {
		seen[p.pid] = true
	}
	for i := 0; i < len(found); i++ {
		for _, p := range below[found[i].pid] {
			if !seen[p.pid] {
				seen[p.pid] = true
				found = append(found, p)
			}
		}
	}
	return found, ok
}

// readProc reads /proc/PID/stat; a zombie is not alive.
func readProc(pid int) (p proc, alive bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// The name in parentheses may hold anything; the fields follow the last one.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return proc{}, false
	}
	p = proc{pid: pid, start: fields[19]}
	p.parent, _ = strconv.Atoi(fields[1])
	p.group, _ = strconv.Atoi(fields[2])
	return p, true
}

// environOf returns the environment that pid was started with, nothing when it
// cannot be read.
func environOf(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return strings.Split(string(data), "\x00")
}

// signal reaches the process that was seen, or nobody.
func (p proc) signal(sig syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer handle.Release() //nolint:errcheck // nothing is lost with it
	if now, alive := readProc(p.pid); alive && now.start == p.start {
		_ = handle.Signal(sig) // may be gone already
	}
}
