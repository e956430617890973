package version_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/composition/version"
)

func TestVersionOrder(t *testing.T) {
	t.Parallel()
	list := []string{"0.0.0", "0.9.9", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"}
	for i, a := range list {
		for j, b := range list {
			va, errA := version.Parse(a)
			vb, errB := version.Parse(b)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if got, want := va.Compare(vb), cmpInt(i, j); got != want {
				t.Errorf("%s against %s is %d, want %d", a, b, got, want)
			}
		}
	}
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestVersionRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})(-[a-z][a-z0-9]{0,3}(\.[1-9]\d?)?)?(\+[0-9a-f]{1,12})?`).Draw(t, "version")
		v, err := version.Parse(s)
		if err != nil || v.String() != s {
			t.Fatalf("%q is %s, %v", s, v, err)
		}
	})
}

func TestFits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		request, version string
		want             bool
	}{
		{"", "1.0.0", true}, {"latest", "0.0.0+abc", true}, {"1.0.0", "1.0.0", true}, {"1.0.0", "1.0.0+abc", false}, {"7", "1.0.0", true}, {"8", "1.0.0", false},
		{"^1.2", "1.9.0", true}, {"^1.2", "1.1.9", false}, {"^1.2", "2.0.0", false}, {"~1.2.3", "1.2.9", true}, {"~1.2.3", "1.3.0", false},
		{"^0.0.3", "0.0.3", true}, {"^0.0.3", "0.0.4", false}, {"^0.0", "0.0.9", true}, {"^0.0", "0.1.0", false}, {"^0", "0.9.0", true}, {"~0", "0.9.0", true},
		{"^1.0.0", "1.1.0-rc", false}, {"^1.1.0-rc", "1.1.0-rc.1", true}, {"^1.1.0-rc", "1.2.0-rc", false},
	}
	for _, tc := range tests {
		q, err := version.ParseRequest(tc.request)
		if err != nil {
			t.Fatal(err)
		}
		v, err := version.Parse(tc.version)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Fits(v, tc.version, 7); got != tc.want {
			t.Errorf("%s fits %q: %v", tc.version, tc.request, got)
		}
	}
}

func TestImplicit(t *testing.T) {
	t.Parallel()
	for digest, want := range map[string]string{"0123456789abcdef": "0.0.0+0123456789ab", "ab": "0.0.0+ab"} {
		got := version.Implicit(digest)
		if _, err := version.Parse(got); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{"", "latest", "3", "1.2.3-a.1+b", "^1", "~0.2", "^99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := version.ParseRequest(s)
		if err != nil {
			return
		}
		if v, err := version.Parse(s); err == nil && !q.Fits(v, s, 0) {
			t.Fatalf("%q does not fit itself", s)
		}
	})
}
