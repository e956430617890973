package artifact_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tenonrun/tenon/artifact"
)

// TestLines: a log is read as far as it can be, and says what it left out.
func TestLines(t *testing.T) {
	t.Parallel()
	good := `{"artifact":"a","title":"","mime":"","version":1,"content":"x","at":1.9}`
	log := strings.Join([]string{
		good, "", "  \r", good + "\r", `{"format":2}`, `{"format":1,` + good[1:], `{"artifact":`, `null`, `[]`, "\xff{}",
		strings.Replace(good, `"at":1.9`, `"at":"1"`, 1), strings.Replace(good, `"at":1.9`, `"at":1e300`, 1),
		strings.Replace(good, `"x"`, `null`, 1), strings.Replace(good, `"x"`, `"x","author":null`, 1),
		strings.Replace(good, `"version":1`, `"version":1.5`, 1), strings.Replace(good, `"version":1`, `"version":9007199254740992`, 1),
		strings.Replace(good, `"x"`, `"x","sha256":"`+artifact.Digest("y")+`"`, 1), strings.Replace(good, `"x"`, `"x","sha256":"`+artifact.Digest("x")+`"`, 1),
		strings.Replace(good, `"x"`, `"x","after":-1`, 1), strings.Replace(good, `"x"`, `"x","after":"1"`, 1),
		strings.Replace(good, `"x"`, `"`+strings.Repeat("x", 1000)+`"`, 1),
		`{"artifact":"a","version":1,"at":1,"deleted":true}`, `{"artifact":"a","version":1,"at":1,"deleted":true,"id":"d","seq":4}`,
		good[:20],
	}, "\n")
	var got []string
	for l, err := range artifact.Lines(strings.NewReader(log), 500) {
		var bad *artifact.BadLine
		switch {
		case errors.As(err, &bad):
			got = append(got, string(bad.Why))
			if !strings.Contains(err.Error(), "line ") || bad.Line == 0 {
				t.Errorf("the error is %v", err)
			}
		case err != nil:
			t.Error(err)
		case l.Deleted:
			got = append(got, "deleted")
		case l.Content != "x" || l.At != 1:
			t.Errorf("it is %+v", l)
		default:
			got = append(got, "good")
		}
	}
	want := strings.Fields("good good newer good torn torn torn torn foreign foreign foreign foreign foreign foreign foreign good foreign foreign long foreign deleted torn")
	if !slices.Equal(got, want) {
		t.Errorf("the lines are\n%q, not\n%q", got, want)
	}
	failure := errors.New("the disk is gone")
	for _, err := range artifact.Lines(iotest.ErrReader(failure), 0) {
		if !errors.Is(err, failure) {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestReferences: a line without its content comes back as it was.
func TestReferences(t *testing.T) {
	t.Parallel()
	for _, r := range []artifact.Revision{
		{Artifact: "a", Version: 1, Digest: artifact.Digest("")},
		{ID: "i", Seq: 3, Device: "d", Artifact: "a", Title: "<b>\u2028", Mime: "text/html", Language: "html", Version: 2, Digest: artifact.Digest("x"), Bytes: 1, At: -5, Author: artifact.Person, After: 7},
		{ID: "i", Seq: 3, Device: "d", Artifact: "a", Version: 2, At: 1, Deleted: true},
	} {
		line, err := r.AppendReference(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := artifact.DecodeReference(line); err != nil || got != r {
			t.Errorf("%s came back as %+v (%v)", line, got, err)
		}
		if _, err := artifact.DecodeLine(line); err == nil && !r.Deleted {
			t.Errorf("%s has no content and is a line", line)
		}
	}
}

// FuzzDecodeLine: what is taken comes back the same, and a log takes it.
func FuzzDecodeLine(f *testing.F) {
	for _, seed := range []string{
		`{"artifact":"a","title":"T","mime":"text/plain","version":1,"content":"c","at":10,"id":"r1","seq":3,"device":"d1","author":"user","after":4}`,
		`{"artifact":"a","version":1,"at":1,"deleted":true,"id":"d","seq":4}`, `{"artifact":"a","title":"T","version":1,"at":1,"deleted":true,"id":"d","seq":4,"content":"x"}`, `{"artifact":"a","title":"\ud800","mime":"","version":1,"content":"\u0000","at":-1e3}`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := artifact.DecodeLine(raw)
		if err != nil {
			return
		}
		again, err := l.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := artifact.DecodeLine(again); err != nil || back != l {
			t.Errorf("%s came back as %+v, not %+v (%v)", again, back, l, err)
		}
		var log artifact.Log
		if fate, err := log.Add(l.Revision); fate != artifact.Added || err != nil {
			t.Errorf("%s is %v in a log (%v)", raw, fate, err)
		}
	})
}
