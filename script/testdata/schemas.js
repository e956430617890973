// result: {"checked":["a","b"],"problems":4}
export const meta = {
  name: "schemas",
  description: "schemas",
};

const FINDINGS = {
  type: "object",
  additionalProperties: false,
  required: ["findings"],
  properties: { findings: { type: "array", items: { type: "object", required: ["file", "line"], properties: { file: { type: "string" }, line: { type: "integer" } } } } },
};
const { findings } = await agent(`Find => ${JSON.stringify({ findings: [{ file: "a", line: 1 }, { file: "b", line: 2 }] })}`, { schema: FINDINGS, effort: "high", model: "big", agentType: "finder", timeout: "5m", tools: ["read"], isolation: "worktree" });
const problems = [];
for (const schema of [{ type: "array" }, "x", { type: "object", required: ["a"], additionalProperties: false }, { type: "object", propertees: {} }]) {
  await agent("never asked", { schema }).catch((e) => problems.push(e.message.split(":")[0]));
}
const checked = await pipeline(findings, (f) => agent(`Check ${f.file}:${f.line} => {"real":true}`, { schema: { type: "object", properties: { real: { type: "boolean" } } } }), (v, f) => v.real && f.file);
return { checked, problems: problems.length };
