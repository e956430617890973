// Package storetest runs the published vectors of script stores and of the
// arguments of scripts.
//
// Holds: Vector, one case in one line of JSON, and Run, which plays it in a
// temporary directory.
//
// Guarantees: a vector of a group or operation that is not known fails.
//
// Does not: keep the vectors; tests read them from a file.
package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/script/store"
)

// Groups are the groups of vectors that Run knows.
var Groups = []string{"script-store-containment", "merge-args", "normalize-string-arg"}

// Vector is one case.
type Vector struct {
	ID    string `json:"id"`
	Group string `json:"group"`
	Setup struct {
		Tree []entry `json:"tree"`
	} `json:"setup"`
	Args   json.RawMessage `json:"args"`
	Expect expectation     `json:"expect"`
}

type entry struct {
	Path, Kind, Target, Content string
}

type expectation struct {
	Result            json.RawMessage `json:"result"`
	Merged            json.RawMessage `json:"merged"`
	Undefined         bool            `json:"undefined"`
	Path              string          `json:"path"`
	FileMode          string          `json:"file_mode"`
	DirMode           string          `json:"dir_mode"`
	Script            *string         `json:"script"`
	Untouched         string          `json:"untouched"`
	CaseInsensitively bool            `json:"case_insensitively"`
	Kind              store.Code      `json:"kind"`
	Args              json.RawMessage `json:"args"`
}

// word is the result as a plain word, empty when it is something else.
func (e expectation) word() string {
	var s string
	if json.Unmarshal(e.Result, &s) != nil {
		return ""
	}
	return s
}

// Run plays one vector, given as a line of JSON.
func Run(t *testing.T, line []byte) {
	t.Helper()
	var v Vector
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatalf("reading a vector: %v", err)
	}
	switch v.Group {
	case "merge-args", "normalize-string-arg":
		v.arguments(t)
	case "script-store-containment":
		v.containment(t)
	default:
		t.Fatalf("vector %s: unknown group %q", v.ID, v.Group)
	}
}

// arguments plays a vector of Merge or Normalize. json.RawMessage cannot tell an
// absent member from null in a struct, a map can.
func (v Vector) arguments(t *testing.T) {
	t.Helper()
	var args map[string]json.RawMessage
	if err := json.Unmarshal(v.Args, &args); err != nil {
		t.Fatal(err)
	}
	call, defaults := args["callArgs"], args["defaultArgs"]
	if v.Group == "merge-args" {
		got, err := store.Merge(call, defaults)
		if err != nil {
			t.Fatal(err)
		}
		v.same(t, got, v.Expect.Result)
		return
	}
	var key *string
	if raw, ok := args["key"]; ok {
		if err := json.Unmarshal(raw, &key); err != nil {
			t.Fatal(err)
		}
	}
	got := store.Normalize(call, defaults, key)
	v.same(t, got, v.Expect.Result)
	if v.Expect.Merged != nil {
		merged, err := store.Merge(got, defaults)
		if err != nil {
			t.Fatal(err)
		}
		v.same(t, merged, v.Expect.Merged)
	}
}

// same compares two JSON values; nil is no value.
func (v Vector) same(t *testing.T, got, want json.RawMessage) {
	t.Helper()
	if v.Expect.Undefined {
		want = nil
	}
	if (got == nil) != (want == nil) || got != nil && !reflect.DeepEqual(decoded(t, got), decoded(t, want)) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func decoded(t *testing.T, raw json.RawMessage) (value any) {
	t.Helper()
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("reading %s: %v", raw, err)
	}
	return value
}

// operation is the call of a containment vector.
type operation struct {
	Op                                     string
	RunID, Scope, Script, ScriptPath, Name string
	Scopes                                 []string
	Call                                   *call
	Store                                  *stub
	Builtins                               map[string]string
}

type call struct {
	Script, ScriptPath, Name string
	Args                     json.RawMessage
}

// stub is a foreign store as a vector describes it.
type stub struct {
	ScopePartitioned, PersistFails bool
	Names                          map[string]json.RawMessage
}

func (v Vector) containment(t *testing.T) {
	t.Helper()
	var op operation
	if err := json.Unmarshal(v.Args, &op); err != nil {
		t.Fatal(err)
	}
	if op.Op == "tool" {
		v.tool(t, op)
		return
	}
	d := newDisk(t)
	d.make(t, v.Setup.Tree)
	files, err := store.Open(d.store)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close() //nolint:errcheck // nothing depends on it
	before := d.snapshot(t)
	switch op.Op {
	case "persist":
		path, err := files.Persist(context.Background(), op.RunID, op.Script, op.Scope)
		v.persisted(t, d, op, path, err)
	case "load":
		script, err := files.Load(context.Background(), d.expand(op.ScriptPath), op.Scope)
		v.loaded(t, script, err)
	case "resolveName":
		r, ok, err := files.ResolveName(context.Background(), op.Name)
		v.resolved(t, r, ok, err)
	case "distinctPartitions":
		v.distinct(t, op.Scopes)
	default:
		t.Fatalf("vector %s: unknown operation %q", v.ID, op.Op)
	}
	if v.Expect.word() == "refused" && !reflect.DeepEqual(before, d.snapshot(t)) {
		t.Errorf("a refused call changed the disk")
	}
}

func (v Vector) persisted(t *testing.T, d disk, op operation, path string, err error) {
	t.Helper()
	if v.Expect.word() == "refused" {
		if err == nil {
			t.Errorf("persist wrote %s, want a refusal", path)
		}
		return
	}
	if want := d.expand(v.Expect.Path); err != nil || path != want {
		t.Fatalf("persist gave %s, %v, want %s", path, err, want)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != op.Script {
		t.Errorf("the file holds %q, %v, want %q", got, err, op.Script)
	}
	for _, m := range []struct{ path, want string }{{path, v.Expect.FileMode}, {filepath.Dir(path), v.Expect.DirMode}} {
		if info, err := os.Stat(m.path); err != nil || m.want != "" && mode(info) != m.want {
			t.Errorf("%s has mode %s, %v, want %s", m.path, mode(info), err, m.want)
		}
	}
}

func (v Vector) loaded(t *testing.T, script string, err error) {
	t.Helper()
	var own *store.Error
	refused := errors.As(err, &own) && own.Code == store.CodeRefused
	switch v.Expect.word() {
	case "script":
		if err != nil || script != *v.Expect.Script {
			t.Errorf("load gave %q, %v, want %q", script, err, *v.Expect.Script)
		}
	case "refused":
		if !refused || script != "" {
			t.Errorf("load gave %q, %v, want a refusal", script, err)
		}
	case "error":
		if !errors.Is(err, fs.ErrNotExist) || refused {
			t.Errorf("load gave %q, %v, want that it does not exist", script, err)
		}
	default:
		t.Fatalf("unknown result %s", v.Expect.Result)
	}
}

func (v Vector) resolved(t *testing.T, r store.Resolution, ok bool, err error) {
	t.Helper()
	if want := v.Expect.word() == "resolution"; err != nil || ok != want {
		t.Fatalf("resolve gave %t, %v, want %t", ok, err, want)
	}
	if ok && r.Script != *v.Expect.Script {
		t.Errorf("resolve gave %q, want %q", r.Script, *v.Expect.Script)
	}
}

func (v Vector) distinct(t *testing.T, scopes []string) {
	t.Helper()
	seen := map[string]string{}
	for _, scope := range scopes {
		name := store.Partition(scope)
		if v.Expect.CaseInsensitively {
			name = strings.ToLower(name)
		}
		if other, twice := seen[name]; twice {
			t.Errorf("scopes %q and %q share the partition %s", scope, other, name)
		}
		seen[name] = scope
	}
}

// tool plays the launch of a workflow by a tool call.
func (v Vector) tool(t *testing.T, op operation) {
	t.Helper()
	launch, err := prepare(op)
	if v.Expect.word() == "error" {
		var own *store.Error
		if !errors.As(err, &own) || own.Code != v.Expect.Kind {
			t.Errorf("got %v, want an error with code %s", err, v.Expect.Kind)
		}
		return
	}
	if err != nil || launch.Script != *v.Expect.Script {
		t.Fatalf("got %q, %v, want %q", launch.Script, err, *v.Expect.Script)
	}
	if v.Expect.Args != nil {
		v.same(t, launch.Args, v.Expect.Args)
	}
	if fails := op.Store != nil && op.Store.PersistFails; fails != (launch.Warning != "") {
		t.Errorf("the warning is %q", launch.Warning)
	}
}

func prepare(op operation) (store.Launch, error) {
	from := store.Source{Builtins: op.Builtins}
	if op.Store != nil {
		adapted, err := store.Adapt(op.Store.foreign())
		if err != nil {
			return store.Launch{}, err
		}
		from.Store = adapted
	}
	c := op.Call
	return store.Prepare(context.Background(), from, store.Call{
		ScriptPath: c.ScriptPath, Script: c.Script, Name: c.Name, Args: c.Args, Run: "r1", Scope: "a",
	})
}

func (s *stub) foreign() store.Foreign {
	return store.Foreign{
		ScopePartitioned: s.ScopePartitioned,
		PersistScript: func(context.Context, string, string, string) (string, error) {
			if s.PersistFails {
				return "", errors.New("the disk is full")
			}
			return "/kept.js", nil
		},
		LoadScript: func(context.Context, string, string) (string, error) { return "", fs.ErrNotExist },
		Resolve: func(_ context.Context, name string) (json.RawMessage, error) {
			return bytes.Clone(s.Names[name]), nil
		},
	}
}
