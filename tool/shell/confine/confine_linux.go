package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	landsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// minABI is the first version of Landlock that also keeps files from being cut
// short.
const minABI = 3

// maxRules bounds the paths of a ruleset.
const maxRules = 20_000

// Available tells what can confine commands here, and why nothing can.
func Available() (kind Kind, why string) {
	if !ready.Load() {
		return None, "this program does not start confined children (confine.Main is not called first of all)"
	}
	return landlocked()
}

func landlocked() (kind Kind, why string) {
	switch abi, err := landsys.LandlockGetABIVersion(); {
	case errors.Is(err, syscall.ENOSYS):
		return None, "this kernel is built without Landlock"
	case errors.Is(err, syscall.EOPNOTSUPP):
		return None, "Landlock is not enabled at boot (lsm=landlock)"
	case err != nil:
		return None, fmt.Sprintf("Landlock cannot be used: %v", err)
	case abi < minABI:
		return None, fmt.Sprintf("Landlock is too old here (version %d, %d is needed: Linux 6.2)", abi, minABI)
	}
	return Landlock, ""
}

// ready says that this binary can be started as a confined child.
var ready atomic.Bool

// self is this binary, also when its file was replaced meanwhile.
func self() string { return "/proc/self/exe" }

// Main becomes the confined command when this process was started by Argv, and
// does nothing otherwise. It must be the first thing that main does.
func Main() {
	if len(os.Args) < 4 || os.Args[1] != marker {
		ready.Store(true)
		return
	}
	err := become(os.Args[2], os.Args[3:])
	fmt.Fprintf(os.Stderr, "tenon: the command was not started: %v\n", err)
	os.Exit(exitRefused)
}

func become(raw string, argv []string) error {
	var s Spec
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return fmt.Errorf("reading its confinement: %w", err)
	}
	runtime.LockOSThread() // it becomes the command
	if err := errors.Join(disarm(), s.restrict()); err != nil {
		return fmt.Errorf("confining it: %w", err)
	}
	return fmt.Errorf("starting %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// disarmed are the rights of a superuser with which a command could read the memory
// of other processes, and so their keys, or undo its confinement. Those that builds
// and installers need stay.
var disarmed = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO,
	unix.CAP_MKNOD, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_BOOT, unix.CAP_SYS_TIME, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE,
}

// disarm gives up these rights, for this thread and what it becomes.
func disarm() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return fmt.Errorf("reading its rights: %w", err)
	}
	for _, c := range disarmed {
		set, bit := &sets[c/32], uint32(1)<<(c%32)
		if set.Permitted&bit == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("giving up rights: %w", err)
		}
		set.Permitted, set.Effective, set.Inheritable = set.Permitted&^bit, set.Effective&^bit, set.Inheritable&^bit
	}
	if err := unix.Capset(&head, &sets[0]); err != nil {
		return fmt.Errorf("giving up rights: %w", err)
	}
	return nil
}

// restrict confines this process for good.
func (s Spec) restrict() error {
	if kind, why := landlocked(); kind == None {
		return errors.New(why)
	}
	rules, err := s.readable()
	if err != nil {
		return err
	}
	if len(s.Write) > 0 {
		rules = append(rules, landlock.RWDirs(directories(s.Write)...).WithRefer().IgnoreIfMissing(), landlock.RWFiles(files(s.Write)...).IgnoreIfMissing())
	}
	rules = append(rules,
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom", "/dev/ptmx").WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs("/dev/pts").WithIoctlDev().IgnoreIfMissing())
	all := landlock.V6
	all.HandledAccessNet = 0
	return all.BestEffort().Restrict(rules...)
}

func directories(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), isFile)
}

func files(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !isFile(p) })
}

func isFile(p string) bool {
	info, err := os.Stat(p)
	return err == nil && !info.IsDir()
}

// readable are the rules for reading: everything, or everything around what is
// hidden. The kernel can only allow whole trees.
func (s Spec) readable() ([]landlock.Rule, error) {
	hidden := s.hidden()
	if len(hidden) == 0 {
		return []landlock.Rule{landlock.RODirs("/")}, nil
	}
	c := cover{hidden: hidden}
	if err := c.add("/"); err != nil {
		return nil, err
	}
	return []landlock.Rule{
		landlock.RODirs(c.trees...).IgnoreIfMissing(),
		landlock.RODirs(s.Read...).IgnoreIfMissing(),
		landlock.ROFiles(c.files...).IgnoreIfMissing(),
		// The names in the directories above, not the content of files.
		landlock.PathAccess(landsys.AccessFSReadDir, c.above...).IgnoreIfMissing(),
	}, nil
}

// hidden lists what exists of Hide, where it really is.
func (s Spec) hidden() []string {
	var list []string
	for _, p := range s.Hide {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue // nothing is there
		}
		if !slices.ContainsFunc(slices.Concat(s.Write, s.Read), func(w string) bool { return below(real, w) }) {
			list = append(list, real)
		}
	}
	return list
}

// below reports whether p is dir or lies in it.
func below(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// cover collects the trees around hidden paths.
type cover struct {
	hidden              []string
	trees, files, above []string
}

func (c *cover) add(dir string) error {
	if !slices.ContainsFunc(c.hidden, func(h string) bool { return below(h, dir) }) {
		c.trees = append(c.trees, dir)
		return nil
	}
	if slices.Contains(c.hidden, dir) {
		return nil
	}
	c.above = append(c.above, dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0: // where it leads is covered there
		case e.IsDir():
			if err := c.add(p); err != nil {
				return err
			}
		case !slices.Contains(c.hidden, p):
			c.files = append(c.files, p)
		}
		if len(c.trees)+len(c.files) > maxRules {
			return fmt.Errorf("hiding %d paths needs more than %d rules", len(c.hidden), maxRules)
		}
	}
	return nil
}
