package vm_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/script/vm"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text, want string
		line, col        int
	}{
		{"empty", "", "the first statement must be", 1, 1},
		{"no meta", "return 1", "the first statement must be", 1, 1},
		{"default export", "export default 1", "the first statement must be", 1, 1},
		{"typed meta", "export const meta: Meta = {}", "meta must be written as", 1, 18},
		{"no object", "export const meta = 1", "meta must be an object literal", 1, 21},
		{"variable", "export const meta = {\n  name: x }", "meta uses x", 2, 9},
		{"shorthand", "export const meta = {name}", "meta uses the variable name", 1, 22},
		{"call", "export const meta = {name: f()}", "meta uses f", 1, 28},
		{"spread", "export const meta = {...a}", "a spread", 1, 22},
		{"spread in list", "export const meta = {a: [...b]}", "a spread", 1, 26},
		{"computed", "export const meta = {['a']: 1}", "a computed name", 1, 22},
		{"getter", "export const meta = {get name() { return 'x' }}", "a getter", 1, 22},
		{"method", "export const meta = {name() {}}", "a method", 1, 22},
		{"proto", "export const meta = {__proto__: null}", "__proto__", 1, 22},
		{"quoted proto", "export const meta = {'__proto__': null}", "__proto__", 1, 22},
		{"twice", "export const meta = {a: 1, 'a': 2}", "twice", 1, 28},
		{"template", "export const meta = {name: `a${1}`}", "a template with parts", 1, 30},
		{"sum", "export const meta = {name: 'a' + 'b'}", "an expression", 1, 32},
		{"minus", "export const meta = {name: -x}", "is not a number", 1, 28},
		{"hole", "export const meta = {a: [1,,2]}", "a hole", 1, 28},
		{"function", "export const meta = {a: () => 1}", "an expression", 1, 25},
		{"undefined", "export const meta = {a: undefined}", "meta uses undefined", 1, 25},
		{"regex", "export const meta = {a: /x/}", "a regular expression", 1, 25},
		{"assigned", "export const meta = {a: 1}.b", "a pure literal", 1, 27},
		{"unclosed", "export const meta = {a: 1", "ends inside meta", 1, 26},
		{"unclosed string", "export const meta = {a: 'x\n'}", "not closed on its line", 1, 25},
		{"unclosed comment", "/* x", "not closed", 1, 1},
		{"deep", "export const meta = {a: " + strings.Repeat("[", 100), "too deep", 1, 89},
		{"import", meta + "import fs from 'fs'", "cannot load modules", 2, 8},
		{"import after code", meta + "const a = 1;\n  import {x} from 'y'", "cannot load modules", 3, 10},
		{"dynamic import", meta + "const a = await import('x')", "cannot load modules", 2, 24},
		{"dynamic import of a value", meta + "const b = 'x'; await import(b)", "cannot load modules", 2, 22},
		{"require", meta + "const a = require('fs')", "cannot load modules", 2, 19},
		{"require of a value", meta + "const a = require(meta)", "cannot load modules", 2, 11},
		{"second export", meta + "export const x = 1", "only meta can be exported", 2, 1},
		{"eval", meta + "eval('1')", "eval is not available", 2, 1},
		{"type annotation", meta + "const x: number = 1", "TypeScript is not understood", 2, 8},
		{"interface", meta + "interface A { b: string }", "TypeScript is not understood", 2, 11},
		{"as", meta + "const x = y as string", "TypeScript is not understood", 2, 13},
		{"enum", meta + "enum A { B }", "TypeScript is not understood", 2, 1},
		{"optional parameter", meta + "function f(a?: string) {}", "TypeScript is not understood", 2, 13},
		{"JSX", meta + "return <div/>", "JSX is not understood", 2, 8},
		{"with", meta + "with (a) {}", "strict mode", 2, 1},
		{"broken", meta + "const a = {\n", "", 3, 1},
		{"CRLF", "export const meta = {\r\n  name: 'a',\r\n};\r\n\r\nconst x: number = 1\r\n", "TypeScript", 5, 8},
		{"first line", "export const meta = {name: 'ü'}; const x = ;", "Unexpected", 1, 44},
		{"reserved", meta + "const __async = 1", "a reserved name", 2, 7},
		{"large", meta + strings.Repeat("// x\n", 60000), "at most 262144 (256 KiB) are taken", 1, 1},
		{"huge", strings.Repeat("x", 10<<20), "x.js:1:1: the script has 10485760 bytes; at most 262144 (256 KiB) are taken; pass large data in args", 1, 1},
		{"not UTF-8", meta + "'\xff'", "not valid UTF-8", 2, 2},
		{"NUL", meta + "'\x00'", "NUL", 2, 2},
		{"nested deep", meta + strings.Repeat("[", 100000), "nested too deep", 2, 501},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := vm.Parse("x.js", []byte(c.text))
			var e *vm.SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, %v", s, err)
			}
			if !strings.Contains(e.Error(), c.want) || e.Line != c.line || e.Column != c.col {
				t.Errorf("got %v, want %q at %d:%d", e, c.want, c.line, c.col)
			}
		})
	}
}

func TestParseTakes(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, text, meta string }{
		{"plain", `export const meta = {name: "a", description: 'b'}`, `{"name":"a","description":"b"}`},
		{"mark and shebang", "\ufeff#!/usr/bin/env node\nexport const meta = {a: 1}", `{"a":1}`},
		{"comments", "// x\n/* y */ export /*a*/ const\n meta = {a: 1, // b\n /* c */ b: [1, 2,],};return 1", `{"a":1,"b":[1,2]}`},
		{"values", "export const meta = {a: true, b: null, c: -1.5e3, d: 0x1f, e: 1_000, 'f g': `x`, 7: [[]], h: {}}\nreturn", `{"a":true,"b":null,"c":-1500,"d":31,"e":1000,"f g":"x","7":[[]],"h":{}}`},
		{"escapes", `export const meta = {a: "\x41\u{1F600}\n\
b\'", b: '\u00e9'}`, `{"a":"A😀\nb'","b":"é"}`},
		{"CRLF", "export const meta = {\r\n  name: `a\r\nb`,\r\n}\r\nreturn 1\r\n", `{"name":"a\nb"}`},
		{"no semicolon", "export const meta = {a: 1}\nconst x = 1", `{"a":1}`},
		{"order", "export const meta = {z: 1, a: 2}", `{"z":1,"a":2}`},
		{"syntax of 2023", "export const meta = {}\nlet {a = 1, ...rest} = args ?? {}; label: for (const x of [1]) { for (;;) continue label }\nclass A { static #x = 1; static { A.y = A.#x } get z() { return A.y } }\na ||= 2; return [`${a?.b}`, /(?<n>x)/v, 1n, ...[1].toSorted()]", `{}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := vm.Parse("x.js", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if string(s.Meta) != c.meta {
				t.Errorf("meta %s, want %s", s.Meta, c.meta)
			}
		})
	}
}

// TestParseSurvives runs hostile texts in a process of their own: a parser that
// runs out of stack cannot be caught.
func TestParseSurvives(t *testing.T) {
	if os.Getenv("TENON_PARSE_HOSTILE") != "" {
		for _, unit := range hostile {
			for _, around := range [][2]string{{"", "x"}, {"x ", ""}} {
				_, err := vm.Parse("x.js", []byte(meta+around[0]+strings.Repeat(unit, (vm.MaxSource-200)/len(unit))+around[1]))
				var e *vm.SyntaxError
				if err != nil && !errors.As(err, &e) {
					t.Errorf("%q: %v", unit, err)
				}
			}
		}
		return
	}
	if raced {
		t.Skip("frames are larger under the race detector")
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestParseSurvives$")
	cmd.Env = append(os.Environ(), "TENON_PARSE_HOSTILE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
	}
}

var hostile = []string{
	"[", "(", "{", "!", "-+", "a=>", "a?", "a?b:", "typeof ", "void ", "new ", "await ", "x=", "x**", "if(a)", "a:", "for(;;)",
	"while(a)", "else ", "if(a);else ", "`${", "/*", "x.", "x?.", "x()", "``", "x``", "x[0]", ".x", "x,", "x|", "x||", "x&&", "x??", "do ", "async a=>", "yield ", "delete ", "...",
	"class a extends ", "function f(){", "x in ", "x instanceof ", "a[", "[0]", "()", "<", "x+", "x*", "try{", "@", "\\u", "(a,",
}

func FuzzMeta(f *testing.F) {
	for _, s := range []string{"{a: 1}", "{'a': [`x`, -1]}", "{a: {b: 0x1}}", "{get a() {}}", "{\"\\u{41}\": 1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		raw, err := vm.Meta("x.js", []byte("export const meta = "+literal))
		var e *vm.SyntaxError
		if err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Column < 1) {
			t.Fatalf("error %v", err)
		}
		if err == nil && (len(raw) == 0 || raw[0] != '{') {
			t.Fatalf("meta %q", raw)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"return 1", "import x from 'y'", "const x: number = 1", "for await (const x of y) { z`${x}` }", "class A { #x; async *m() { yield* this.#x } }"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		_, err := vm.Parse("x.js", []byte(meta+body))
		var e *vm.SyntaxError
		if err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Msg == "") {
			t.Fatalf("error %v", err)
		}
	})
}
