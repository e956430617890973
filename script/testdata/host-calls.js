// result: {"answer":"red","exit":0,"proof":true,"kept":true,"refused":"shell() takes a"}
export const meta = {
  name: "host-calls",
  description: "host calls",
};

const answer = await ask("Which colour?", { options: ["red", "blue"] });
const run = await shell(["git", "status"], { cwd: "src", timeout: "30s", effect: "read" });
const proof = await verify();
const kept = await artifact("report", { title: "Report", mime: "text/markdown", content: `# ${answer}` });
console.log("kept", kept, { a: 1 });
let refused;
try { await shell("git status"); } catch (e) { refused = e.message; }
return { answer, exit: run.exitCode, proof: proof.verified, kept: kept.ok, refused: refused.slice(0, 15) };
