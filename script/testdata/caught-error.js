// result: ["invalid_structured_output",true,"tidy","agent() has no option \"modle\"; did you mean \"model\"?","TypeError"]
export const meta = {
  name: "caught-error",
  description: "caught error",
};

const out = [];
try {
  await agent("Give a list => !schema", { schema: { type: "object", properties: { a: { type: "string" } } }, optional: true });
} catch (e) {
  out.push(e.code, e instanceof Error);
} finally {
  out.push(await agent("Tidy up => tidy"));
}
try {
  await agent("x", { modle: "big" });
} catch (e) {
  out.push(e.message);
}
try {
  await agent("");
} catch ({ name }) {
  out.push(name);
}
return out;
