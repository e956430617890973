package artifact

import (
	"slices"
	"strings"
)

// Kind is what a reader has to be able to do to show an artifact. The list is
// closed: a kind more is a decision of every reader.
type Kind string

// The kinds.
const (
	Text     Kind = "text"     // as it is
	Markdown Kind = "markdown" // as a formatted text
	Code     Kind = "code"     // as a highlighted text
	Image    Kind = "image"    // as a raster picture; the content is base64 or a data: URL
	Vector   Kind = "vector"   // as a drawing, which may hold scripts
	Page     Kind = "page"     // as a document that runs scripts
)

var kinds = []Kind{Text, Markdown, Code, Image, Vector, Page}

// Kinds returns all kinds, the least able one first.
func Kinds() []Kind { return slices.Clone(kinds) }

// NeedsSandbox reports whether a kind runs what the artifact says.
func (k Kind) NeedsSandbox() bool { return k == Page }

// CanvasMime is the mime type of a canvas: a page of artboards that a person can
// arrange.
const CanvasMime = "text/canvas+html"

// format is what is known of a mime type.
type format struct {
	kind     Kind
	ext      string // of a file, with its dot
	language string // for highlighting
}

// formats are the mime types that are more than text. A type that can run, such
// as application/xhtml+xml, is in here only when a kind keeps it in its place.
var formats = map[string]format{
	"text/plain":         {Text, ".txt", ""},
	"text/csv":           {Text, ".csv", ""},
	"text/markdown":      {Markdown, ".md", "markdown"},
	"text/html":          {Page, ".html", "html"},
	CanvasMime:           {Page, ".html", "html"},
	"image/svg+xml":      {Vector, ".svg", "xml"},
	"image/png":          {Image, ".png", ""},
	"image/jpeg":         {Image, ".jpg", ""},
	"image/gif":          {Image, ".gif", ""},
	"image/webp":         {Image, ".webp", ""},
	"image/avif":         {Image, ".avif", ""},
	"image/bmp":          {Image, ".bmp", ""},
	"image/tiff":         {Image, ".tiff", ""},
	"image/x-icon":       {Image, ".ico", ""},
	"application/json":   {Code, ".json", "json"},
	"application/x-sh":   {Code, ".sh", "bash"},
	"application/sql":    {Code, ".sql", "sql"},
	"application/toml":   {Code, ".toml", "toml"},
	"application/yaml":   {Code, ".yaml", "yaml"},
	"application/x-yaml": {Code, ".yaml", "yaml"},
	"application/xml":    {Code, ".xml", "xml"},
	"text/xml":           {Code, ".xml", "xml"},
	"text/yaml":          {Code, ".yaml", "yaml"},
	"text/x-yaml":        {Code, ".yaml", "yaml"},
	"text/x-toml":        {Code, ".toml", "toml"},
	"text/css":           {Code, ".css", "css"},
	"text/x-c":           {Code, ".c", "c"},
	"text/x-c++":         {Code, ".cpp", "cpp"},
	"text/x-csharp":      {Code, ".cs", "csharp"},
	"text/x-diff":        {Code, ".diff", "diff"},
	"text/x-go":          {Code, ".go", "go"},
	"text/x-java":        {Code, ".java", "java"},
	"text/x-kotlin":      {Code, ".kt", "kotlin"},
	"text/x-lua":         {Code, ".lua", "lua"},
	"text/x-php":         {Code, ".php", "php"},
	"text/x-python":      {Code, ".py", "python"},
	"text/x-ruby":        {Code, ".rb", "ruby"},
	"text/x-rust":        {Code, ".rs", "rust"},
	"text/x-script":      {Code, ".txt", ""},
	"text/x-sh":          {Code, ".sh", "bash"},
	"text/x-shellscript": {Code, ".sh", "bash"},
	"text/x-sql":         {Code, ".sql", "sql"},
	"text/x-swift":       {Code, ".swift", "swift"},
	"text/x-typescript":  {Code, ".ts", "typescript"},

	"text/javascript":          {Code, ".js", "javascript"},
	"application/javascript":   {Code, ".js", "javascript"},
	"application/x-javascript": {Code, ".js", "javascript"},
	"text/typescript":          {Code, ".ts", "typescript"},
	"application/typescript":   {Code, ".ts", "typescript"},
	"application/x-python":     {Code, ".py", "python"},
	"application/ld+json":      {Code, ".json", "json"},
	"application/graphql":      {Code, ".graphql", "graphql"},
	"application/x-httpd-php":  {Code, ".php", "php"},
}

// essence returns a mime type without its parameters, in lower case.
func essence(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	return strings.ToLower(strings.TrimSpace(mime))
}

// known returns what is known of a mime type. A type that nobody knows is text,
// the kind that can do least; a raster picture is a picture whatever its format.
func known(mime string) format {
	mime = essence(mime)
	if f, ok := formats[mime]; ok {
		return f
	}
	if sub, ok := strings.CutPrefix(mime, "image/"); ok && isToken(sub) {
		return format{kind: Image, ext: ".bin"}
	}
	return format{kind: Text, ext: ".txt"}
}

// isToken reports whether s may be a part of a mime type.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && !strings.ContainsRune("!#$&-^_.+", rune(c)) {
			return false
		}
	}
	return s != ""
}

// KindOf returns the kind of a mime type. Parameters and case do not count, and
// there is no type without a kind.
func KindOf(mime string) Kind { return known(mime).kind }

// IsCanvas reports whether a mime type is that of a canvas. Parameters and case
// do not count.
func IsCanvas(mime string) bool { return essence(mime) == CanvasMime }

// Extension returns the extension of a file of a mime type, with its dot.
func Extension(mime string) string { return known(mime).ext }

// LanguageOf returns the language a mime type is highlighted as; "" is none.
func LanguageOf(mime string) string { return known(mime).language }
