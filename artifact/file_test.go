package artifact_test

import (
	"testing"

	"github.com/tenonrun/tenon/artifact"
)

// TestFiles: a name tells the type of a file, and a picture is held in base64.
func TestFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a.MD": "text/markdown", "a/b.tar.php": "text/x-php", "x": "", ".png": "image/png", "a.": "", "a.unknown": ""} {
		if got := artifact.TypeOf(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	for _, tc := range []struct{ mime, raw, want string }{
		{"text/plain", "\xff", "\xff"},
		{"IMAGE/PNG; a=b", "\x89PNG", "iVBORw=="},
		{"image/png", "iVBORw==\n", "iVBORw==\n"},
		{"image/png", "data:image/png;base64,iVBORw==", "data:image/png;base64,iVBORw=="},
		{"image/svg+xml", "<svg/>", "<svg/>"},
		{"image/gif", "GIF89a\x01\x00", "R0lGODlhAQA="},
	} {
		if got := artifact.FileContent(tc.mime, []byte(tc.raw)); got != tc.want {
			t.Errorf("%s %q becomes %q, want %q", tc.mime, tc.raw, got, tc.want)
		}
	}
}
