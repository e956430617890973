// result: {"out":["base+x","base+y","base+z"],"once":["once","once","once"]}
export const meta = {
  name: "shared-promise",
  description: "shared promise",
};

const base = agent("Read the base => base");
const out = await parallel(["x", "y", "z"].map((n) => async () => {
  const text = await base;
  return agent(`Build ${n} on ${text} => ${text}+${n}`);
}));
const lazy = (() => { let p; return () => (p ??= agent("Once => once")); })();
return { out, once: await Promise.all([lazy(), lazy(), lazy()]) };
