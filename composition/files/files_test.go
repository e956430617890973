package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/files"
	"github.com/tenonrun/tenon/internal/source"
)

// write makes files below a new directory.
func write(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c files.Config) *files.Files {
	t.Helper()
	f, err := files.Read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func agent(name string, lines ...string) string {
	return "---\nname: " + name + "\ndescription: about " + name + "\n" + strings.Join(append(lines, "---"), "\n") + "\nYou are " + name + ".\n"
}

func skill(name string) string {
	return "---\nname: " + name + "\ndescription: how to " + name + "\n---\nDo it.\n"
}

func find(t *testing.T, f *files.Files, kind composition.Kind, slug string) composition.Item {
	t.Helper()
	for _, it := range f.Items {
		if it.Kind == kind && it.Slug == slug {
			return it
		}
	}
	t.Fatalf("no %s %s", kind, slug)
	return composition.Item{}
}

func TestRead(t *testing.T) {
	t.Parallel()
	project := write(t, map[string]string{
		".tenon/agents/lead.md":               agent("lead", "agents: [reviewer]", "skills: [pdf]"),
		".claude/agents/review/reviewer.md":   agent("reviewer", "tools: Read, Grep"),
		".claude/skills/pdf/SKILL.md":         skill("pdf"),
		".claude/skills/pdf/scripts/run.sh":   "#!/bin/sh\n",
		".claude/skills/pdf/forms/SKILL.md":   skill("forms"),
		".claude/skills/pdf/forms/form.txt":   "x",
		".tenon/compositions/docs.yaml":       "slug: docs\nroot: lead\n",
		".tenon/agents/notes.txt":             "not an agent",
		".tenon/agents/.hidden.md":            "nor this",
		".tenon/skills/README.md":             "nor a skill",
		".claude/agents/review/.git/agent.md": "nor this",
	})
	f := read(t, files.Config{Project: project})
	if len(f.Problems) > 0 {
		t.Error(f.Problems)
	}
	var got []string
	for _, it := range f.Items {
		if it.Err != nil {
			t.Errorf("%s: %v", it.Source, it.Err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %d %s", it.Kind, it.Slug, it.Tier, it.Place, it.Source))
	}
	slices.Sort(got)
	want := []string{
		"agent lead project 0 .tenon/agents/lead.md",
		"agent reviewer project 1 .claude/agents/review/reviewer.md",
		"composition docs project 0 .tenon/compositions/docs.yaml",
		"skill pdf project 1 .claude/skills/pdf/SKILL.md",
		"skill pdf/forms project 1 .claude/skills/pdf/forms/SKILL.md",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	pdf := find(t, f, composition.KindSkill, "pdf")
	if len(pdf.Skill.Files) != 4 || !pdf.Skill.Files[3].Executable {
		t.Errorf("files of pdf: %+v", pdf.Skill.Files)
	}
	if raw, err := f.ReadFile(&pdf, "scripts/run.sh"); err != nil || string(raw) != "#!/bin/sh\n" {
		t.Errorf("%q, %v", raw, err)
	}
	put(t, filepath.Join(project, ".claude/skills/pdf/scripts/run.sh"), "#!/bin/sh\nrm -r x\n")
	if _, err := f.ReadFile(&pdf, "scripts/run.sh"); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a file that changed is read: %v", err)
	}
	if _, err := composition.Resolve(f.Catalog(nil), composition.Ref{Slug: "docs"}, composition.Options{}); err != nil {
		t.Error(err)
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	text := map[string]string{"agents/a.md": agent("a")}
	c := files.Config{
		System: fstest.MapFS{"agents/a.md": {Data: []byte(agent("a"))}, "agents/base.md": {Data: []byte(agent("base"))}},
		Biomes: []string{write(t, text)}, Org: write(t, text), OrgName: "acme", User: write(t, text),
		Project: write(t, map[string]string{".tenon/agents/a.md": agent("a"), ".claude/agents/a.md": agent("a")}),
		Home:    write(t, map[string]string{".claude/agents/a.md": agent("a")}),
	}
	cat := read(t, c).Catalog(nil)
	tests := []struct {
		ref    string
		shared bool
		tier   composition.Tier
	}{{"a", false, composition.TierUser}, {"a", true, composition.TierProject}, {"acme/a", false, composition.TierOrg}, {"base", false, composition.TierSystem}}
	for _, tc := range tests {
		ref, err := composition.ParseRef(composition.KindAgent, tc.ref)
		if err != nil {
			t.Fatal(err)
		}
		it, err := cat.Find(composition.KindAgent, ref, composition.Options{Shared: tc.shared})
		if err != nil || it.Tier != tc.tier || it.Place != 0 {
			t.Errorf("%s is %+v, %v", tc.ref, it, err)
		}
	}
	if shadows := cat.Shadows(); len(shadows) != 5 {
		t.Errorf("%d shadows, want 5 (the home, both of the project, biome, system):\n%v", len(shadows), shadows)
	}
}

func codes(err error) []string {
	var out []string
	var es source.Errors
	if err != nil && !errors.As(err, &es) {
		return []string{err.Error()}
	}
	for _, e := range es {
		out = append(out, fmt.Sprintf("%s %s:%d", e.Code, e.File, e.Line))
	}
	return out
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	project := write(t, map[string]string{
		".tenon/agents/bad.md":         "---\nname: bad\n\tdescription: Use it\n---\n",
		".tenon/agents/none.md":        "You are nobody.\n",
		".tenon/agents/open.md":        "---\nname: open\n",
		".tenon/agents/big.md":         strings.Repeat("x", files.MaxText+1),
		".tenon/agents/grant.md":       agent("grant", "permission: {bash: allow}"),
		".tenon/agents/list.md":        agent("list", "skills: {a: b}"),
		".tenon/skills/bare/SKILL.md":  "# Bare\n",
		".tenon/skills/lower/skill.md": skill("lower"),
		".tenon/compositions/c.yaml":   "slug: c\nroot: {agent: a, children: [{alias: b}]}\n",
	})
	f := read(t, files.Config{Project: project})
	want := map[string]string{
		"agent bad": "syntax .tenon/agents/bad.md:3", "agent none": "front_matter .tenon/agents/none.md:1", "agent open": "front_matter .tenon/agents/open.md:1",
		"agent big": "too_large .tenon/agents/big.md:0", "agent grant": "floor_grant .tenon/agents/grant.md:4", "agent list": "shape .tenon/agents/list.md:4",
		"skill bare": "front_matter .tenon/skills/bare/SKILL.md:1", "composition c": "shape .tenon/compositions/c.yaml:2",
	}
	for _, it := range f.Items {
		name := string(it.Kind) + " " + it.Slug
		if got := codes(it.Err); !slices.Contains(got, want[name]) {
			t.Errorf("%s: %v, want %s", name, it.Err, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s was not found", name)
	}
	if len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Hint, "skill.md") {
		t.Errorf("problems: %v", f.Problems)
	}
	_, err := f.Catalog(nil).Find(composition.KindAgent, composition.Ref{Slug: "bad"}, composition.Options{})
	if err == nil || !strings.Contains(err.Error(), "mend .tenon/agents/bad.md") {
		t.Errorf("an agent that cannot be read: %v", err)
	}
}

// A file that is broken hides what is less specific: nothing else is taken in its
// place.
func TestBrokenHides(t *testing.T) {
	t.Parallel()
	c := files.Config{Project: write(t, map[string]string{".tenon/agents/a.md": "no head", ".claude/agents/a.md": agent("a")})}
	if it, err := read(t, c).Catalog(nil).Find(composition.KindAgent, composition.Ref{Slug: "a"}, composition.Options{}); err == nil {
		t.Errorf("%s was taken", it.Source)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	outside := write(t, map[string]string{"secret.md": agent("secret"), "skill/SKILL.md": skill("far"), "key": "k"})
	project := write(t, map[string]string{
		".tenon/agents/real.md": agent("real"), ".tenon/skills/s/SKILL.md": skill("s"), ".tenon/skills/s/a.txt": "a",
		".tenon/skills/ok/SKILL.md": skill("ok"), ".tenon/skills/ok/a.txt": "a", "shared/near/SKILL.md": skill("near"),
	})
	home := write(t, map[string]string{".claude/skills/mine/SKILL.md": skill("mine")})
	for link, to := range map[string]string{
		filepath.Join(project, ".tenon/agents/out.md"):     filepath.Join(outside, "secret.md"),
		filepath.Join(project, ".tenon/agents/nowhere.md"): "gone.md",
		filepath.Join(project, ".tenon/agents/twin.md"):    "real.md",
		filepath.Join(project, ".tenon/skills/s/key"):      filepath.Join(outside, "key"),
		filepath.Join(project, ".tenon/skills/s/up"):       "../../agents/real.md",
		filepath.Join(project, ".tenon/skills/s/dir"):      ".",
		filepath.Join(project, ".tenon/skills/ok/b.txt"):   "a.txt",
		filepath.Join(project, ".tenon/skills/far"):        filepath.Join(outside, "skill"),
		filepath.Join(project, ".tenon/skills/near"):       "../../shared/near",
		filepath.Join(home, ".claude/skills/far"):          filepath.Join(outside, "skill"),
		filepath.Join(home, ".claude/skills/mine/key"):     filepath.Join(outside, "key"),
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip("no links here:", err)
		}
	}
	want := map[string]string{
		"agent out": "link .tenon/agents/out.md:0", "agent nowhere": "link .tenon/agents/nowhere.md:0", "agent real": "",
		"skill s": "link .tenon/skills/s/key:0 link .tenon/skills/s/up:0 special .tenon/skills/s/dir:0", "skill ok": "", "skill far": "link .tenon/skills/far:0", "skill near": "",
	}
	f := read(t, files.Config{Project: project})
	for _, it := range f.Items {
		got := codes(it.Err)
		for w := range strings.FieldsSeq(strings.ReplaceAll(want[string(it.Kind)+" "+it.Slug], " .", "|.")) {
			if w = strings.Replace(w, "|", " ", 1); !slices.Contains(got, w) {
				t.Errorf("%s %s: no %s in %v", it.Kind, it.Slug, w, it.Err)
			}
		}
		if want[string(it.Kind)+" "+it.Slug] == "" && it.Err != nil {
			t.Errorf("%s %s: %v", it.Kind, it.Slug, it.Err)
		}
	}
	f = read(t, files.Config{Home: home})
	if it := find(t, f, composition.KindSkill, "far"); it.Err != nil {
		t.Errorf("the person's own link: %v", it.Err)
	}
	if it := find(t, f, composition.KindSkill, "mine"); !slices.ContainsFunc(codes(it.Err), func(s string) bool { return strings.HasPrefix(s, "link ") }) {
		t.Errorf("a link that leaves a skill is followed: %v", it.Err)
	}
}

// shuffled gives the entries of directories in another order.
type shuffled struct {
	fs.FS
	seed uint64
}

func (s shuffled) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(s.FS, name)
	rand.New(rand.NewPCG(s.seed, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, err
}

func (s shuffled) Sub(dir string) (fs.FS, error) {
	sub, err := fs.Sub(s.FS, dir)
	return shuffled{sub, s.seed}, err
}

// library is a tree of files with names that locales order differently.
func library() map[string]string {
	texts := map[string]string{"compositions/tree.yaml": "slug: tree\nroot:\n  agent: lead\n  limits: {maxDepth: 3}\n  children: [a-b, a_b, ab, z9, i]\n"}
	for _, name := range []string{"lead", "a-b", "a_b", "ab", "z9", "i"} {
		texts["agents/"+name+".md"] = agent(name, "skills: [s-"+strings.ReplaceAll(name, "_", "-")+"]")
		dir := "skills/s-" + strings.ReplaceAll(name, "_", "-")
		texts[dir+"/SKILL.md"] = skill(path.Base(dir))
		texts[dir+"/Z.txt"], texts[dir+"/a.txt"], texts[dir+"/é.txt"] = "1", "2", "3"
	}
	return texts
}

// result is all that a resolution hashes or writes.
func result(t *testing.T, f *files.Files) string {
	t.Helper()
	r, err := composition.Resolve(f.Catalog(nil), composition.Ref{Slug: "tree"}, composition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := r.Composition.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest + "\n" + string(r.Lock.Bytes())
}

func TestOrderDoesNotCount(t *testing.T) {
	t.Parallel()
	system := fstest.MapFS{}
	for name, text := range library() {
		system[name] = &fstest.MapFile{Data: []byte(text)}
	}
	want := result(t, read(t, files.Config{System: system}))
	for seed := range uint64(20) {
		f := read(t, files.Config{System: shuffled{system, seed}})
		rand.New(rand.NewPCG(seed, 2)).Shuffle(len(f.Items), func(i, j int) { f.Items[i], f.Items[j] = f.Items[j], f.Items[i] })
		if got := result(t, f); got != want {
			t.Fatalf("seed %d gives\n%s\nwant\n%s", seed, got, want)
		}
	}
}

// Another directory, user, locale, time zone and line ending give the same bytes.
func TestMachineDoesNotCount(t *testing.T) {
	var results []string
	for _, env := range [][4]string{{"C", "UTC", "root", "\n"}, {"tr_TR.UTF-8", "Pacific/Kiritimati", "ayşe", "\r\n"}} {
		t.Setenv("LC_ALL", env[0])
		t.Setenv("TZ", env[1])
		t.Setenv("USER", env[2])
		home := t.TempDir()
		t.Setenv("HOME", home)
		texts := map[string]string{}
		for name, text := range library() {
			if !strings.HasPrefix(name, "skills/") {
				text = strings.ReplaceAll(text, "\n", env[3])
			}
			texts[".tenon/"+name] = text
		}
		results = append(results, result(t, read(t, files.Config{Project: write(t, texts), Home: home})))
	}
	if results[0] != results[1] {
		t.Errorf("%s\ndiffers from\n%s", results[0], results[1])
	}
}

func TestReadStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := files.Read(ctx, files.Config{Project: write(t, map[string]string{".tenon/agents/a.md": agent("a")})}); err == nil {
		t.Error("reading went on")
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	f := read(t, files.Config{Project: dir, User: none, Home: none, Org: none, Biomes: []string{none}})
	if len(f.Items)+len(f.Problems) > 0 {
		t.Errorf("%v, %v", f.Items, f.Problems)
	}
}
