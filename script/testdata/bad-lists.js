// result: ["parallel() takes functions, and item 0 is a promis","parallel() takes a list, not string; if it came in","parallel() takes at most 4096 items, not 4097; wor","pipeline() takes a list, not string; if it came in","pipeline() takes functions as stages, and stage 0 ","parallel() takes functions, and item 0 is null",[],[],[1,2],4096]
export const meta = {
  name: "bad-lists",
  description: "bad lists",
};

const out = [];
for (const f of [() => parallel([agent("P => p")]), () => parallel("abc"), () => parallel(new Array(4097).fill(() => 1)), () => pipeline("abc", () => 1), () => pipeline([1], "x"), () => parallel([null])]) {
  try { await f(); } catch (e) { out.push(e.message.slice(0, 50)); }
}
out.push(await parallel([]), await pipeline([]), await pipeline([1, 2]), await parallel(new Array(4096).fill(() => 1)).then((l) => l.length));
return out;
