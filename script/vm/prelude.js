(function (hostCall, hostQuery, hostLoad, hostFold, hostDone) {
  "use strict";
  const { apply, construct, getPrototypeOf, defineProperty: define } = Reflect;
  const { parse, stringify } = JSON;
  const { create, freeze, getOwnPropertyDescriptor } = Object;
  const { isArray } = Array;
  const NativePromise = Promise, NativeDate = Date, NativeError = Error;
  const rawThen = Promise.prototype.then;
  const generator = getPrototypeOf(function* () {}).prototype;
  const { next: genNext, throw: genThrow, return: genReturn } = generator;
  const settled = NativePromise.resolve();
  const text = String;

  // Scopes. A scope's name is its kind and the ordinal of its creation in the
  // scope above; code in one scope is sequential, so names never depend on the
  // order in which things complete. Outside is where the engine itself calls a
  // foreign thenable; names there are only the same in a replay.
  const root = { up: null, name: "", path: "", inner: false, counts: create(null) };
  const outside = { up: null, name: "~", path: "~", inner: false, counts: create(null) };
  let current = outside, bare = false;

  const count = (scope, kind) => (scope.counts[kind] = (scope.counts[kind] | 0) + 1);
  const made = (up, name) => ({ up, name, path: undefined, inner: up.inner, counts: create(null) });
  const child = (kind) => made(current, kind + "#" + count(current, kind));
  const sub = (group, index, part) => made(group.up, group.name + "[" + index + "]" + (part === undefined ? "" : "/" + part));

  function pathOf(scope) {
    if (scope.path !== undefined) return scope.path;
    let chain = null, s = scope;
    for (; s.path === undefined; s = s.up) chain = { scope: s, rest: chain };
    let path = s.path;
    for (; chain !== null; chain = chain.rest) {
      path = path === "" ? chain.scope.name : path + "/" + chain.scope.name;
      if (path.length > 160) path = hostFold(path);
      chain.scope.path = path;
      chain.scope.up = null;
    }
    return path;
  }

  function inside(scope, f, self, list) {
    const old = current;
    current = scope;
    try {
      return apply(f, self, list);
    } finally {
      current = old;
    }
  }

  const bind = (scope, f) => typeof f !== "function" ? f : (value) => inside(scope, f, undefined, [value]);
  const { then } = {
    then(onFulfilled, onRejected) {
      const scope = child("t");
      return apply(rawThen, this, [bind(scope, onFulfilled), bind(scope, onRejected)]);
    },
  };
  const thenRaw = (promise, yes, no) => apply(rawThen, promise, [yes, no]);

  const isNative = (value) => value instanceof NativePromise && value.then === then && value.constructor === NativePromise;

  // wait calls yes or no when value is settled. Foreign thenables are called in
  // the scope that waits.
  function wait(scope, value, yes, no) {
    if (value === null || typeof value !== "object" && typeof value !== "function") {
      thenRaw(settled, () => yes(value));
      return;
    }
    let method;
    try {
      if (isNative(value)) {
        thenRaw(value, yes, no);
        return;
      }
      method = inside(scope, () => value.then, undefined, []);
    } catch (e) {
      thenRaw(settled, () => no(e));
      return;
    }
    if (typeof method !== "function") {
      thenRaw(settled, () => yes(value));
      return;
    }
    thenRaw(new NativePromise((resolve, reject) => {
      thenRaw(settled, () => {
        try {
          inside(scope, method, value, [resolve, reject]);
        } catch (e) {
          reject(e);
        }
      });
    }), yes, no);
  }

  function lowered(self, list, body) {
    const scope = bare ? current : child("f");
    bare = false;
    return new NativePromise((resolve, reject) => {
      const it = apply(body, self, list || []);
      const step = (method, value) => {
        const old = current;
        current = scope;
        let r;
        try {
          r = apply(method, it, [value]);
        } catch (e) {
          current = old;
          reject(e);
          return;
        }
        current = old;
        if (r.done) wait(scope, r.value, resolve, reject);
        else wait(scope, r.value, forward, backward);
      };
      const forward = (value) => step(genNext, value);
      const backward = (error) => step(genThrow, error);
      step(genNext, undefined);
    });
  }

  function Await(value, star) {
    this[0] = value;
    this[1] = star;
  }

  function loweredGenerator(self, list, body) {
    const scope = child("g");
    const it = apply(body, self, list || []);
    const resume = (method, value, yes, no) => {
      const old = current;
      current = scope;
      let r, awaited = false, star, what;
      try {
        r = apply(method, it, [value]);
        what = r.value;
        if (awaited = what instanceof Await) [what, star] = [what[0], what[1]];
      } catch (e) {
        no(e);
        return;
      } finally {
        current = old;
      }
      wait(scope, what, (y) => {
        if (!awaited) yes({ value: y, done: r.done });
        else resume(method === genReturn ? genReturn : genNext, star ? { done: y.done, value: y.value } : y, yes, no);
      }, (e) => resume(genThrow, e, yes, no));
    };
    let tail = null;
    const method = (which) => (value) => {
      const call = new NativePromise((yes, no) => {
        const run = () => resume(which, value, yes, no);
        if (tail) thenRaw(tail, run);
        else run();
      });
      const mine = thenRaw(call, () => clear(), () => clear());
      const clear = () => { if (tail === mine) tail = null; };
      tail = mine;
      return call;
    };
    const out = { next: method(genNext), throw: method(genThrow), return: method(genReturn) };
    out[Symbol.asyncIterator] = () => out;
    return out;
  }

  // Calls of the host.
  const pending = create(null);

  function fault(e) {
    const out = { name: "Error", message: "", stack: "" };
    try {
      if (e !== null && typeof e === "object" && "message" in e) {
        out.name = text(e.name || "Error");
        out.message = text(e.message);
        out.stack = text(e.stack || "");
        if (typeof e.code === "string") out.code = e.code;
      } else {
        out.name = "";
        out.message = typeof e === "string" ? e : stringify(e) ?? text(e);
      }
    } catch {
      out.message = "a value that cannot be shown";
    }
    return stringify(out);
  }

  function raise(spec) {
    const e = new NativeError(spec.message);
    if (spec.name) define(e, "name", { value: spec.name, writable: true, configurable: true });
    if (spec.code) define(e, "code", { value: spec.code, writable: true, configurable: true, enumerable: true });
    return e;
  }

  function settle(id, ok, value) {
    const entry = pending[id];
    delete pending[id];
    if (!entry) return;
    if (ok) entry.yes(value === "" ? undefined : parse(value));
    else entry.no(raise(parse(value)));
  }

  function query(name, value) {
    const raw = hostQuery(name, value === undefined ? "" : stringify(value) ?? "");
    const answer = raw === "" ? {} : parse(raw);
    if (answer.error) throw raise(answer.error);
    return answer.value;
  }

  // announce makes a call known and gives its id; the host may refuse it.
  function announce(kind, payload) {
    const id = hostCall(kind, pathOf(current), count(current, kind), stringify(payload) ?? "null", new NativeError().stack);
    if (id[0] === "{") throw raise(parse(id));
    return id;
  }

  const host = freeze({
    query,
    // call gives a promise that the host settles, or one that has failed when it
    // is refused.
    call(kind, payload) {
      try {
        const id = announce(kind, payload);
        return new NativePromise((yes, no) => { pending[id] = { yes, no }; });
      } catch (e) {
        return NativePromise.reject(e);
      }
    },
    // tell is a call without an answer.
    tell: (kind, payload) => { announce(kind, payload); },
    // inner tells whether the code runs in a script that another one loaded.
    inner: () => current.inner,
    // group is a scope with parts that run in it, each under its own index.
    group: (kind) => child(kind),
    within(group, index, f, list) {
      const scope = sub(group, index);
      let value;
      try {
        value = inside(scope, f, undefined, list);
        if (isNative(value)) return value;
      } catch (e) {
        return NativePromise.reject(e);
      }
      return new NativePromise((yes, no) => wait(scope, value, yes, no));
    },
    // lead takes an item through stages, each in a part of its own.
    lead(group, index, item, stages, part) {
      return new NativePromise((yes, no) => {
        let first;
        const step = (value, k) => {
          if (k === stages.length) {
            yes(value);
            return;
          }
          const scope = sub(group, index, part + "#" + (k + 1));
          try {
            value = inside(scope, stages[k], undefined, [value, first, index]);
          } catch (e) {
            no(e);
            return;
          }
          wait(scope, value, (next) => step(next, k + 1), no);
        };
        wait(sub(group, index), item, (value) => step(first = value, 0), no);
      });
    },
    // gather waits for all; what fails is told to failed and becomes null.
    gather(promises, failed) {
      return new NativePromise((yes) => {
        const out = [];
        let left = promises.length;
        if (left === 0) yes(out);
        for (let i = 0; i < promises.length; i++) {
          out[i] = null;
          const done = (value) => {
            out[i] = value;
            if (--left === 0) yes(out);
          };
          thenRaw(promises[i], done, (e) => {
            failed(e, i);
            done(null);
          });
        }
      });
    },
    // load gives the main function of another script, to be run in its own scope.
    load(name, kind) {
      const main = hostLoad(name);
      const scope = child(kind);
      scope.inner = true;
      return (value) => inside(scope, () => {
        bare = true;
        return main(lowered, loweredGenerator, Await, value);
      }, undefined, []);
    },
    isPromise: (v) => v !== null && typeof v === "object" && typeof v.then === "function",
    fail: (e) => NativePromise.reject(e),
  });

  function start(main, value) {
    const list = [lowered, loweredGenerator, Await, value === "" ? undefined : parse(value)];
    // It begins in the drain, where its bounds are seen.
    const p = thenRaw(settled, () => {
      bare = true;
      return inside(root, main, undefined, list);
    });
    thenRaw(p, (v) => {
      let raw;
      try {
        raw = stringify(v);
      } catch (e) {
        hostDone(false, fault(raise({ name: "TypeError", message: "the script returns what is not JSON: " + text(e.message) })));
        return;
      }
      hostDone(true, raw === undefined ? "" : raw);
    }, (e) => hostDone(false, fault(e)));
  }

  // The world that a script sees.
  const fixed = (target, name, value) => define(target, name, { value, writable: false, enumerable: false, configurable: false });
  const noCode = () => {
    throw new TypeError("code cannot be made from text in a workflow script; write it as a function");
  };
  for (const f of [function () {}, function* () {}, async function () {}, async function* () {}]) {
    fixed(getPrototypeOf(f), "constructor", noCode);
  }
  const functions = Function.prototype;
  const NoFunction = function () { noCode(); };
  fixed(NoFunction, "prototype", functions);
  fixed(globalThis, "Function", NoFunction);
  fixed(globalThis, "eval", noCode);
  for (const name of ["WeakRef", "FinalizationRegistry", "Atomics", "SharedArrayBuffer", "performance", "gc"]) delete globalThis[name];

  const noClock = (what) => {
    throw new TypeError(what + " is not available in a workflow script: a script must do the same each time it is replayed; pass the time in args");
  };
  const dated = NativeDate.prototype;
  const zoned = /(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\s*(?:\(.*\))?$|^[+-]?\d{4,6}(?:-\d\d(?:-\d\d)?)?$/i;
  const parts = ["FullYear", "Month", "Date", "Hours", "Minutes", "Seconds", "Milliseconds"];
  const local = [];
  for (let i = 0; i < parts.length; i++) local[i] = dated["get" + parts[i]];
  const test = RegExp.prototype.test, exec = RegExp.prototype.exec;
  const nativeParse = NativeDate.parse, UTC = NativeDate.UTC, utcText = dated.toUTCString, time = dated.getTime;
  // read is Date.parse with UTC for texts that name no zone.
  function read(s) {
    const at = nativeParse(s);
    if (at !== at || apply(exec, zoned, [s]) !== null) return at;
    const d = construct(NativeDate, [at]);
    const list = [];
    for (let i = 0; i < parts.length; i++) list[i] = apply(local[i], d, []);
    return apply(UTC, undefined, list);
  }
  const Dated = function Date(...list) {
    if (new.target === undefined) noClock("Date()");
    if (list.length === 0) noClock("new Date()");
    if (list.length > 1) return construct(NativeDate, [apply(UTC, undefined, list)], new.target);
    let value = list[0];
    if (value !== null && typeof value === "object" && !(value instanceof NativeDate)) {
      value = typeof value[Symbol.toPrimitive] === "function" ? value[Symbol.toPrimitive]("default") : `${value}`;
    }
    return construct(NativeDate, [typeof value === "string" ? read(value) : value], new.target);
  };
  fixed(Dated, "prototype", dated);
  fixed(Dated, "now", () => noClock("Date.now()"));
  fixed(Dated, "parse", (s) => read(text(s)));
  fixed(Dated, "UTC", UTC);
  fixed(dated, "constructor", Dated);
  for (const part of [...parts, "Day"]) {
    fixed(dated, "get" + part, dated["getUTC" + part]);
    if (dated["setUTC" + part]) fixed(dated, "set" + part, dated["setUTC" + part]);
  }
  fixed(dated, "getTimezoneOffset", function () { return apply(time, this, []) * 0; });
  const shown = function () { return apply(utcText, this, []); };
  for (const name of ["toString", "toLocaleString", "toDateString", "toLocaleDateString", "toTimeString", "toLocaleTimeString"]) {
    const cut = /Date/.test(name) ? [0, 16] : /Time/.test(name) ? [17] : null;
    const { slice } = String.prototype;
    fixed(dated, name, cut === null ? shown : function () {
      const s = apply(shown, this, []);
      return s === "Invalid Date" ? s : apply(slice, s, cut);
    });
  }
  fixed(globalThis, "Date", Dated);
  fixed(Math, "random", () => {
    throw new TypeError("Math.random() is not available in a workflow script: a script must do the same each time it is replayed; vary prompts by an index, or pass a seed in args");
  });
  fixed(NativePromise.prototype, "then", then);
  fixed(NativePromise.prototype, "constructor", NativePromise);
  for (const name of ["Promise", "JSON", "Math", "Reflect"]) fixed(globalThis, name, globalThis[name]);

  function install(make) {
    const globals = make(host);
    for (const name of Object.keys(globals)) {
      const { value, get } = getOwnPropertyDescriptor(globals, name);
      if (value !== null && typeof value === "object" && !isArray(value)) freeze(value);
      define(globalThis, name, get ? { get, enumerable: true, configurable: false } : { value, writable: false, enumerable: true, configurable: false });
    }
  }
  return [install, start, settle];
})
