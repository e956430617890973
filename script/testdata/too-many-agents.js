// result: {"done":40}
export const meta = {
  name: "too-many-agents",
  description: "too many agents",
};

const out = await parallel(Array.from({ length: 60 }, (_, i) => () => agent(`Do ${i} => ${i}`)));
return { done: out.filter((x) => x !== null).length };
