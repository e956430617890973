// result: {"found":["a.go: fine","b.go: fine","c.go: fine","d.go: fine"],"report":"all fine"}
export const meta = {
  name: "fan-out",
  description: "agents side by side, then one",
  phases: [{ title: "Look" }, { title: "Report", detail: "one text" }],
};

phase("Look");
const files = ["a.go", "b.go", "c.go", "d.go"];
const found = await parallel(files.map((f) => () => agent(`Look at ${f} => ${f}: fine`, { label: f })));
phase("Report");
const report = await agent(`Sum up ${found.join("; ")} => all fine`, { phase: "Last words" });
return { found, report };
