package tenon_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tenonrun/tenon"

// room is one line of docs/house.txt.
type room struct {
	floor  int
	test   bool
	stairs []string
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath string
	Doc        string
	Imports    []string
}

// TestHouse keeps docs/house.txt and the import graph the same.
func TestHouse(t *testing.T) {
	t.Parallel()
	plan := readPlan(t)
	built := map[string]bool{}
	for _, p := range packages(t) {
		name := roomName(p.ImportPath)
		built[name] = true
		r, ok := plan[name]
		if !ok {
			t.Errorf("room %s is not in docs/house.txt: add a line for it", name)
			continue
		}
		if p.Doc == "" {
			t.Errorf("room %s has no package comment", name)
		}
		checkStairs(t, name, r, plan, p.Imports)
	}
	for name := range plan {
		if !built[name] {
			t.Errorf("room %s is in docs/house.txt and not in the code", name)
		}
	}
}

func checkStairs(t *testing.T, name string, r room, plan map[string]room, imports []string) {
	t.Helper()
	var used []string
	for _, imp := range imports {
		if imp != module && !strings.HasPrefix(imp, module+"/") {
			continue
		}
		to := roomName(imp)
		used = append(used, to)
		switch down := plan[to]; {
		case !slices.Contains(r.stairs, to):
			t.Errorf("room %s enters %s: there is no such stair in docs/house.txt", name, to)
		case down.floor >= r.floor:
			t.Errorf("room %s on floor %d enters %s on floor %d: stairs only lead down", name, r.floor, to, down.floor)
		case down.test && !r.test:
			t.Errorf("room %s enters the test room %s", name, to)
		}
	}
	for _, s := range r.stairs {
		if !slices.Contains(used, s) {
			t.Errorf("the stair from %s to %s is in docs/house.txt and not in the code", name, s)
		}
	}
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func roomName(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

func readPlan(t *testing.T) map[string]room {
	t.Helper()
	f, err := os.Open("docs/house.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plan := map[string]room{}
	for in := bufio.NewScanner(f); in.Scan(); {
		words := strings.Fields(in.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		floor, test := strings.CutSuffix(words[0], "t")
		n, err := strconv.Atoi(floor)
		if err != nil || len(words) < 3 {
			t.Fatalf("docs/house.txt: cannot read %q", in.Text())
		}
		r := room{floor: n, test: test}
		if words[2] != "-" {
			r.stairs = words[2:]
		}
		if _, twice := plan[words[1]]; twice {
			t.Errorf("docs/house.txt: room %s is there twice", words[1])
		}
		plan[words[1]] = r
	}
	return plan
}
