// result: {"alpha":1,"beta":2,"gamma":3}
export const meta = {
  name: "map-reduce",
  description: "map reduce",
};

const chunks = ["alpha beta", "beta gamma", "gamma gamma"];
const counts = await parallel(chunks.map((c, i) => () => agent(`Count the words of chunk ${i} => ${JSON.stringify(c.split(" ").reduce((m, w) => ({ ...m, [w]: (m[w] ?? 0) + 1 }), {}))}`, { schema: { type: "object" } })));
const total = counts.reduce((sum, part) => { for (const [w, n] of Object.entries(part)) sum.set(w, (sum.get(w) ?? 0) + n); return sum; }, new Map());
return Object.fromEntries(total);
