// result: {"out":{"echo":{"size":3}},"failed":"child_failed"}
export const meta = {
  name: "child-run",
  description: "child run",
};

const out = await workflow("graph", { size: 3 });
let failed;
try {
  await workflow("bad-graph");
} catch (e) {
  failed = e.code;
}
return { out, failed };
