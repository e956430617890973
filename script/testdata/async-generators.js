// result: ["P1","P2","later","now","P1","P2","P3","z"]
export const meta = {
  name: "async-generators",
  description: "async generators",
};

async function* pages() {
  for (let page = 1; ; page++) {
    const text = await agent(`Page ${page} => ${page < 4 ? `p${page}` : "end"}`);
    if (text === "end") return;
    yield text;
  }
}
async function* upper(source) {
  try {
    for await (const p of source) yield p.toUpperCase();
  } finally {
    await agent("Close the book => closed");
  }
}
const out = [];
for await (const p of upper(pages())) {
  out.push(p);
  if (out.length === 2) break;
}
for await (const v of [agent("Later => later"), "now"]) out.push(v);
async function* all() { yield* upper(pages()); yield "z"; }
for await (const v of all()) out.push(v);
return out;
