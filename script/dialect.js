(host) => {
  const most = 4096;
  const attempt = (f) => {
    try {
      return f();
    } catch (e) {
      return host.fail(e);
    }
  };
  const show = (v) => {
    if (typeof v === "string") return v;
    if (v instanceof Error) return `${v.name}: ${v.message}`;
    try {
      return JSON.stringify(v) ?? String(v);
    } catch {
      return String(v);
    }
  };
  const log = (...parts) => host.tell("log", parts.map(show).join(" "));
  const listed = (what, list) => {
    if (!Array.isArray(list)) {
      throw new TypeError(`${what} takes a list, not ${list === null ? "null" : typeof list}` +
        (typeof list === "string" ? "; if it came in args, pass it as JSON: --args '[…]'" : ""));
    }
    if (list.length > most) throw new RangeError(`${what} takes at most ${most} items, not ${list.length}; work in batches`);
    return list;
  };
  const lost = (what) => (e, i) => host.tell("lost", `${what} item ${i}: ${show(e)}`);
  const parallel = (thunks) => attempt(() => {
    for (const [i, f] of listed("parallel()", thunks).entries()) {
      if (typeof f === "function") continue;
      throw new TypeError(host.isPromise(f)
        ? `parallel() takes functions, and item ${i} is a promise that is already at work; write () => agent(…)`
        : `parallel() takes functions, and item ${i} is ${f === null ? "null" : typeof f}`);
    }
    const group = host.group("parallel");
    return host.gather(thunks.map((f, i) => host.within(group, i, f, [])), lost("parallel()"));
  });
  const pipeline = (items, ...stages) => attempt(() => {
    listed("pipeline()", items);
    for (const [i, f] of stages.entries()) {
      if (typeof f !== "function") throw new TypeError(`pipeline() takes functions as stages, and stage ${i} is ${f === null ? "null" : typeof f}`);
    }
    const group = host.group("pipeline");
    return host.gather(items.map((item, i) => host.lead(group, i, item, stages, "stage")), lost("pipeline()"));
  });
  const workflow = (ref, args) => attempt(() => {
    const name = ref !== null && typeof ref === "object" ? ref.scriptPath ?? ref.name : ref;
    if (typeof name !== "string" || name === "") throw new TypeError("workflow() takes a name or {scriptPath}");
    if (host.inner()) throw new Error(`workflow(${JSON.stringify(name)}): a workflow that another one calls cannot call workflows itself`);
    const kind = host.query("workflow", { name, args });
    if (kind === "script") return host.load(name, "workflow")(args);
    return host.call("workflow", { name, args });
  });
  const logger = Object.freeze({ log, info: log, warn: log, error: log, debug: log, trace: log });
  return {
    agent: (prompt, opts) => host.call("agent", { prompt, opts }),
    ask: (question, opts) => host.call("question", { question, opts }),
    shell: (argv, opts) => host.call("shell", { argv, opts }),
    verify: (checks, opts) => host.call("verify", { checks, opts }),
    artifact: (id, opts) => host.call("artifact", { id, opts }),
    parallel,
    pipeline,
    workflow,
    log,
    phase: (title) => host.tell("phase", show(title)),
    console: logger,
    budget: {
      get total() { return host.query("budget").total; },
      spent: () => host.query("budget").spent,
      remaining: () => {
        const { total, spent } = host.query("budget");
        return total === null ? Infinity : Math.max(0, total - spent);
      },
    },
  };
}
