package export

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/tenonrun/tenon/artifact"
)

// Body returns the bytes of a content as a file has them, and its extension. A
// picture is decoded from base64 or a data: URL; one that is not a picture of its
// type stays as text, so that no program takes it for something else.
func Body(mime, content string) (raw []byte, ext string) {
	if artifact.KindOf(mime) != artifact.Image {
		return []byte(content), artifact.Extension(mime)
	}
	if raw, ok := Picture(content); ok {
		return raw, pictures[http.DetectContentType(raw)]
	}
	return []byte(content), ".txt"
}

// pictures are the raster formats that are recognised, and their extensions.
var pictures = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/bmp": ".bmp", "image/x-icon": ".ico",
}

// Picture decodes the content of a raster picture, base64 or a data: URL. It is
// false for what does not begin as one.
func Picture(content string) ([]byte, bool) {
	content = strings.TrimSpace(content)
	if rest, ok := strings.CutPrefix(content, "data:"); ok {
		head, data, found := strings.Cut(rest, ",")
		if !found || !strings.HasSuffix(head, ";base64") {
			return nil, false
		}
		content = data
	}
	content = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' {
			return -1
		}
		return r
	}, content)
	raw, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(content)
	}
	return raw, err == nil && pictures[http.DetectContentType(raw)] != ""
}
