//go:build unix

package disk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	"github.com/tenonrun/tenon/tool"
)

// TestWhatOthersGotWrong has one row for each kind of mistake that was reported
// about programs of this sort. Names of Windows and of folding volumes are among
// the vectors.
func TestWhatOthersGotWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		entries []string
		rules   []string
		tool    string
		path    string
		cwd     string
		want    string
	}{
		// A beginning of the text in place of components.
		{name: "sibling with the same beginning", entries: []string{"proj-evil/x"}, tool: "read", path: "//proj-evil/x", want: "ask"},
		{name: "sibling, written", entries: []string{"proj-evil/x"}, tool: "write", path: "../proj-evil/x", want: "deny"},
		{name: "sibling of an allowed directory", entries: []string{"out/", "out-evil/x"}, rules: []string{"allow Edit(//out)"}, tool: "write", path: "//out-evil/x", want: "deny"},
		{name: "sibling of a denied directory", entries: []string{"proj/secrets/", "proj/secrets-x/a"}, rules: []string{"deny Read(secrets)"}, tool: "read", path: "secrets-x/a", want: "allow"},

		// Links.
		{name: "link to a denied file", entries: []string{"etc/passwd", "proj/l -> /etc/passwd"}, rules: []string{"deny Read(//etc/passwd)"}, tool: "read", path: "l", want: "deny"},
		{name: "link out", entries: []string{"out/x", "proj/l -> /out/x"}, tool: "read", path: "l", want: "ask"},
		{name: "linked directory out", entries: []string{"out/n", "proj/vendor -> /out"}, tool: "read", path: "vendor/n", want: "ask"},
		{name: "write through a linked directory", entries: []string{"out/", "proj/box -> /out"}, tool: "write", path: "box/new", want: "deny"},
		{name: "link to an ignored file", entries: []string{"proj/ign/f", "proj/l -> ign/f"}, rules: []string{"deny Read(ign/**)"}, tool: "read", path: "l", want: "deny"},
		{name: "ignored name of a link", entries: []string{"proj/f", "proj/l -> f"}, rules: []string{"deny Read(l)"}, tool: "read", path: "l", want: "deny"},
		{name: "new file below a linked directory inside", entries: []string{"proj/real/", "proj/l -> real"}, tool: "write", path: "l/new", want: "allow"},
		{name: "dangling links, several", entries: []string{"etc/", "proj/m -> /etc/evil", "proj/l -> m"}, rules: []string{"allow Edit(./**)"}, tool: "write", path: "l", want: "deny"},
		{name: "dangling directory link", entries: []string{"out/", "proj/l -> /out/none"}, tool: "write", path: "l/x", want: "deny"},
		{name: "link and then up", entries: []string{"data/dir/", "data/s", "proj/s", "proj/l -> /data/dir"}, rules: []string{"deny Read(//data/s)"}, tool: "read", path: "l/../s", want: "deny"},
		{name: "link and then up, as written", entries: []string{"data/dir/", "data/s", "proj/s", "proj/l -> /data/dir"}, rules: []string{"deny Read(./s)"}, tool: "read", path: "l/../s", want: "deny"},
		{name: "rule written through a link", entries: []string{"data/x", "proj/l -> /data"}, rules: []string{"deny Read(./l/**)"}, tool: "read", path: "//data/x", want: "deny"},
		{name: "link inside a denied directory", entries: []string{"out/x", "proj/d/l -> /out/x"}, rules: []string{"deny Read(./d/l)"}, tool: "read", path: "//out/x", want: "deny"},
		{name: "allow through a link of the repository", entries: []string{"home/.x/k", "proj/docs -> /home/.x"}, rules: []string{"allow Read(./docs/**)"}, tool: "read", path: "docs/k", want: "ask"},
		{name: "out and back by links", entries: []string{"proj/in/c", "out/b -> /proj/in/c", "proj/in/a -> /out/b"}, rules: []string{"allow Read(./in/**)"}, tool: "read", path: "in/a", want: "ask"},

		// Denied or asked without need.
		{name: "search of a directory that holds a denied file", entries: []string{"proj/.env"}, rules: []string{"deny Read(./.env)"}, tool: "grep", path: ".", want: "allow"},
		{name: "namesake of a guarded directory", entries: []string{"proj/framework/.claude/x"}, tool: "edit", path: "framework/.claude/x", want: "allow"},
		{name: "brackets in a name", entries: []string{"out/[...p].ts"}, rules: []string{`allow Read(//out/\[...p\].ts)`}, tool: "read", path: "//out/[...p].ts", want: "allow"},
		{name: "spaces and parentheses", entries: []string{"out/F (2024)/a"}, rules: []string{"allow Edit(//out/F (2024)/**)"}, tool: "write", path: "//out/F (2024)/a", want: "allow"},
		{name: "absolute rule for a place beside the tree", entries: []string{"out/s/"}, rules: []string{"allow Edit(//out/s/**)"}, tool: "write", path: "//out/s/x", want: "allow"},
		{name: "absolute path inside the tree", entries: []string{"proj/a"}, tool: "read", path: "//proj/a", want: "allow"},

		// Searches.
		{name: "directory that a search is denied", entries: []string{"proj/p/x"}, rules: []string{"deny Glob(./p/**)"}, tool: "glob", path: "p", want: "deny"},
		{name: "reading denied, so is searching", entries: []string{"proj/p/x"}, rules: []string{"deny Read(p/**)"}, tool: "grep", path: "p", want: "deny"},
		{name: "search of the root that is denied", rules: []string{"deny Read(//proj)"}, tool: "grep", path: "-", want: "deny"},
		{name: "search up and out", entries: []string{"out/x"}, tool: "grep", path: "../out", want: "ask"},

		// Bases.
		{name: "relative below another directory", entries: []string{"etc/shadow"}, rules: []string{"deny Read(//etc/**)"}, tool: "read", path: "shadow", cwd: "//etc", want: "deny"},
		{name: "searches start from the root", entries: []string{"etc/a", "proj/a"}, rules: []string{"deny Read(//etc/**)"}, tool: "grep", path: "a", cwd: "//etc", want: "allow"},
		{name: "directory of the session with dots", entries: []string{"home/.ssh/k"}, tool: "read", path: "k", cwd: "//proj/../home/.ssh", want: "deny"},
		{name: "relative rule, absolute path", entries: []string{"proj/secret.toml"}, rules: []string{"deny Read(secret.toml)"}, tool: "read", path: "//proj/secret.toml", want: "deny"},
		{name: "rules do not move with the session", entries: []string{"proj/sub/secret", "proj/secret"}, rules: []string{"deny Read(./secret)"}, tool: "read", path: "secret", cwd: "//proj/sub", want: "allow"},
		{name: "another work tree", entries: []string{"main/a"}, tool: "edit", path: "//main/a", want: "deny"},
		{name: "name of a home is no home", entries: []string{"proj/~/x"}, rules: []string{"deny Read(~/x)"}, tool: "read", path: "~/x", want: "allow"},
		{name: "dots in a written path", entries: []string{"proj/output/", "proj/t"}, rules: []string{"deny Edit(//proj/**)", "allow Edit(output/**)"}, tool: "write", path: "output/../t", want: "deny"},

		// Rules that hold everywhere.
		{name: "a name at every depth", entries: []string{"proj/a/b/.env"}, rules: []string{"deny Read(**/.env)"}, tool: "read", path: "a/b/.env", want: "deny"},
		{name: "the order of rules is nothing", entries: []string{"proj/a/b/k"}, rules: []string{"allow Read(a/b/**)", "deny Read(a/**)"}, tool: "read", path: "a/b/k", want: "deny"},
		{name: "a broad allow after a deny", entries: []string{"proj/a/k"}, rules: []string{"deny Read(a/k)", "allow Read"}, tool: "read", path: "a/k", want: "deny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.entries...)
			r := w.request(c.tool, c.path)
			r.Cwd = w.spell(c.cwd)
			if strings.HasPrefix(c.cwd, "//") && strings.Contains(c.cwd, "..") {
				r.Cwd = w.at + c.cwd[1:]
			}
			_, err := w.fence(c.rules...).Judge(t.Context(), r)
			if got := outcome(err); got != c.want {
				t.Errorf("it is %s, not %s (%v)", got, c.want, err)
			}
		})
	}
}

func TestTreeBehindALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "data/proj/src/a", "srv -> /data/proj")
	f := w.fenceOf(disk.Config{Root: w.path("srv"), Access: permission.AccessWrite, Rules: w.rules("allow Read(./src/**)")})
	for _, p := range []string{"src/a", "//srv/src/a", "//data/proj/src/a"} {
		if _, err := w.judge(f, "read", p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if _, err := w.judge(f, "write", p); err != nil {
			t.Errorf("writing %s: %v", p, err)
		}
	}
	strict := w.fenceOf(disk.Config{Root: w.path("srv"), Rules: w.rules("deny Read(./src/**)")})
	if _, err := w.judge(strict, "read", "//data/proj/src/a"); outcome(err) != "deny" {
		t.Errorf("the real name is %v", err)
	}
}

func TestAbsoluteGlob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/secret/k", "out/x")
	f := w.fence("deny Read(secret/**)")
	for pattern, want := range map[string]string{"//proj/secret/**": "deny", "//out/*": "ask", "//proj/*": "allow", "*": "allow", "{..,..}/out/*": "allow"} {
		r := w.request("glob", "-")
		r.Args.Values["pattern"] = w.spell(pattern)
		p, err := f.Judge(t.Context(), r)
		if got := outcome(err); got != want {
			t.Errorf("%s is %s, not %s", pattern, got, want)
		}
		if pattern == "//proj/*" && (p.Canonical != w.path("proj") || p.Pattern != "*") {
			t.Errorf("%s is searched at %+v", pattern, p)
		}
	}
}

func TestSearchLeavesOutWhatIsDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "proj/a", "proj/docs/private/x", "proj/docs/b", "proj/.env")
	f := w.fence("deny Glob(docs/private/**)", "deny Read(./.env)")
	see := func(name string) (seen []string) {
		_, err := f.Walk(t.Context(), w.place(f, name, "-"), tool.WalkOptions{}, func(e tool.Entry) error {
			seen = append(seen, e.Rel)
			return nil
		})
		must(t, err)
		return seen
	}
	if got := see("glob"); !slices.Equal(got, []string{"a", "docs", "docs/b"}) {
		t.Errorf("glob sees %q", got)
	}
	if got := see("grep"); !slices.Equal(got, []string{"a", "docs", "docs/b", "docs/private", "docs/private/x"}) {
		t.Errorf("grep sees %q", got)
	}
}

func TestArgumentsOfWrongTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.fence("deny Read(//proj)")
	for name, value := range map[string]any{"number": 4, "list": []any{"a"}, "object": map[string]any{}} {
		r := w.request("write", "-")
		r.Args.Values["file_path"] = value
		if _, err := f.Judge(t.Context(), r); outcome(err) != "failed" {
			t.Errorf("a %s: %v", name, err)
		}
	}
	r := w.request("grep", "-")
	r.Args.Values["path"] = nil
	if _, err := f.Judge(t.Context(), r); outcome(err) != "deny" {
		t.Errorf("null is not the root: %v", err)
	}
	f = w.fence()
	if _, err := w.judge(f, "read", strings.Repeat("x/", 4000)); outcome(err) != "ask" {
		t.Errorf("a long name: %v", err)
	}
	if _, err := w.judge(f, "read", "a\x00b"); outcome(err) != "ask" {
		t.Errorf("a NUL: %v", err)
	}
	if _, err := w.judge(f, "read", "/proc/self/environ"); outcome(err) != "ask" {
		t.Errorf("the environment of the process: %v", err)
	}
}
