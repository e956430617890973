package verify

import (
	"os"
	"path/filepath"

	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/verification"
)

// place is where a check runs: its directory and the root of its repository,
// links resolved; "" where they cannot be found.
type place struct{ dir, root string }

func (v *visit) placeOf(c verification.Check) place {
	repo, err := command.Repository(v.f.Repositories, c.Repository())
	if err != nil {
		return place{}
	}
	dir, err := command.Dir(repo, c.Cwd)
	if err != nil {
		return place{}
	}
	root, err := filepath.EvalSymlinks(repo.Path)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err != nil {
		return place{}
	}
	return place{dir: dir, root: root}
}

// has tells whether the directory has a file.
func (p place) has(name string) bool { return p.dir != "" && isFile(filepath.Join(p.dir, name)) }

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// python returns the interpreter of the virtual environment that the repository
// has, relative to the directory: the one that VIRTUAL_ENV names, or .venv there
// or at the root. "" is none: one outside of the repository is somebody else's.
func (p place) python(env map[string]string) string {
	if p.dir == "" {
		return ""
	}
	active, ok := env["VIRTUAL_ENV"]
	if !ok {
		active = os.Getenv("VIRTUAL_ENV")
	}
	for _, venv := range []string{active, filepath.Join(p.dir, ".venv"), filepath.Join(p.root, ".venv")} {
		if venv == "" {
			continue
		}
		if !filepath.IsAbs(venv) {
			venv = filepath.Join(p.dir, venv)
		}
		real, err := filepath.EvalSymlinks(venv)
		if err != nil || !command.Within(p.root, real) || !isFile(filepath.Join(real, "pyvenv.cfg")) {
			continue
		}
		program := filepath.Join(real, "bin", "python")
		base := filepath.Base(real) // the host lets the links of others lead nowhere
		if to, err := filepath.EvalSymlinks(program); err != nil || base != ".venv" && base != "venv" && !command.Within(p.root, to) {
			continue
		}
		if rel, err := filepath.Rel(p.dir, program); err == nil && isFile(program) {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}
