package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/tooltest"
	"github.com/tenonrun/tenon/workflow"
)

const peekSchema = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
	"path":{"type":"string"},"limit":{"type":"integer","minimum":1},"deep":{"type":"boolean"},"names":{"type":"array","items":{"type":"string"}},
	"mode":{"type":"string","enum":["a","b"]},"note":{"type":["string","null"]}}}`

func peek() tool.Tool {
	return tool.Tool{
		Name: "peek", Description: "looks", Schema: json.RawMessage(peekSchema), Effect: workflow.EffectRead,
		Target: tool.Target{Slot: "path", Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: tool.OpRead},
		Reading: tool.Reading{Aliases: map[string]string{"file_path": "path", "file": "path", "max": "limit"}, Words: map[string]map[string]string{"mode": {"first": "a"}},
			Idle: []string{"description"}, Wrap: "path"},
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{Text: c.Place.Canonical, Seen: []tool.Seen{{Path: c.Place.Canonical, Digest: "d"}}, Cwd: "/elsewhere"}, nil
		},
	}
}

func set(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRead(t *testing.T) {
	t.Parallel()
	s := set(t, peek())
	for name, c := range map[string]struct{ raw, want string }{
		"as it is":           {`{"path":"a"}`, `{"path":"a"}`},
		"alias":              {`{"file_path":"a"}`, `{"path":"a"}`},
		"two spellings":      {`{"file_path":"a","path":"a"}`, `{"path":"a"}`},
		"two aliases":        {`{"file_path":"a","file":"a"}`, `{"path":"a"}`},
		"null is absent":     {`{"path":"a","limit":null}`, `{"path":"a"}`},
		"null alias":         {`{"path":"a","file":null}`, `{"path":"a"}`},
		"null where allowed": {`{"path":"a","note":null}`, `{"path":"a","note":null}`},
		"integer as text":    {`{"path":"a","limit":" 7 "}`, `{"limit":7,"path":"a"}`},
		"integer as float":   {`{"path":"a","max":7.0}`, `{"limit":7,"path":"a"}`},
		"boolean as text":    {`{"path":"a","deep":"true"}`, `{"deep":true,"path":"a"}`},
		"array as text":      {`{"path":"a","names":"[\"x\"]"}`, `{"names":["x"],"path":"a"}`},
		"number as text":     {`{"path":7}`, `{"path":"7"}`},
		"word":               {`{"path":"a","mode":"first"}`, `{"mode":"a","path":"a"}`},
		"idle":               {`{"path":"a","description":"why"}`, `{"path":"a"}`},
		"bare string":        {`"a.go"`, `{"path":"a.go"}`},
		"object as text":     {`"{\"path\":\"a\"}"`, `{"path":"a"}`},
		"space":              {" \n{\"path\":\"a\"}\n", `{"path":"a"}`},
	} {
		a, err := s.Read("peek", json.RawMessage(c.raw))
		if err != nil || string(a.Raw) != c.want {
			t.Errorf("%s: %v, %v", name, a, err)
			continue
		}
		var values map[string]any
		if json.Unmarshal(a.Raw, &values) != nil || len(values) != len(a.Values) {
			t.Errorf("%s: values %v are not those of %s", name, a.Values, a.Raw)
		}
		again, err := s.Reread("peek", a)
		if err != nil || again != a {
			t.Errorf("%s: reading again gave other arguments: %v, %v", name, again, err)
		}
		if changed := strings.TrimSpace(c.raw) != c.want; changed != (a.From != nil) {
			t.Errorf("%s: From is %v", name, a.From)
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	s := set(t, peek())
	for name, c := range map[string]struct{ raw, want string }{
		"nothing":       {``, "path"},
		"null":          {`null`, "path"},
		"array":         {`[1]`, "are an array and not an object; send one JSON object"},
		"number":        {`3`, "are a number"},
		"boolean":       {`true`, "are a boolean"},
		"not JSON":      {`{"path":`, "are not JSON"},
		"two values":    {`{} {}`, "are not JSON"},
		"twice":         {`{"path":"a","path":"b"}`, "are not JSON"},
		"not UTF-8":     {"{\"path\":\"a\xff\"}", "are not JSON"},
		"half a pair":   {`{"path":"\ud800"}`, "are not JSON"},
		"deep":          {strings.Repeat("[", 100_000), "are not JSON"},
		"huge":          {`{"path":"` + strings.Repeat("x", 10<<20) + `"}`, "have 10485771 bytes, at most 4194304 are taken; do it in several smaller calls"},
		"wrong type":    {`{"path":["a"]}`, "path: "},
		"out of range":  {`{"path":"a","limit":0}`, "limit: "},
		"no such word":  {`{"path":"a","mode":"c"}`, "mode: "},
		"unknown":       {`{"path":"a","limits":3}`, "did you mean limit?"},
		"contradiction": {`{"path":"a","file_path":"b"}`, "path is given twice, with different values; send only path"},
		"usage":         {`{}`, "the arguments are: path, deep?, limit?, mode?, names?, note?"},
		"many problems": {`{"path":1e400}`, "are not JSON"},
	} {
		_, err := s.Read("peek", json.RawMessage(c.raw))
		var bad *tool.BadArguments
		if !errors.As(err, &bad) || bad.Tool != "peek" || !strings.Contains(err.Error(), c.want) || !tool.ByModel(err) {
			t.Errorf("%s: %v", name, err)
		}
		if said := tool.Explain(err); len(said) > 4000 || !strings.HasPrefix(said, "error: ") {
			t.Errorf("%s: %d bytes are told", name, len(said))
		}
		if workflow.CodeOf(err) != workflow.CodeInvalidArguments {
			t.Errorf("%s: code %s", name, workflow.CodeOf(err))
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	f := tooltest.New(t)
	f.Put(t, "sub/a.txt", "a")
	f.Put(t, "secret", "s")
	f.Deny = []string{"secret"}
	f.Ask = []string{"maybe"}
	s := set(t, peek())
	call := tool.Call{ID: "1", Fence: f, Cwd: f.Path("sub"), Session: &tool.Session{}}
	r, err := s.Run(t.Context(), "peek", json.RawMessage(`{"file":"a.txt"}`), call)
	if err != nil || r.Text != f.Path("sub/a.txt") {
		t.Fatal(r, err)
	}
	if d, ok := call.Session.Seen(f.Path("sub/a.txt")); d != "d" || !ok || call.Session.Cwd() != "/elsewhere" {
		t.Error("the session does not know of the call", d, call.Session.Cwd())
	}
	var denied *tool.Denied
	if _, err = s.Run(t.Context(), "peek", json.RawMessage(`{"path":"a.txt"}`), call); !errors.As(err, &denied) {
		t.Error("the working directory of the session did not count:", err)
	}
	call.Session = nil
	if _, err = s.Run(t.Context(), "peek", json.RawMessage(`{"path":"../secret"}`), call); !errors.As(err, &denied) || denied.Rule != "secret" {
		t.Error(err)
	}
	if !strings.Contains(err.Error(), "../secret -> "+f.Path("secret")) {
		t.Error("both ends are not told:", err)
	}
	var asked *tool.Asked
	if _, err = s.Run(t.Context(), "peek", json.RawMessage(`{"path":"maybe"}`), call); !errors.As(err, &asked) || tool.ByModel(err) {
		t.Error(err)
	}
	for _, path := range []string{`a\u0000b`, strings.Repeat("a/", 2048)} {
		var bad *tool.BadArguments
		before := len(f.Judged())
		if _, err = s.Run(t.Context(), "peek", json.RawMessage(`{"path":"`+path+`"}`), call); !errors.As(err, &bad) || len(f.Judged()) != before {
			t.Error(err)
		}
	}
	call.Fence = nil
	if _, err = s.Run(t.Context(), "peek", json.RawMessage(`{"path":"a"}`), call); !errors.As(err, &denied) {
		t.Error("ran without a fence:", err)
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	named := func(name string) tool.Tool { p := peek(); p.Name = name; return p }
	all := set(t, named("read"), named("write"), named("grep"))
	few, err := all.Narrow("grep", "read")
	if err != nil || !slices.Equal(few.Names(), []string{"read", "grep"}) || len(few.Tools()) != 2 {
		t.Fatal(few, err)
	}
	for name, want := range map[string]tool.Unknown{
		"write": {Name: "write", Withheld: true}, "reed": {Name: "reed", Near: "read"}, "Read": {Name: "Read", Near: "read"}, "": {}, "zzz\n": {Name: "zzz\n"},
	} {
		_, err := few.Run(t.Context(), name, nil, tool.Call{})
		var unknown *tool.Unknown
		if !errors.As(err, &unknown) || unknown.Near != want.Near || unknown.Withheld != want.Withheld || unknown.Name != want.Name || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := few.Narrow("write"); err == nil {
		t.Error("a narrow set became wider")
	}
	if _, err := all.Find("write"); err != nil {
		t.Error("narrowing changed the set", err)
	}
}

func TestNewSet(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*tool.Tool){
		"its name":                 func(p *tool.Tool) { p.Name = "Peek" },
		"no description":           func(p *tool.Tool) { p.Description = " " },
		"its effect":               func(p *tool.Tool) { p.Effect = "" },
		"no function":              func(p *tool.Tool) { p.Run = nil },
		"its schema is wrong":      func(p *tool.Tool) { p.Schema = json.RawMessage(`{"type":"objekt"}`) },
		"its schema is open":       func(p *tool.Tool) { p.Schema = json.RawMessage(`{"type":"object","properties":{"path":{}}}`) },
		"the argument \"nowhere\"": func(p *tool.Tool) { p.Target.Slot = "nowhere" },
		"the alias \"limit\"":      func(p *tool.Tool) { p.Reading.Aliases = map[string]string{"limit": "path"} },
		"needs an operation":       func(p *tool.Tool) { p.Target.Op = tool.OpNone },
	} {
		p := peek()
		change(&p)
		if _, err := tool.NewSet(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := tool.NewSet(peek(), peek()); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
}

// FuzzRead reads any arguments: it never panics, what comes out fits the schema,
// and reading it again changes nothing.
func FuzzRead(f *testing.F) {
	for _, raw := range []string{``, `{}`, `{"path":"a","limit":"3"}`, `"x"`, `{"file":"a","path":null}`, `{"path":"a","names":"[]","deep":"false"}`, `{"path":1.50}`, `{"limit":1e2,"path":""}`} {
		f.Add([]byte(raw))
	}
	s, err := tool.NewSet(peek())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := s.Read("peek", raw)
		if err != nil {
			if !tool.ByModel(err) {
				t.Fatalf("not for the model: %v", err)
			}
			return
		}
		again, err := s.Reread("peek", a)
		if err != nil || again != a {
			t.Fatalf("%s is read as %s, and then as %v, %v", raw, a.Raw, again, err)
		}
		second, err := s.Read("peek", a.Raw)
		if err != nil || string(second.Raw) != string(a.Raw) {
			t.Fatalf("%s from text gives %v, %v", a.Raw, second, err)
		}
	})
}
