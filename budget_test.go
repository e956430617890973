package tenon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Hard budgets of the house. The soft ones, 40 and 400, are what to aim at.
const (
	maxFunction  = 60   // lines from func to its closing brace
	maxFile      = 600  // lines
	maxRoom      = 2600 // lines of a package without its tests
	maxInterface = 9    // methods written out in an interface
)

// larger are rooms over their budget, with the reason; none may pass maxLarger.
var larger = map[string]string{
	".":               "the wiring: one file for each thing that is wired; what a run keeps of its project (models, team, workspace) is next to become a room, as what runs made has",
	"cli":             "one file a command, and nothing that another room needs",
	"engine":          "the loop of one run and its doors; the fold of a run is a room of its own already",
	"executor/native": "the loop of a turn: asking, tools, limits, compaction and errands are read and written on one state",
	"permission":      "rules, readings, judge and defaults are one argument; what touches a disk is a room of its own",
	"store/sqlite":    "the tables, the writer, and what checks and salvages them, which no other room may see",
}

const maxLarger = 6700

// TestBudgets keeps functions, files, rooms and doors small. Tests are not
// counted: their tables may be long.
func TestBudgets(t *testing.T) {
	t.Parallel()
	rooms := map[string]int{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "bench" || e.Name() == "demo"):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		lines := fset.File(f.Pos()).LineCount()
		rooms[filepath.Dir(path)] += lines
		if lines > maxFile {
			t.Errorf("%s has %d lines; the budget of a file is %d", path, lines, maxFile)
		}
		checkDecls(t, fset, path, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, lines := range rooms {
		if lines > maxLarger || lines > maxRoom && larger[dir] == "" {
			t.Errorf("room %s has %d lines without tests; the budget is %d", dir, lines, maxRoom)
		}
	}
}

func checkDecls(t *testing.T, fset *token.FileSet, path string, f *ast.File) {
	t.Helper()
	ast.Inspect(f, func(n ast.Node) bool {
		switch d := n.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				return true
			}
			if lines := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1; lines > maxFunction {
				t.Errorf("%s: function %s has %d lines; the budget is %d", path, d.Name.Name, lines, maxFunction)
			}
		case *ast.TypeSpec:
			if i, ok := d.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > maxInterface {
				t.Errorf("%s: interface %s has %d methods; the budget is %d", path, d.Name.Name, i.Methods.NumFields(), maxInterface)
			}
		}
		return true
	})
}
