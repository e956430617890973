package vm

import (
	"strings"
	"unicode/utf16"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/tenonrun/tenon/internal/text"
)

// head begins the function that holds the body of a script.
const head = `async function $main(){"use strict";`

// lowering is code without async functions, and where it comes from.
type lowering struct {
	code string
	maps []segment
}

// helpers are names of functions that lowered code uses.
var helpers = text.MustPattern(`(^|[^\w$.])(__(?:async|asyncGenerator|await|forAwait|yieldStar)|\$main)([^\w$]|$)`)

// lower checks the body and turns async functions into generators, which a
// Machine drives itself.
func lower(file, source string) (lowering, error) {
	if at := helpers().FindStringSubmatchIndex(source); at != nil {
		line, col := position(source, at[4])
		return lowering{}, &SyntaxError{File: file, Line: line, Column: col, Msg: source[at[4]:at[5]] + " is a reserved name", Hint: "rename it"}
	}
	built := api.Build(options(head + source + "\n}\nexport {};"))
	if len(built.Errors) > 0 {
		return lowering{}, wording(file, source, built.Errors[0])
	}
	var low lowering
	for _, out := range built.OutputFiles {
		if strings.HasSuffix(out.Path, ".map") {
			maps, err := readMap(out.Contents)
			if err != nil {
				return lowering{}, &SyntaxError{File: file, Line: 1, Column: 1, Msg: "the lines of the script cannot be told: " + err.Error()}
			}
			low.maps = maps
			continue
		}
		low.code = enclose(string(out.Contents))
	}
	return low, nil
}

// enclose makes an expression of lowered code: a function that takes what drives
// async functions, and args.
func enclose(code string) string {
	return "(function ($async, $generator, $await, args) { \"use strict\"; " + code +
		"\nif (typeof __async !== \"undefined\") __async = $async;" +
		"\nif (typeof __asyncGenerator !== \"undefined\") __asyncGenerator = $generator;" +
		"\nif (typeof __await !== \"undefined\") __await = $await;" +
		"\nreturn $main(); })"
}

func options(source string) api.BuildOptions {
	refused := map[string]api.LogLevel{}
	for _, id := range []string{"unsupported-dynamic-import", "unsupported-require-call", "indirect-require", "direct-eval"} {
		refused[id] = api.LogLevelError
	}
	return api.BuildOptions{
		Stdin:     &api.StdinOptions{Contents: source, Sourcefile: "script.js", Loader: api.LoaderJS},
		Bundle:    true, // so that imports are seen
		Format:    api.FormatESModule,
		Platform:  api.PlatformNeutral,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Outdir: "/out", AbsWorkingDir: "/",
		TreeShaking: api.TreeShakingFalse, LogLevel: api.LogLevelSilent, LogOverride: refused, Charset: api.CharsetUTF8,
		Supported: map[string]bool{"async-await": false, "async-generator": false, "for-await": false, "using": false},
		Plugins: []api.Plugin{{Name: "imports", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				if a.Kind == api.ResolveEntryPoint {
					return api.OnResolveResult{}, nil
				}
				return api.OnResolveResult{Errors: []api.Message{{Text: modules}}}, nil
			})
		}}},
	}
}

const modules = "a workflow script cannot load modules"

// wording tells an error of the parser in the words of the dialect.
func wording(file, source string, m api.Message) error {
	e := &SyntaxError{File: file, Line: 1, Column: 1, Msg: m.Text}
	if m.Location == nil {
		return e
	}
	offset := offsetOf(source, m.Location.Line, m.Location.Column)
	e.Line, e.Column = position(source, offset)
	_, col := position(source, offset)
	line := lineAt(source, offset)
	before := strings.TrimSpace(string([]rune(line)[:min(col-1, len([]rune(line)))]))
	here := source[offset:]
	switch {
	case m.Text == modules, strings.Contains(m.Text, `"import" expression`), strings.Contains(m.Text, `"require"`),
		importing().MatchString(before), strings.HasPrefix(here, "import "):
		e.Msg, e.Hint = modules, "put helper functions into the script itself, or call another workflow with workflow()"
	case strings.HasPrefix(here, "export"):
		e.Msg, e.Hint = "only meta can be exported", "end the script with: return value"
	case strings.Contains(m.Text, "direct eval"):
		e.Msg, e.Hint = "eval is not available in a workflow script", "write the code as a function"
	case strings.Contains(m.Text, "JSX"):
		e.Msg, e.Hint = "JSX is not understood in a workflow script", "use strings"
	case typed(source, offset):
		e.Msg, e.Hint = "TypeScript is not understood in a workflow script: "+m.Text, "remove the types; write plain JavaScript"
	}
	if offset >= len(source) {
		e.Hint = "a bracket, brace or quote above is not closed"
	}
	return e
}

var importing = text.MustPattern(`(?:^|[;{}\s])import\b[\w\s${,*]*$`)

var types = text.MustPattern(`^(?:\s*(?:export\s+|declare\s+)?(?:interface|type|enum|namespace|abstract|declare)\s+[\w$]|.*[\w$)\]]\s*\??\s*:\s*[\w$<>\[\]{}| ]+\s*(?:[=,);{]|=>)|.*\s(?:as|satisfies)\s+[\w$]|.*[\w$)\]]!(?:[.;,)\s]|$)|.*\b(?:private|public|protected|readonly|implements)\b|.*\w<[\w$, \[\]|]+>\s*\()`)

// typed reports whether the line of an error looks like TypeScript.
func typed(source string, offset int) bool {
	line := lineAt(source, offset)
	return len(line) < 1000 && types().MatchString(line)
}

func lineAt(source string, offset int) string {
	offset = min(offset, len(source))
	start := strings.LastIndexAny(source[:offset], "\n\r") + 1
	end := strings.IndexAny(source[start:], "\n\r")
	if end < 0 {
		return source[start:]
	}
	return source[start : start+end]
}

// offsetOf returns the offset in the source of a line (from 1) and a column in bytes
// (from 0) of what was parsed, which begins with head.
func offsetOf(source string, line, column int) int {
	pos := 0
	for n := 1; n < line && pos < len(source); pos++ {
		if source[pos] == '\n' || source[pos] == '\r' && (pos+1 >= len(source) || source[pos+1] != '\n') {
			n++
		}
	}
	if line == 1 {
		column = max(0, column-len(head))
	}
	return min(pos+column, len(source))
}

// columnOf turns a column in UTF-16 units of a line of what was parsed into one
// in characters of the source.
func columnOf(line, units int) int {
	if line == 1 {
		units = max(0, units-len(utf16.Encode([]rune(head))))
	}
	return units + 1
}
