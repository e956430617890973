// Reviewers look for defects side by side, each with one question in mind. What
// they find is then doubted: independent skeptics try to refute every finding,
// and only what most of them could confirm is reported, with their evidence.
export const meta = {
  name: "code-review",
  description: "Reviewers find defects in parallel, independent skeptics verify each finding, the survivors are reported with evidence",
  whenToUse: "Before a change is merged, or to look through a part of the code",
  phases: [
    { title: "Find", detail: "One reviewer a question, all at once" },
    { title: "Verify", detail: "Independent skeptics try to refute each finding" },
  ],
  args: {
    description: "What to review as a text, or an object; without args, the changes that are not committed",
    type: ["string", "object", "null"],
    minLength: 1,
    additionalProperties: false,
    properties: {
      target: { type: "string", minLength: 1 },
      questions: {
        type: "array",
        minItems: 1,
        maxItems: 32,
        items: {
          type: "object",
          required: ["name", "question"],
          additionalProperties: false,
          properties: { name: { type: "string", minLength: 1 }, question: { type: "string", minLength: 1 } },
        },
      },
      skeptics: { type: "integer", minimum: 1, maximum: 9 },
      most: { type: "integer", minimum: 1, maximum: 200, description: "Findings that are verified at most" },
    },
  },
};

const FINDINGS = {
  type: "object",
  required: ["findings"],
  additionalProperties: false,
  properties: {
    findings: {
      type: "array",
      items: {
        type: "object",
        required: ["file", "line", "title", "severity", "why"],
        additionalProperties: false,
        properties: {
          file: { type: "string" },
          line: { type: "integer", minimum: 0, description: "0 when it concerns the whole file" },
          title: { type: "string", minLength: 1 },
          severity: { enum: ["critical", "major", "minor"] },
          why: { type: "string", description: "What happens, with which input or order of events" },
        },
      },
    },
  },
};
const VERDICT = {
  type: "object",
  required: ["real", "evidence"],
  additionalProperties: false,
  properties: {
    real: { type: "boolean" },
    evidence: { type: "string", minLength: 1, description: "The lines, the output or the reasoning that decides it" },
  },
};

const input = typeof args === "string" ? { target: args } : args ?? {};
const target = input.target ?? "the changes in this repository that are not committed (git diff HEAD and untracked files)";
const skeptics = input.skeptics ?? 3;
const most = input.most ?? 50;
const questions = input.questions ?? [
  { name: "correctness", question: "Where does it compute, decide or return something wrong?" },
  { name: "failure", question: "What happens when calls fail, time out, run twice or side by side?" },
  { name: "security", question: "What can input from outside reach, read, change or exhaust?" },
  { name: "tests", question: "Which behaviour that matters could break without a test failing?" },
];

phase("Find");
const reports = await parallel(questions.map(({ name, question }) => () =>
  agent(
    `Review ${target}.\n\nYour only question: ${question}\n\nRead the code around what you report. Report defects that you can explain with an ` +
      "input or an order of events; no matters of taste, nothing that you only suspect. An empty list is a good answer. Change no files.",
    { label: `find: ${name}`, schema: FINDINGS },
  ).then((r) => r && r.findings.map((f) => ({ ...f, by: name })))));
const unanswered = questions.filter((_, i) => reports[i] === null).map((q) => q.name);
if (unanswered.length === questions.length) throw new Error("no reviewer gave an answer");

// Two reviewers may find one defect: what stands at one place under one title is one.
const byPlace = new Map();
for (const finding of reports.filter(Boolean).flat()) {
  const place = `${finding.file}:${finding.line}:${finding.title.toLowerCase()}`;
  if (!byPlace.has(place)) byPlace.set(place, finding);
}
const rank = { critical: 0, major: 1, minor: 2 };
const found = [...byPlace.values()].sort((a, b) => rank[a.severity] - rank[b.severity]);
const left = found.slice(most);
if (left.length > 0) log(`${left.length} findings of the lowest severity are not verified: at most ${most} are`);
log(`${found.length} findings by ${questions.length - unanswered.length} reviewers`);

phase("Verify");
const judged = await pipeline(found.slice(0, most), async (finding) => {
  const place = `${finding.file}:${finding.line}`;
  const votes = await parallel(Array.from({ length: skeptics }, (_, i) => () =>
    agent(
      `A reviewer of ${target} reports a ${finding.severity} defect at ${place}: ${finding.title}\n${finding.why}\n\n` +
        `You are skeptic ${i + 1} of ${skeptics} and work alone. Try to refute it: read the code, follow the callers, run a test if that decides it. ` +
        "It is real only if you can show how it happens. Change no files.",
      { label: `verify ${place} (${i + 1})`, schema: VERDICT },
    )));
  const given = votes.filter(Boolean);
  const real = given.filter((v) => v.real);
  return {
    ...finding,
    real: real.length * 2 > skeptics,
    votes: `${real.length} of ${skeptics}`,
    evidence: (real.length * 2 > skeptics ? real : given.filter((v) => !v.real)).map((v) => v.evidence),
  };
});
const done = judged.filter(Boolean);
return {
  target,
  findings: done.filter((f) => f.real).map(({ real, ...f }) => f),
  refuted: done.filter((f) => !f.real).map(({ file, line, title, votes, evidence }) => ({ file, line, title, votes, evidence })),
  notVerified: [...left, ...found.slice(0, most).filter((_, i) => judged[i] === null)],
  unanswered,
};
