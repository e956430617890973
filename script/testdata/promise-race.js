// result: [true,"followed","alive"]
// order: matters
export const meta = {
  name: "promise-race",
  description: "promise race",
};

const winner = await Promise.race(["north", "south", "west"].map((w) => agent(`Go ${w} => ${w}`)));
const next = await agent(`Follow ${winner} => followed`);
const any = await Promise.any([agent("Die => !die", { optional: true }).then((v) => { if (v === null) throw new Error("dead"); return v; }), agent("Live => alive")]);
return [["north", "south", "west"].includes(winner), next, any];
