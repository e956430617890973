// result: {"files":[{"path":"src/a.ts","lines":12},{"path":"src/b.ts","lines":7}],"out":["src-a-ts","src-B-ts"],"sticky":false}
export const meta = {
  name: "regexes",
  description: "regexes",
};

const text = await agent("List => FILE: src/a.ts (12 lines)\nFILE: src/b.ts (7 lines)\nnoise");
const files = [...text.matchAll(/^FILE: (?<path>\S+) \((?<lines>\d+) lines\)$/gm)].map((m) => ({ ...m.groups, lines: Number(m.groups.lines) }));
const slug = (s) => s.replace(/[^\p{L}\d]+/gu, "-").replace(/(?<=-)b/, (c) => c.toUpperCase());
const out = await pipeline(files, ({ path }) => agent(`Read ${path} => ${slug(path)}`));
return { files, out, sticky: /a/y.test("ba") };
