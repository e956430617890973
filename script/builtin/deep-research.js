// A question is cut into smaller ones, which are researched side by side. As long
// as something important is missing, another round looks for it. Every claim that
// the report rests on is checked by an agent that did not make it.
export const meta = {
  name: "deep-research",
  description: "A question is cut into parts, researched in rounds until nothing important is missing, checked, and answered with sources",
  whenToUse: "A question whose answer has to be looked up in many places and must say where it comes from",
  phases: [
    { title: "Plan", detail: "The question is cut into parts" },
    { title: "Research", detail: "All parts at once, in rounds" },
    { title: "Check", detail: "Each claim is checked at its source" },
    { title: "Report" },
  ],
  args: {
    description: "The question as a text, or an object",
    type: ["string", "object"],
    minLength: 1,
    required: ["question"],
    additionalProperties: false,
    properties: {
      question: { type: "string", minLength: 1 },
      parts: { type: "array", minItems: 1, maxItems: 64, items: { type: "string", minLength: 1 }, description: "Instead of a plan" },
      rounds: { type: "integer", minimum: 1, maximum: 5 },
      most: { type: "integer", minimum: 1, maximum: 200, description: "Claims that are checked at most" },
      sources: { type: "string", minLength: 1, description: "Where to look" },
    },
  },
};

const strings = { type: "array", items: { type: "string", minLength: 1 } };
const PARTS = { type: "object", required: ["parts"], additionalProperties: false, properties: { parts: { ...strings, maxItems: 12 } } };
const CLAIMS = {
  type: "object",
  required: ["claims"],
  additionalProperties: false,
  properties: {
    claims: {
      type: "array",
      items: {
        type: "object",
        required: ["claim", "source"],
        additionalProperties: false,
        properties: {
          claim: { type: "string", minLength: 1, description: "One statement that can be true or false" },
          source: { type: "string", minLength: 1, description: "File and line, or address" },
          quote: { type: "string", description: "The words that carry it" },
        },
      },
    },
  },
};
const CHECK = {
  type: "object",
  required: ["holds", "why"],
  additionalProperties: false,
  properties: { holds: { type: "boolean" }, why: { type: "string" } },
};
const REPORT = {
  type: "object",
  required: ["answer", "confidence", "open"],
  additionalProperties: false,
  properties: {
    answer: { type: "string", minLength: 1 },
    confidence: { enum: ["high", "medium", "low"] },
    open: { ...strings, description: "What could not be settled" },
  },
};

const input = typeof args === "string" ? { question: args } : args;
const { question } = input;
const rounds = input.rounds ?? 2;
const most = input.most ?? 40;
const sources = input.sources ?? "the files of this project, and whatever else your tools reach";

phase("Plan");
let parts = input.parts;
if (!parts) {
  const plan = await agent(
    `Question: ${question}\n\nCut it into at most 12 parts that can be looked up on their own and that together answer it. Change no files.`,
    { label: "plan", schema: PARTS },
  );
  parts = plan?.parts.length ? plan.parts : [question];
}

phase("Research");
const claims = [];
for (let round = 1; parts.length > 0 && round <= rounds; round++) {
  const found = await parallel(parts.map((part) => () =>
    agent(
      `Question: ${question}\n\nYour part of it: ${part}\n\nLook in ${sources}. Report single claims, each with its source and the words that carry it. ` +
        "What has no source is no claim. Nothing found is an empty list. Change no files.",
      { label: part.slice(0, 60), schema: CLAIMS },
    ).then((r) => r?.claims ?? null)));
  const fresh = found.filter(Boolean).flat().filter((c) => !claims.some((k) => k.claim === c.claim && k.source === c.source));
  claims.push(...fresh);
  log(`round ${round}: ${parts.length} parts, ${fresh.length} new claims`);
  if (fresh.length === 0 || round === rounds) break;
  const gaps = await agent(
    `Question: ${question}\n\nClaims so far:\n${claims.map((c) => `- ${c.claim} (${c.source})`).join("\n")}\n\n` +
      "What that matters for the answer is not covered? Name parts to look up, at most 12; an empty list when nothing is missing. Change no files.",
    { label: `gaps after round ${round}`, schema: PARTS },
  );
  parts = gaps?.parts ?? [];
}
if (claims.length === 0) {
  log("nothing with a source was found: name other sources in args, or put the question differently");
  return { question, answer: null, confidence: "low", open: [question], claims: [], dropped: [], notChecked: [] };
}

phase("Check");
const checked = await pipeline(claims.slice(0, most), async (c) => {
  const check = await agent(
    `Somebody claims: ${c.claim}\nSource: ${c.source}${c.quote ? `\nQuote: ${c.quote}` : ""}\n\n` +
      "Open the source and say whether it carries the claim. It does not when the source cannot be opened, says less, or says something else. Change no files.",
    { label: `check: ${c.claim.slice(0, 50)}`, schema: CHECK },
  );
  return { ...c, holds: check?.holds ?? false, why: check?.why ?? "the check failed" };
});
const holding = checked.filter((c) => c?.holds);
log(`${holding.length} of ${claims.length} claims hold`);

phase("Report");
const report = await agent(
  `Question: ${question}\n\nChecked claims:\n${holding.map((c, i) => `[${i + 1}] ${c.claim} (${c.source})`).join("\n") || "none held"}\n\n` +
    "Answer the question from these claims only, with their numbers in brackets. Say what stays open, and how sure the answer is. Change no files.",
  { label: "report", schema: REPORT },
);
if (report === null) throw new Error("the report failed; the checked claims are in the history of the run");
return {
  question,
  ...report,
  claims: holding.map(({ claim, source, quote }) => ({ claim, source, ...(quote && { quote }) })),
  dropped: checked.filter((c) => c && !c.holds).map(({ claim, source, why }) => ({ claim, source, why })),
  notChecked: claims.slice(most),
};
