package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/script"
	"github.com/tenonrun/tenon/script/builtin"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	names := builtin.Names()
	if want := []string{"code-review", "deep-research", "discussion", "migrate"}; !slices.Equal(names, want) {
		t.Fatalf("names are %q, want %q", names, want)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, ok := builtin.Source(name)
			if !ok {
				t.Fatal("there is no source")
			}
			m, err := script.Check(name+".js", source)
			if err != nil {
				t.Fatal(err)
			}
			if m.Name != name || m.WhenToUse == "" || m.Args == nil || len(m.Phases) < 2 {
				t.Errorf("meta is incomplete: %+v", m)
			}
			for _, p := range m.Phases {
				if !strings.Contains(string(source), `phase("`+p.Title+`")`) {
					t.Errorf("phase %q is announced and never begun", p.Title)
				}
			}
			for _, own := range []string{"ask(", "shell(", "verify(", "artifact(", "optional:"} {
				if strings.Contains(string(source), own) {
					t.Errorf("it uses %q, which other hosts do not know", own)
				}
			}
		})
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, fails string }{
		{"discussion", `"Tabs or spaces?"`, ""},
		{"discussion", `{"topic":"x","members":[{"name":"a","stance":"b","model":"m"}],"rounds":1,"finalizer":{"model":"m"}}`, ""},
		{"discussion", ``, "needs args"},
		{"discussion", `""`, "args of workflow discussion"},
		{"discussion", `{"topics":"x"}`, "args of workflow discussion"},
		{"discussion", `{"topic":"x","rounds":0}`, "args of workflow discussion"},
		{"code-review", ``, ""},
		{"code-review", `"src/"`, ""},
		{"code-review", `[]`, "args of workflow code-review"},
		{"deep-research", `{"question":"x","parts":["a"]}`, ""},
		{"deep-research", `{}`, "args of workflow deep-research"},
		{"migrate", `{"instruction":"x","files":["a","b"],"check":"go vet"}`, ""},
		{"migrate", `{"instruction":"x","files":["a","a"]}`, "args of workflow migrate"},
	} {
		source, _ := builtin.Source(c.name)
		m, err := script.Read(c.name, source)
		if err != nil {
			t.Fatal(err)
		}
		var args []byte
		if c.args != "" {
			args = []byte(c.args)
		}
		_, _, err = script.Arguments(m, args)
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s %s: %v, want %q", c.name, c.args, err, c.fails)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "nothing", "../builtin/discussion", "discussion.js", "/discussion"} {
		if _, ok := builtin.Source(name); ok {
			t.Errorf("there is a script %q", name)
		}
		if _, ok := builtin.Current(name); ok {
			t.Errorf("%q is a retired name", name)
		}
	}
	now, ok := builtin.Current("discuss")
	if !ok || now != "discussion" {
		t.Errorf("discuss is %q now", now)
	}
	for _, name := range builtin.Names() {
		if _, ok := builtin.Current(name); ok {
			t.Errorf("%s is in use and retired", name)
		}
	}
}
