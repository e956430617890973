// result: ["it reads text","\\d"]
export const meta = {
  name: "tagged-templates",
  description: "tagged templates",
};

const dedent = (strings, ...values) => strings.raw.map((s, i) => s + (values[i] ?? "")).join("").split("\n").map((l) => l.trim()).filter(Boolean).join(" ");
const ask = (strings, ...values) => agent(dedent(strings, ...values));
const who = "the parser";
return [await ask`
  Explain ${who}
  in ${3} words
  => it reads text
`, String.raw`\d`];
