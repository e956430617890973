package openspec

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenonrun/tenon/piece/command"
)

// versions remembers the version of each program that was asked.
type versions struct {
	mu    sync.Mutex
	known map[string]string
}

// untested returns a warning when the command line has another version than the
// one that is tested. It is found out once a process.
func (v *visit) untested(ctx context.Context) []string {
	argv, err := v.find()
	if err != nil {
		return nil // it is only needed now that the work is done
	}
	v.known.mu.Lock()
	defer v.known.mu.Unlock()
	version, ok := v.known.known[argv[0]]
	if !ok {
		if version = packaged(argv[0]); version == "" {
			version = v.asked(ctx, argv)
		}
		if v.known.known == nil {
			v.known.known = map[string]string{}
		}
		v.known.known[argv[0]] = version
	}
	if tested := Version[:strings.LastIndexByte(Version, '.')+1]; strings.HasPrefix(version, tested) {
		return nil
	}
	return []string{v.f.Node + ": openspec is " + command.Clean(v.Redactor, []byte(version), 0) + ", and " + Version + " is what this was tested with"}
}

// packaged reads the version from the npm package of a program, which is faster
// than asking; "" when it is not in one.
func packaged(program string) string {
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return ""
	}
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(path), "..", "package.json"))
	var p struct{ Name, Version string }
	if err != nil || json.Unmarshal(raw, &p) != nil || p.Name != "@fission-ai/openspec" {
		return ""
	}
	return p.Version
}

// asked is what the program itself says.
func (v *visit) asked(ctx context.Context, argv []string) string {
	exit, err := v.run(ctx, argv, v.root, []string{"--version"})
	said := strings.TrimSpace(string(exit.Stdout))
	if err != nil || !exit.OK() || said == "" || len(said) > 64 {
		return "of an unknown version"
	}
	return said
}
