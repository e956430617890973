// args: "{\"files\":[\"a\",\"b\"]}"
// result: {"total":2}
export const meta = {
  name: "string-args",
  description: "string args",
  args: { type: "object", required: ["files"], properties: { files: { type: "array" } } },
};

return { total: args.files.length };
