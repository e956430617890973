// Members with different stances discuss a topic for some rounds. A finalizer,
// who took no side, then says what they agree on, what they do not, and what is
// decided.
export const meta = {
  name: "discussion",
  description: "Members with different stances discuss a topic; a finalizer states agreement, disagreement and decision",
  whenToUse: "A question with more than one defensible answer, before it becomes work: a design, a trade-off, a plan",
  phases: [
    { title: "Discuss", detail: "All members of a round speak at once and have read the rounds before" },
    { title: "Conclude", detail: "The finalizer states agreement, disagreement and decision" },
  ],
  args: {
    description: "The topic as a text, or an object",
    type: ["string", "object"],
    minLength: 1,
    required: ["topic"],
    additionalProperties: false,
    properties: {
      topic: { type: "string", minLength: 1 },
      members: {
        type: "array",
        minItems: 1,
        maxItems: 16,
        items: {
          type: "object",
          required: ["name", "stance"],
          additionalProperties: false,
          properties: { name: { type: "string", minLength: 1 }, stance: { type: "string", minLength: 1 }, model: { type: "string" } },
        },
      },
      rounds: { type: "integer", minimum: 1, maximum: 10 },
      finalizer: {
        type: "object",
        additionalProperties: false,
        properties: { name: { type: "string", minLength: 1 }, stance: { type: "string", minLength: 1 }, model: { type: "string" } },
      },
    },
  },
};

const CONCLUSION = {
  type: "object",
  required: ["agreement", "disagreement", "decision"],
  additionalProperties: false,
  properties: {
    agreement: { type: "array", items: { type: "string" }, description: "What all members hold" },
    disagreement: { type: "array", items: { type: "string" }, description: "What stays open, with who holds what and why" },
    decision: { type: "string", minLength: 1, description: "What to do, and the reason that decides" },
  },
};

const input = typeof args === "string" ? { topic: args } : args;
const rounds = input.rounds ?? 2;
const finalizer = { name: "finalizer", stance: "you took no side and you weigh arguments, not votes", ...input.finalizer };
const members = input.members ?? [
  { name: "advocate", stance: "make the strongest honest case for the topic as it is put" },
  { name: "skeptic", stance: "look for what is wrong, unproven, or too costly in it, and for what would be better" },
];

const said = []; // {round, member, text}
const record = () =>
  said.length === 0 ? "Nobody has spoken yet." : said.map((s) => `[round ${s.round}] ${s.member}: ${s.text}`).join("\n\n");

const turn = (member, round) => {
  const task = round === 1
    ? "Give your view with the reasons that matter most."
    : "Answer what the others said: name the point you answer, give way where they are right, and add what is missing.";
  return agent(
    `You are ${member.name} in a discussion, and your stance is: ${member.stance}.\n\nTopic: ${input.topic}\n\n` +
      `What was said so far:\n${record()}\n\nThis is round ${round} of ${rounds}. ${task} Stay under 300 words, and change no files.`,
    { label: `${member.name}, round ${round}`, ...(member.model && { model: member.model }) },
  );
};

phase("Discuss");
for (let round = 1; round <= rounds; round++) {
  const texts = await parallel(members.map((member) => () => turn(member, round)));
  const spoke = texts
    .map((text, i) => ({ round, member: members[i].name, text }))
    .filter((s) => s.text !== null);
  if (spoke.length === 0) throw new Error(`nobody spoke in round ${round}: all agents failed`);
  said.push(...spoke);
  log(`round ${round}: ${spoke.length} of ${members.length} members spoke`);
}

phase("Conclude");
const conclusion = await agent(
  `You are ${finalizer.name}: ${finalizer.stance}.\n\nTopic: ${input.topic}\n\nThe whole discussion:\n${record()}\n\n` +
    "State the agreement, the disagreement and the decision. Report only what was said, make no new argument, and do not hide a disagreement " +
    "to reach a decision. Change no files.",
  { label: finalizer.name, schema: CONCLUSION, ...(finalizer.model && { model: finalizer.model }) },
);
if (conclusion === null) throw new Error("the finalizer failed, so there is no conclusion; what the members said is in the history of the run");
return { topic: input.topic, ...conclusion, rounds, said };
