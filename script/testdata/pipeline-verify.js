// result: [{"file":"f0.ts","ok":true},{"file":"f1.ts","ok":false,"repaired":"repaired"},{"file":"f2.ts","ok":true},{"file":"f3.ts","ok":false,"repaired":"repaired"},null,{"file":"f5.ts","ok":false,"repaired":"repaired"}]
export const meta = {
  name: "pipeline-verify",
  description: "each file through three stages",
};

const items = Array.from({ length: 6 }, (_, i) => ({ id: i, file: `f${i}.ts` }));
const out = await pipeline(
  items,
  (item) => agent(`Migrate ${item.file} => migrated ${item.file}`, { label: `migrate ${item.file}` }),
  async (text, item, index) => {
    if (index === 4) throw new Error("cannot check this one");
    const ok = await agent(`Check "${text}" => ${item.id % 2 === 0 ? "ok" : "bad"}`, { label: `check ${item.file}` });
    return { file: item.file, ok: ok === "ok" };
  },
  (result) => (result.ok ? result : agent(`Repair ${result.file} => repaired`).then((r) => ({ ...result, repaired: r }))),
);
return out;
