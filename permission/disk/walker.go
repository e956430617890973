package disk

import (
	"errors"
	"path"
	"strings"
	"syscall"

	"github.com/tenonrun/tenon/permission"
)

// maxLinks is how many links a path may pass, as in Linux. A smaller number would
// let through what the system opens.
const maxLinks = 40

// trace is where a path leads, component by component.
type trace struct {
	canonical string
	exists    bool     // nothing on the way was missing
	links     []string // canonical locations of the links that were followed
}

// follow goes through a path as the system does: links are followed as they are
// met, ".." leaves the directory that was really entered, and what does not exist
// is appended. A link that dangles is not missing: it leads to what is.
func follow(full string, readlink func(string) (string, error)) (trace, error) {
	t := trace{exists: true}
	cur, missing := "/", 0
	todo := split(nil, full)
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if name == ".." {
			cur = path.Dir(cur)
			missing = max(0, missing-1)
			continue
		}
		at := path.Join(cur, name)
		if missing > 0 {
			cur = at
			missing++
			continue
		}
		target, err := readlink(at)
		switch {
		case err == nil && target == "":
			return t, syscall.ENOENT
		case err == nil:
			if t.links = append(t.links, at); len(t.links) > maxLinks {
				return t, syscall.ELOOP
			}
			if target[0] == '/' {
				cur = "/"
			}
			todo = split(todo, target)
		case errors.Is(err, syscall.EINVAL):
			cur = at
		case errors.Is(err, syscall.ENOENT):
			cur = at
			missing, t.exists = 1, false
		default:
			return t, err
		}
	}
	t.canonical = cur
	return t, nil
}

// split pushes the names of a path on a stack, the first on top.
func split(stack []string, p string) []string {
	parts := strings.Split(p, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i] != "" && parts[i] != "." {
			stack = append(stack, parts[i])
		}
	}
	return stack
}

// hops gives what each link names that the last name of a path passes. The target
// of a link is joined to the directory where the link really is.
func hops(full string, readlink func(string) (string, error), dirOf func(string) (string, error)) ([]string, error) {
	var list []string
	for {
		dir, leaf := path.Split(strings.TrimRight(full, "/"))
		if leaf == "" || leaf == "." || leaf == ".." {
			return list, nil
		}
		real, err := dirOf(dir)
		if err != nil {
			return nil, err
		}
		target, err := readlink(path.Join(real, leaf))
		if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOENT) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if full = target; !strings.HasPrefix(target, "/") {
			full = strings.TrimRight(real, "/") + "/" + target
		}
		if list = append(list, path.Clean(full)); len(list) > maxLinks {
			return nil, syscall.ELOOP
		}
	}
}

// leadBy follows a location for the twins of rules.
func leadBy(location string, readlink func(string) (string, error)) (permission.Lead, error) {
	t, err := follow(location, readlink)
	if err != nil {
		return permission.Lead{}, err
	}
	return permission.Lead{To: t.canonical, Links: t.links}, nil
}
