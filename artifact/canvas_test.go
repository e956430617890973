package artifact_test

import (
	"slices"
	"testing"

	"github.com/tenonrun/tenon/artifact"
)

func TestArtboards(t *testing.T) {
	t.Parallel()
	for content, want := range map[string][]string{
		"":        nil,
		"<p>text": nil,
		`<section data-artboard="One">x</section><section data-artboard="Two">y`:                                                {"One", "Two"},
		`<!doctype html><style>a{}</style><body><SECTION Data-Artboard=One><section data-artboard="inner"></section>`:           {"One"},
		`<div><section data-artboard="nested"></section></div><section>plain</section><section data-artboard>nameless`:          {""},
		`<script>"<section data-artboard='no'>"</script><!-- <section data-artboard="no"> --><section data-artboard="a&amp;b">`: {"a&b"},
	} {
		if got, err := artifact.Artboards(content); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s has the artboards %q (%v), not %q", content, got, err, want)
		}
	}
}
