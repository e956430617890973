package composition_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/composition"
)

func TestParseRef(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind      composition.Kind
		text      string
		want      composition.Ref
		spelled   string
		complaint string // part of the error; empty for none
	}{
		{"agent", "reviewer", composition.Ref{Slug: "reviewer"}, "reviewer", ""},
		{"agent", "reviewer@1.2.0", composition.Ref{Slug: "reviewer", Version: "1.2.0"}, "reviewer@1.2.0", ""},
		{"agent", "reviewer@latest", composition.Ref{Slug: "reviewer", Version: "latest"}, "reviewer", ""},
		{"agent", "acme/reviewer@3", composition.Ref{Org: "acme", Slug: "reviewer", Version: "3"}, "acme/reviewer@3", ""},
		{"agent", "agent:reviewer", composition.Ref{Slug: "reviewer"}, "reviewer", ""},
		{"agent", "a@0.0.0+0123456789ab", composition.Ref{Slug: "a", Version: "0.0.0+0123456789ab"}, "a@0.0.0+0123456789ab", ""},
		{"skill", "pdf/forms@^1", composition.Ref{Slug: "pdf/forms", Version: "^1"}, "pdf/forms@^1", ""},
		{"skill", "pdf@~1.2", composition.Ref{Slug: "pdf", Version: "~1.2"}, "pdf@~1.2", ""},
		{"agent", "", composition.Ref{}, "", "is empty"},
		{"agent", "a b", composition.Ref{}, "", "holds a space"},
		{"agent", "a@", composition.Ref{}, "", "no version after"},
		{"agent", "a@1@2", composition.Ref{}, "", "more than one @"},
		{"agent", "skill:a", composition.Ref{}, "", "not of the kind agent"},
		{"agent", "Reviewer", composition.Ref{}, "", "lower-case"},
		{"agent", "a/b/c", composition.Ref{}, "", "lower-case"},
		{"agent", "../a", composition.Ref{}, "", "organisation"},
		{"agent", "a@^1", composition.Ref{}, "", "range"},
		{"agent", "a@0", composition.Ref{}, "", "count from 1"},
		{"agent", "a@01", composition.Ref{}, "", "count from 1"},
		{"agent", "a@1.0", composition.Ref{}, "", "not a version"},
		{"agent", "a@1.0.0-", composition.Ref{}, "", "not a version"},
		{"agent", "a@1.0.0-01", composition.Ref{}, "", "not a version"},
		{"agent", "a@v1.0.0", composition.Ref{}, "", "not a version"},
		{"skill", "a@^x", composition.Ref{}, "", "not a range"},
		{"agent", strings.Repeat("a", 200), composition.Ref{}, "", "at most 128"},
	}
	for _, tc := range tests {
		got, err := composition.ParseRef(tc.kind, tc.text)
		switch {
		case tc.complaint != "":
			if err == nil || !strings.Contains(err.Error(), tc.complaint) {
				t.Errorf("%q: %v, want an error with %q", tc.text, err, tc.complaint)
			}
		case err != nil || got != tc.want || got.String() != tc.spelled:
			t.Errorf("%q is %+v (%s), %v", tc.text, got, got, err)
		}
	}
}

func TestFindVersion(t *testing.T) {
	t.Parallel()
	var items []composition.Item
	for i, v := range []string{"0.2.0", "0.2.5", "0.3.0", "1.0.0", "1.2.3", "1.10.0", "2.0.0-rc.1"} {
		it := stored(skill("s", v))
		it.Revision = i + 1
		items = append(items, it)
	}
	c := composition.NewCatalog(items)
	tests := []struct{ version, want string }{
		{"", "1.10.0"}, {"latest", "1.10.0"}, {"1.2.3", "1.2.3"}, {"2", "0.2.5"}, {"^1", "1.10.0"}, {"^1.2.3", "1.10.0"}, {"~1.2", "1.2.3"}, {"~1", "1.10.0"},
		{"^0.2", "0.2.5"}, {"^0.2.1", "0.2.5"}, {"^0", "0.3.0"}, {"2.0.0-rc.1", "2.0.0-rc.1"}, {"^2.0.0-rc.1", "2.0.0-rc.1"},
		{"^2", ""}, {"9", ""}, {"1.2.4", ""},
	}
	for _, tc := range tests {
		it, err := c.Find(composition.KindSkill, composition.Ref{Slug: "s", Version: tc.version}, composition.Options{})
		switch {
		case tc.want == "" && (err == nil || !strings.Contains(err.Error(), "there are: ")):
			t.Errorf("%q: %v, want an error with what there is", tc.version, err)
		case tc.want != "" && (err != nil || it.Version != tc.want):
			t.Errorf("%q is %v, %v; want %s", tc.version, it, err, tc.want)
		}
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	all := []composition.Lifecycle{composition.Draft, composition.Published, composition.Archived}
	for _, from := range all {
		for _, to := range all {
			want := from == composition.Draft && to == composition.Published || from == composition.Published && to == composition.Archived
			if err := from.To(to); (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
	}
}
