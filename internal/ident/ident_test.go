package ident_test

import (
	"regexp"
	"testing"

	"github.com/tenonrun/tenon/internal/ident"
)

var form = regexp.MustCompile(`^r[abcdefghjkmnp-z0-9]{10}$`)

func TestNewIsNeverTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 10_000 {
		id := ident.New("r")
		if !form.MatchString(id) {
			t.Fatalf("id %q has another form than %s", id, form)
		}
		if seen[id] {
			t.Fatalf("id %q came twice", id)
		}
		seen[id] = true
	}
}

func TestDeriveDependsOnEveryPart(t *testing.T) {
	t.Parallel()
	a := ident.Derive("r", "run", "visit#1")
	if b := ident.Derive("r", "run", "visit#1"); b != a {
		t.Errorf("the same parts gave %s and %s", a, b)
	}
	for _, parts := range [][]string{{"run", "visit#2"}, {"runv", "isit#1"}, {"run"}} {
		if b := ident.Derive("r", parts...); b == a {
			t.Errorf("parts %q gave the id of others", parts)
		}
	}
}
