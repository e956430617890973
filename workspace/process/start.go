package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/tenonrun/tenon/workspace"
)

var (
	errNoProgram = errors.New("exactly one of a non-empty argv and a command line is needed")
	errDir       = errors.New("working directory")
)

// shell returns the argv that runs line, and the shell's name for the record.
func shell(line string, env []string) (argv []string, name string) {
	if bash, err := find("bash", "", env); err == nil {
		return []string{bash, "-o", "pipefail", "-c", "--", line}, "bash -o pipefail"
	}
	return []string{"/bin/sh", "-c", "--", line}, "/bin/sh"
}

// find resolves a program as the command itself would: by the PATH in env, a
// name with a separator relative to dir. Relative PATH entries are not searched.
func find(program, dir string, env []string) (string, error) {
	if strings.ContainsRune(program, '/') || strings.ContainsRune(program, filepath.Separator) {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		return program, executable(program)
	}
	if runtime.GOOS == "windows" {
		return exec.LookPath(program)
	}
	var denied error
	for _, entry := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(entry) {
			continue
		}
		path := filepath.Join(entry, program)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", exec.ErrNotFound
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "exec", Path: path, Err: syscall.EISDIR}
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return &fs.PathError{Op: "exec", Path: path, Err: fs.ErrPermission}
	}
	return nil
}

// spawnError adds what to do next.
func spawnError(program, dir string, err error) *workspace.SpawnError {
	hint := ""
	switch {
	case errors.Is(err, errNoProgram):
		hint = "give the program and its arguments, or one shell string"
	case errors.Is(err, errDir):
		hint = "the working directory must exist and be a directory"
	case errors.Is(err, exec.ErrNotFound):
		hint = "command not found: install it or fix PATH"
	case errors.Is(err, fs.ErrNotExist):
		hint = "no such file, or the interpreter in its first line is missing"
	case errors.Is(err, fs.ErrPermission):
		hint = "not executable: chmod +x it or name its interpreter"
	case errors.Is(err, syscall.ENOEXEC):
		hint = "not a program of this machine: name its interpreter or add a #! line"
	case errors.Is(err, syscall.E2BIG):
		hint = "arguments and environment are too long: pass the data on stdin or in a file"
	case errors.Is(err, syscall.EINVAL):
		hint = "arguments, environment and directory must not contain NUL"
	}
	return &workspace.SpawnError{Program: program, Dir: dir, Hint: hint, Err: err}
}
