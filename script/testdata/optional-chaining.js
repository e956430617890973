// result: ["nothing","undefined",null,"dead","undefined","undefined"]
export const meta = {
  name: "optional-chaining",
  description: "optional chaining",
};

const r = await agent("Report => {\"a\":{\"b\":null}}", { schema: { type: "object" } });
const dead = await agent("Die => !die", { optional: true });
return [r?.a?.b ?? "nothing", r.x?.y.z, r.a?.["b"], dead?.text ?? "dead", args?.deep?.er, r.f?.()].map((v) => v === undefined ? "undefined" : v);
