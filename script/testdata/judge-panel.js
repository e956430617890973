// result: {"draft":"draft number 3","total":18}
export const meta = {
  name: "judge-panel",
  description: "several drafts, several judges, the best wins",
};

const VERDICT = {
  type: "object",
  properties: { score: { type: "number" }, why: { type: "string" } },
  required: ["score", "why"],
};
const drafts = await parallel([1, 2, 3].map((n) => () => agent(`Draft ${n} => draft number ${n}`)));
const judged = await parallel(drafts.map((draft, i) => async () => {
  const votes = await parallel(["strict", "kind", "odd"].map((j, k) => () =>
    agent(`As a ${j} judge rate "${draft}" => ${JSON.stringify({ score: (i + 1) * (k + 1), why: j })}`, { schema: VERDICT })));
  const total = votes.filter(Boolean).reduce((sum, v) => sum + v.score, 0);
  return { draft, total };
}));
judged.sort((a, b) => b.total - a.total);
return judged[0];
