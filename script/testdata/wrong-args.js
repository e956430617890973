// args: "just text"
// fails: args of workflow wrong-args
export const meta = {
  name: "wrong-args",
  description: "wrong args",
  args: { type: "array", items: { type: "string" } },
};

await agent("never asked");
