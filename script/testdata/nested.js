// result: {"a":["x0","x1"],"both":[["y0"],["z0"]],"deep":"workflow(\"helper\"): a workflow that another one calls cannot call workflows itself","unknown":"there is no workflow \"helpr\"; did you mean \"helper\"?"}
export const meta = {
  name: "nested",
  description: "nested",
};

const a = await workflow("helper", { word: "x", times: 2 });
const both = await parallel([() => workflow("helper", { word: "y", times: 1 }), () => workflow({ scriptPath: "helper" }, { word: "z", times: 1 })]);
let deep;
try {
  await workflow("deep");
} catch (e) {
  deep = e.message;
}
let unknown;
try {
  await workflow("helpr");
} catch (e) {
  unknown = e.message;
}
return { a, both, deep, unknown };
