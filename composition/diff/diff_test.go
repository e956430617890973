package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/diff"
)

func agent(name, version string) composition.Item {
	it := composition.ReadAgent(name+".md", name, []byte("---\nname: "+name+"\nversion: "+version+"\n---\nx\n"))
	it.Tier = composition.TierProject
	return it
}

func skill(name, version string) composition.Item {
	it := composition.ReadSkill(name+"/SKILL.md", name, []byte("---\nname: "+name+"\ndescription: d\nversion: "+version+"\n---\n"), []composition.File{})
	it.Tier = composition.TierProject
	return it
}

func resolveTree(text string, items ...composition.Item) (*composition.Resolution, error) {
	it := composition.ReadComposition("t.yaml", "t", []byte(text))
	it.Tier = composition.TierProject
	return composition.Resolve(composition.NewCatalog(append(items, it)), composition.Ref{Slug: "t"}, composition.Options{})
}

func TestBetween(t *testing.T) {
	t.Parallel()
	items := []composition.Item{agent("lead", "1.0.0"), agent("lead", "1.1.0"), agent("a", "1.0.0"), agent("b", "1.0.0"), skill("pdf", "1.0.0")}
	one, err := resolveTree("slug: t\nversion: 1.0.0\nroot: {agent: lead@1.0.0, limits: {maxDepth: 2}, children: [a]}\n", items...)
	if err != nil {
		t.Fatal(err)
	}
	two, err := resolveTree("slug: t\nversion: 1.1.0\ncapability: {reach: sandbox}\nroot: {agent: lead@1.1.0, skills: [pdf], tools: [bash], modelOverride: big, limits: {maxDepth: 2}, children: [b]}\n", items...)
	if err != nil {
		t.Fatal(err)
	}
	if same := diff.Between(&one.Composition, &one.Composition); len(same) > 0 {
		t.Errorf("a composition differs from itself: %v", same)
	}
	var got []string
	for _, c := range diff.Between(&one.Composition, &two.Composition) {
		line, _, _ := strings.Cut(c.String(), " (")
		got = append(got, line)
	}
	want := []string{
		"~ composition: t@1.0.0 → t@1.1.0", `+ capability: {"reach":"sandbox"}`, "~ lead agent: lead@1.0.0", "+ lead skills: pdf@1.0.0", "+ lead tools: bash",
		`+ lead modelOverride: {"kind":"concrete","modelId":"big"}`, "- lead/a: a@1.0.0", "+ lead/b: b@1.0.0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
