package artifact

import (
	"encoding/base64"
	"path"
	"strings"
)

// types are the mime types of files, by their extensions.
var types = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".txt": "text/plain", ".csv": "text/csv", ".html": "text/html", ".htm": "text/html",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif",
	".bmp": "image/bmp", ".tiff": "image/tiff", ".ico": "image/x-icon",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "text/x-toml", ".xml": "text/xml", ".graphql": "application/graphql",
	".go": "text/x-go", ".py": "text/x-python", ".js": "text/javascript", ".mjs": "text/javascript", ".ts": "text/x-typescript", ".sh": "text/x-sh", ".css": "text/css",
	".sql": "text/x-sql", ".rs": "text/x-rust", ".java": "text/x-java", ".kt": "text/x-kotlin", ".c": "text/x-c", ".h": "text/x-c", ".cpp": "text/x-c++", ".cs": "text/x-csharp",
	".rb": "text/x-ruby", ".php": "text/x-php", ".lua": "text/x-lua", ".swift": "text/x-swift", ".diff": "text/x-diff", ".patch": "text/x-diff",
}

// TypeOf returns the mime type of a file by its name; "" when that does not tell.
func TypeOf(name string) string { return types[strings.ToLower(path.Ext(name))] }

// FileContent returns what a file holds as the content of an artifact: the bytes
// of a picture in base64, if they are not, all else as it is.
func FileContent(mime string, raw []byte) string {
	s := string(raw)
	if KindOf(mime) != Image || strings.HasPrefix(s, "data:") {
		return s
	}
	if _, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s)); err == nil {
		return s
	}
	return base64.StdEncoding.EncodeToString(raw)
}
