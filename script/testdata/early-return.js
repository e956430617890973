// args: {"change":"a typo"}
// result: {"skipped":true,"risk":"low"}
export const meta = {
  name: "early-return",
  description: "early return",
};

const risk = await agent(`How risky is ${args?.change ?? "nothing"}? => low`);
if (risk === "low") return { skipped: true, risk };
await agent("This is never asked");
return { skipped: false };
