package vm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenonrun/tenon/script/vm"
)

// globals are those of the tests: call is a call of the host, map a group.
const globals = `(host) => ({
  call: (x) => host.call("call", x),
  tell: (x) => host.tell("tell", x),
  query: (x) => host.query("echo", x),
  nested: (name, x) => host.load(name, "nested")(x),
  map: (list) => { const g = host.group("map"); return host.gather(list.map((f, i) => host.within(g, i, f, [i])), () => {}); },
})`

const meta = "export const meta = {name: 'test', description: 'a test'};\n"

// play is a script on a machine.
type play struct {
	t *testing.T
	m *vm.Machine
	// open calls, in the order they were made
	open []vm.Call
	made []string
}

func run(t *testing.T, body string, tune ...func(*vm.Config)) *play {
	t.Helper()
	s, err := vm.Parse("test.js", []byte(meta+body))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	cfg := vm.Config{Globals: globals, Query: func(_ string, p json.RawMessage) (json.RawMessage, error) { return p, nil }}
	for _, f := range tune {
		f(&cfg)
	}
	m, err := vm.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	p := &play{t: t, m: m}
	if err := m.Run(s, json.RawMessage(`{"n":3}`)); err != nil {
		t.Fatalf("Run: %v", err)
	}
	p.take()
	return p
}

func (p *play) take() {
	for _, c := range p.m.Take() {
		p.made = append(p.made, c.Name())
		if c.Kind == "call" {
			p.open = append(p.open, c)
		}
	}
}

// settle ends the open call at i with its own payload.
func (p *play) settle(i int) {
	p.t.Helper()
	c := p.open[i]
	p.open = slices.Delete(p.open, i, i+1)
	if err := p.m.Settle(c.ID, vm.Outcome{Value: c.Payload}); err != nil {
		p.t.Fatalf("Settle: %v", err)
	}
	p.take()
}

// finish settles the newest or the oldest open call until there is none.
func (p *play) finish(newest bool) *vm.Outcome {
	p.t.Helper()
	for len(p.open) > 0 {
		i := 0
		if newest {
			i = len(p.open) - 1
		}
		p.settle(i)
	}
	d := p.m.Done()
	if d == nil {
		p.t.Fatal("the script waits for nothing")
	}
	return d
}

func TestNames(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body, want string
		made             []string
	}{
		{"sequence", `const a = await call(1); const b = await call(2); return [a, b, args.n]`, `[1,2,3]`, []string{"call#1", "call#2"}},
		{"helper", `const f = async x => { await call(x); return call(x + 1) }; return [await f(1), await f(5)]`, `[2,6]`,
			[]string{"f#1/call#1", "f#1/call#2", "f#2/call#1", "f#2/call#2"}},
		{"all", `const f = async x => { await call(x); return call(x + 1) }; return Promise.all([f(1), f(5), call(9)])`, `[2,6,9]`,
			[]string{"f#1/call#1", "f#2/call#1", "call#1", "f#1/call#2", "f#2/call#2"}},
		{"then", `return call(1).then(x => call(x + 1)).then(x => call(x + 1))`, `3`, []string{"call#1", "t#1/call#1", "t#2/call#1"}},
		{"group", `return map([async () => { await call(1); return call(2) }, () => call(3), () => { throw 1 }])`, `[2,3,null]`,
			[]string{"map#1[0]/f#1/call#1", "map#1[1]/call#1", "map#1[0]/f#1/call#2"}},
		{"generator", `async function* g() { for (let i = 0; i < 2; i++) yield await call(i); } const out = []; for await (const v of g()) out.push(v, await call("b")); return out`,
			`[0,"b",1,"b"]`, []string{"g#1/call#1", "call#1", "g#1/call#2", "call#2"}},
		{"star", `async function* a() { yield call(1); yield call(2); } async function* b() { yield* a(); yield 3 } const out = []; for await (const v of b()) out.push(v); return out`,
			`[1,2,3]`, []string{"g#1/g#1/call#1", "g#1/g#1/call#2"}},
		{"method", `class A { #x = 1; async m(y) { return this.#x + await call(y) } static async s() { return call(7) } } const a = new A; return [await a.m(1), await A.s()]`, `[2,7]`,
			[]string{"f#1/call#1", "f#2/call#1"}},
		{"finally", `try { await call(1); throw new Error("x") } catch (e) { await call(2) } finally { await call(3) } return "ok"`, `"ok"`, []string{"call#1", "call#2", "call#3"}},
		{"thenable", `return await { then(ok) { call(4).then(ok) } }`, `4`, []string{"call#1"}},
		{"arguments", `async function f() { return arguments.length + await call(1) } return f(1, 2)`, `3`, []string{"f#1/call#1"}},
		{"tell", `tell("a"); await call(1); tell("b"); return query({a: 1})`, `{"a":1}`, []string{"tell#1", "call#1", "tell#2"}},
		{"undefined", `await call(1)`, ``, []string{"call#1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var sets [][]string
			for _, newest := range []bool{false, true} {
				p := run(t, c.body)
				d := p.finish(newest)
				if d.Err != nil {
					t.Fatalf("the script threw %v", d.Err)
				}
				if string(d.Value) != c.want {
					t.Errorf("result %s, want %s", d.Value, c.want)
				}
				slices.Sort(p.made)
				sets = append(sets, p.made)
			}
			want := slices.Sorted(slices.Values(c.made))
			for _, got := range sets {
				if !slices.Equal(got, want) {
					t.Errorf("calls %v, want %v", got, want)
				}
			}
		})
	}
}

func TestNested(t *testing.T) {
	t.Parallel()
	p := run(t, `const a = await call(1); const b = await nested("other", {x: 5}); return [a, b, await call(2), args.n]`, func(c *vm.Config) {
		c.Load = func(name string) (*vm.Script, error) {
			if name != "other" {
				return nil, errors.New("no such script")
			}
			return vm.Parse("other.js", []byte(meta+"return [await call(args.x), typeof a]"))
		}
	})
	d := p.finish(false)
	if d.Err != nil || string(d.Value) != `[1,[5,"undefined"],2,3]` {
		t.Fatalf("got %s, %v", d.Value, d.Err)
	}
	if want := []string{"call#1", "nested#1/call#1", "call#2"}; !slices.Equal(p.made, want) {
		t.Errorf("calls %v, want %v", p.made, want)
	}
	p = run(t, `try { await nested("x") } catch (e) { return e.message }`, func(c *vm.Config) {
		c.Load = func(string) (*vm.Script, error) { return nil, errors.New("no such script") }
	})
	if d := p.finish(false); string(d.Value) != `"no such script"` {
		t.Errorf("got %s, %v", d.Value, d.Err)
	}
}

func TestDeepScopesAreFolded(t *testing.T) {
	t.Parallel()
	p := run(t, `const f = async n => n === 0 ? call("end") : f(n - 1); return f(200)`)
	d := p.finish(false)
	if string(d.Value) != `"end"` {
		t.Fatalf("got %s, %v", d.Value, d.Err)
	}
	if got := p.made[0]; len(got) > 180 || !strings.HasPrefix(got, "~") {
		t.Errorf("name %q", got)
	}
}

func TestThrownHasItsPlace(t *testing.T) {
	t.Parallel()
	p := run(t, "const x = 1;\nasync function deep(v) {\n  await call(v);\n  return v.missing.more;\n}\n\nreturn await deep(3);")
	d := p.finish(false)
	if d.Err == nil || d.Err.Name != "TypeError" || len(d.Err.Frames) == 0 {
		t.Fatalf("got %+v", d)
	}
	if f := d.Err.Frames[0]; f.Line != 5 || f.File != "test.js" {
		t.Errorf("place %v, want line 5", f)
	}
	p = run(t, "\n\n  await call(1);")
	if w := p.m.Where(p.open[0]); len(w) == 0 || w[0].Line != 4 {
		t.Errorf("call made at %v, want line 4", w)
	}
}

func TestSandbox(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body, want string }{
		{"Date.now", `Date.now()`, "Date.now() is not available"},
		{"new Date", `new Date()`, "new Date() is not available"},
		{"Date()", `Date()`, "Date() is not available"},
		{"clock by constructor", `new (new Date(0).constructor)()`, "not available"},
		{"clock by prototype", `Object.getPrototypeOf(new Date(0)).constructor.now()`, "not available"},
		{"clock by subclass", `class D extends Date {} ; new D()`, "not available"},
		{"clock by construct", `Reflect.construct(Date, [])`, "not available"},
		{"random", `Math.random()`, "Math.random() is not available"},
		{"eval", `(0, eval)("1")`, "code cannot be made from text"},
		{"Function", `new Function("return 1")()`, "code cannot be made from text"},
		{"constructor", `(() => {}).constructor("return 1")()`, "code cannot be made from text"},
		{"async constructor", `(async () => {}).constructor("return 1")()`, "code cannot be made from text"},
		{"generator constructor", `(function* () {}).constructor("return 1")()`, "code cannot be made from text"},
		{"host constructor", `call.constructor("return globalThis")()`, "code cannot be made from text"},
		{"timer", `setTimeout(() => {}, 1)`, "there are no timers"},
		{"fetch", `await fetch("http://x")`, "no network"},
		{"process", `process.exit(1)`, "no process"},
		{"deep recursion", `const f = n => f(n + 1) + 1; f(0)`, "stack overflow"},
		{"deep async recursion", `const f = async n => { await f(n + 1) }; await f(0)`, "stack overflow"},
		{"huge string", `"x".repeat(2 ** 29)`, "out of memory"},
		{"huge list", `new Array(2 ** 28).fill(7)`, "out of memory"},
		{"globals are fixed", `call = 1`, "read-only"},
		{"then is fixed", `Promise.prototype.then = null`, "read-only"},
		{"not JSON", `const a = {}; a.a = a; return a`, "not JSON"},
		{"big integer", `return 1n`, "not JSON"},
		{"thrown text", `throw "just text"`, "just text"},
		{"thrown object", `throw {a: 1}`, `{"a":1}`},
		{"thrown trap", `throw new Proxy({}, { get() { throw 1 }, has() { return true } })`, "cannot be shown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if raced && strings.Contains(c.want, "memory") {
				t.Skip("filling memory takes minutes under the race detector")
			}
			t.Parallel()
			p := run(t, c.body, func(c *vm.Config) { c.Memory = 64 << 20 })
			d := p.m.Done()
			if d == nil || d.Err == nil {
				t.Fatalf("the script went on: %+v", d)
			}
			if !strings.Contains(d.Err.Error(), c.want) {
				t.Errorf("error %q, want %q", d.Err, c.want)
			}
		})
	}
}

func TestWorld(t *testing.T) {
	t.Parallel()
	cases := []struct{ body, want string }{
		{`return [typeof WeakRef, typeof Atomics, typeof SharedArrayBuffer, typeof module, typeof process, typeof hostCall, typeof std, typeof os]`,
			`["undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`},
		{`return [new Date(0).toISOString(), new Date("2024-05-06T07:08:09").getHours(), new Date(2024, 0, 2, 3).toISOString(), new Date("2024-01-01T00:00:00+02:00").getTime(), new Date(0).getTimezoneOffset()]`,
			`["1970-01-01T00:00:00.000Z",7,"2024-01-02T03:00:00.000Z",1704060000000,0]`},
		{`return [String(new Date(0)), new Date(0).toDateString(), new Date(NaN).toString(), new Date(new Date(5)).getTime(), Date.parse("2024-01-01"), new Date("Jan 2 2024").toISOString()]`,
			`["Thu, 01 Jan 1970 00:00:00 GMT","Thu, 01 Jan 1970","Invalid Date",5,1704067200000,"2024-01-02T00:00:00.000Z"]`},
		{`class D extends Date { x() { return this.getTime() } } return [new D(7).x(), new Date(1) instanceof Date, (() => {}) instanceof Function]`, `[7,true,true]`},
		{`const e = new Error("a"); e.name = "Mine"; return [String(e), e instanceof Error]`, `["Mine: a",true]`},
		{`return [Object.groupBy([1, 2, 3], x => x % 2 ? "odd" : "even"), [3, 1].toSorted(), "a".localeCompare("b")]`, `[{"odd":[1,3],"even":[2]},[1,3],-1]`},
		{`return meta`, `{"name":"test","description":"a test"}`},
		{`"use strict"; return (function () { return this })() === undefined`, `true`},
		{"return `a${1}` + String.raw`\\n`", `"a1\\n"`},
	}
	for i, c := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			d := run(t, c.body).m.Done()
			if d == nil || d.Err != nil || string(d.Value) != c.want {
				t.Fatalf("got %+v, want %s", d, c.want)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body, kind string }{
		{"endless loop", `for (;;);`, vm.BoundTime},
		{"endless loop in try", `for (;;) try { for (;;); } finally { continue }`, vm.BoundTime},
		{"endless await", `while (true) await null`, ""},
		{"regex", `/^(a+)+$/.test("a".repeat(40) + "b")`, vm.BoundTime},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := vm.Parse("test.js", []byte(meta+c.body))
			if err != nil {
				t.Fatal(err)
			}
			m, err := vm.New(vm.Config{Time: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			err = m.Run(s, nil)
			var b *vm.Bound
			if !errors.As(err, &b) || c.kind != "" && b.Kind != c.kind {
				t.Fatalf("got %v", err)
			}
			if again := m.Run(s, nil); !errors.Is(again, err) {
				t.Errorf("a dead machine ran: %v", again)
			}
		})
	}
}
