package tenon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/composition"
)

// team are the files of a project with agents.
var team = []struct{ path, text string }{
	{"agents/lead.md", "---\nname: lead\nversion: 1.0.0\nskills: [add, reconcile]\nagents: [auditor, clerk]\n---\nYou lead.\n"},
	{"agents/auditor.md", "---\nname: auditor\npermissions: {deny: [bash]}\n---\nYou audit.\n"},
	{"agents/clerk.md", "---\nname: clerk\n---\nYou write.\n"},
	{"skills/add/SKILL.md", "---\nname: add\ndescription: How to add\n---\nAdd.\n"},
	{"skills/add/I.txt", "one\n"},
	{"skills/add/i-2.txt", "two\n"},
	{"skills/reconcile/SKILL.md", "---\nname: reconcile\ndescription: How to reconcile\n---\nReconcile.\n"},
	{"compositions/books.yaml", "slug: books\nversion: 1.0.0\nroot: {agent: lead, children: [{agent: auditor, alias: eu}, {agent: auditor, alias: us}]}\n"},
	{"models.yaml", "models: {small: {provider: scripted, model: small-1}}\nrules: [{id: all, selector: {}, target: {modelId: small}}]\n"},
}

// openTeam makes a project of the files, in an order, and opens it.
func openTeam(ctx context.Context, dir string, order []int) (*tenon.Tenon, error) {
	for _, i := range order {
		path := filepath.Join(dir, ".tenon", team[i].path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(team[i].text), 0o600); err != nil {
			return nil, err
		}
	}
	home := filepath.Join(dir, "home")
	return tenon.Open(ctx, tenon.Config{
		Dir: dir, State: filepath.Join(dir, "state"), Memory: true, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] },
	})
}

// TestSameEverywhere makes copies of a project, their files in any order: locks,
// contexts and digests are the same to the byte.
func TestSameEverywhere(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	base := t.TempDir()
	made := func(dir string, order []int) []byte {
		tn, err := openTeam(t.Context(), dir, order)
		if err != nil {
			t.Fatal(err)
		}
		defer tn.Close() //nolint:errcheck // nothing is kept
		a, err := tn.Agents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pins, err := a.Repin(nil, true)
		if err != nil {
			t.Fatal(err)
		}
		c, err := tn.RenderContext(t.Context(), tenon.ContextRequest{Composition: "books", Inputs: json.RawMessage(`{"month": "2026-10"}`)})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return append(pins.Is.Bytes(), raw...)
	}
	want := made(filepath.Join(base, "first"), all)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		got := made(filepath.Join(base, fmt.Sprint("copy-", n)), rapid.Permutation(all).Draw(r, "order"))
		if !bytes.Equal(got, want) {
			r.Fatalf("it is\n%s\nand not\n%s", got, want)
		}
	})
}

// TestLockIsWhole has many write the lock at one time: it is one of them, whole, and
// nothing else is left.
func TestLockIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tn, err := openTeam(t.Context(), dir, []int{0, 1, 2, 3, 4, 5, 6, 7, 8})
	if err != nil {
		t.Fatal(err)
	}
	defer tn.Close() //nolint:errcheck // nothing is kept
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			a, err := tn.Agents(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			names := []tenon.Named{{Kind: composition.KindAgent, Name: []string{"auditor", "clerk"}[i%2]}}
			p, err := a.Repin(names, false)
			if err == nil {
				err = a.WriteLock(p.Is)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	raw, err := os.ReadFile(tn.LockPath())
	if err != nil {
		t.Fatal(err)
	}
	l, err := composition.ParseLock("tenon.lock", raw)
	if err != nil || len(l.Pins()) == 0 {
		t.Errorf("the lock is %q: %v", raw, err)
	}
	entries, err := os.ReadDir(filepath.Dir(tn.LockPath()))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"agents", "compositions", "models.yaml", "skills", "tenon.lock"}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
}
