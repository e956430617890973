// Package render shows contents as text on a terminal.
//
// Holds: Markdown, Code, and Tame, which takes from a text what would command a
// terminal.
//
// Guarantees: what comes out of Tame moves no cursor and changes no title; of a
// tame text, Markdown and Code make one whose only control codes are colors, and
// each color ends; without color the text of code is left as it is. A content that is too long to be read is shown as it
// is.
//
// Does not: write anywhere, or show pictures, drawings and pages.
package render

import (
	"embed"
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// Options say how it may look.
type Options struct {
	Width int  // columns at which Markdown is wrapped; 0 does not wrap
	Color bool // color codes may be used
}

// maxRead is the size in bytes of the longest content that is highlighted or
// formatted.
const maxRead = 512 << 10

// The styles, as parameters of the code that selects them.
const (
	bold, faint, italic, underline      = "1", "2", "3", "4"
	red, green, yellow, blue, mag, cyan = "31", "32", "33", "34", "35", "36"
)

// paint puts a style on a text, line by line.
func paint(s, style string) string {
	if style == "" || s == "" {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = "\x1b[" + style + "m" + l + "\x1b[m"
		}
	}
	return strings.Join(lines, "\n")
}

// Tame returns a text that commands no terminal: control characters other than
// line ends and tabs, and signs that turn the direction of writing, are replaced.
func Tame(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return '\ufffd'
		}
		return r
	}, s)
}

//go:embed grammars/*.xml
var grammars embed.FS

// Code returns a text of a language, highlighted.
func Code(s, language string, o Options) string {
	if !o.Color || len(s) > maxRead {
		return s
	}
	lexer := lexerOf(language)
	if php, ok := lexer.(*chroma.RegexLexer); ok && php.Config().Name == "PHP" && strings.Contains(s, "<?") {
		lexer = pageOf(php)
	}
	if lexer == nil {
		return s
	}
	tokens, err := chroma.Tokenise(chroma.Coalesce(lexer), nil, s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(paint(t.Value, styleOf(t.Type)))
	}
	return b.String()
}

// lexerOf returns what reads a language; nil for one that is not known.
func lexerOf(language string) chroma.Lexer {
	language = strings.ToLower(language)
	if other, ok := aliases[language]; ok {
		language = other
	}
	if language == "go" {
		return goLexer()
	}
	if strings.ContainsAny(language, "/\\.") {
		return nil
	}
	lexer, err := chroma.NewXMLLexer(grammars, "grammars/"+language+".xml")
	if err != nil {
		return nil
	}
	return lexer
}

// pageOf returns what reads a page of text with PHP in it: the text as it is, what
// stands between <?php and ?> by the grammar.
func pageOf(php *chroma.RegexLexer) chroma.Lexer {
	rules, err := php.Rules()
	if err != nil {
		return nil
	}
	lexer, err := chroma.NewLexer(php.Config(), func() chroma.Rules {
		return rules.Rename("root", "php").Merge(chroma.Rules{"root": {
			{Pattern: `<\?(php|=)?`, Type: chroma.CommentPreproc, Mutator: chroma.Push("php")},
			{Pattern: `[^<]+|<`, Type: chroma.Text},
		}})
	})
	if err != nil {
		return nil
	}
	return lexer
}

var aliases = map[string]string{
	"golang": "go", "py": "python", "python3": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "typescript",
	"sh": "bash", "shell": "bash", "zsh": "bash", "yml": "yaml", "c++": "cpp", "c#": "csharp", "cs": "csharp", "rs": "rust", "rb": "ruby",
	"kt": "kotlin", "phtml": "php", "html": "xml", "svg": "xml", "patch": "diff", "jsonc": "json",
}

// styleOf returns how a token looks; "" is like the text around it.
func styleOf(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return faint
	case t == chroma.KeywordType, t == chroma.NameTag, t == chroma.NameClass, t == chroma.NameBuiltin:
		return cyan
	case t.InCategory(chroma.Keyword):
		return mag
	case t.InSubCategory(chroma.LiteralString):
		return green
	case t.InSubCategory(chroma.LiteralNumber):
		return yellow
	case t == chroma.NameFunction, t == chroma.NameAttribute:
		return blue
	case t == chroma.GenericInserted:
		return green
	case t == chroma.GenericDeleted:
		return red
	case t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return bold
	}
	return ""
}

// goLexer reads Go.
func goLexer() chroma.Lexer {
	lexer, err := chroma.NewLexer(&chroma.Config{Name: "Go", EnsureNL: false}, func() chroma.Rules {
		return chroma.Rules{"root": {
			{Pattern: `\s+`, Type: chroma.TextWhitespace},
			{Pattern: `//[^\n]*`, Type: chroma.CommentSingle},
			{Pattern: `/\*[\s\S]*?\*/`, Type: chroma.CommentMultiline},
			{Pattern: `(break|case|chan|const|continue|default|defer|else|fallthrough|for|func|go|goto|if|import|interface|map|package|range|return|select|struct|switch|type|var)\b`, Type: chroma.Keyword},
			{Pattern: `(true|false|iota|nil)\b`, Type: chroma.KeywordConstant},
			{Pattern: `(any|bool|byte|comparable|complex64|complex128|error|float32|float64|u?int(8|16|32|64)?|uintptr|rune|string)\b`, Type: chroma.KeywordType},
			{Pattern: "`[^`]*`", Type: chroma.LiteralString},
			{Pattern: `"(\\.|[^"\\\n])*"`, Type: chroma.LiteralString},
			{Pattern: `'(\\.[^']*|[^'\\\n])'`, Type: chroma.LiteralStringChar},
			{Pattern: `(0[xX][0-9a-fA-F_.p+-]+|0[bBoO][0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][+-]?[0-9_]+)?i?|\.[0-9][0-9_]*)`, Type: chroma.LiteralNumber},
			{Pattern: `[\p{L}_][\p{L}\p{N}_]*(?=\()`, Type: chroma.NameFunction},
			{Pattern: `[\p{L}_][\p{L}\p{N}_]*`, Type: chroma.Name},
			{Pattern: `[\s\S]`, Type: chroma.Punctuation},
		}}
	})
	if err != nil {
		return nil
	}
	return lexer
}
