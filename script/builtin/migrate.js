// Every file goes through its own line of work: it is changed, checked by an
// agent that did not change it, and repaired while the check finds something. One
// slow file holds up no other.
export const meta = {
  name: "migrate",
  description: "Each file is changed, checked by another agent and repaired, all files side by side",
  whenToUse: "The same change in many files, such as a new API, another framework, a stricter type",
  phases: [
    { title: "Files", detail: "Which files it concerns, when none are given" },
    { title: "Migrate", detail: "Each file is changed, checked and repaired" },
  ],
  args: {
    description: "What to do as a text, or an object",
    type: ["string", "object"],
    minLength: 1,
    required: ["instruction"],
    additionalProperties: false,
    properties: {
      instruction: { type: "string", minLength: 1 },
      files: { type: "array", items: { type: "string", minLength: 1 }, uniqueItems: true },
      check: { type: "string", minLength: 1, description: "How a file is checked, such as a command" },
      repairs: { type: "integer", minimum: 0, maximum: 5 },
      most: { type: "integer", minimum: 1, maximum: 300, description: "Files that are changed at most" },
    },
  },
};

const FILES = {
  type: "object",
  required: ["files"],
  additionalProperties: false,
  properties: { files: { type: "array", items: { type: "string", minLength: 1 } } },
};
const CHECK = {
  type: "object",
  required: ["ok", "problems"],
  additionalProperties: false,
  properties: { ok: { type: "boolean" }, problems: { type: "array", items: { type: "string", minLength: 1 } } },
};

const input = typeof args === "string" ? { instruction: args } : args;
const { instruction } = input;
const check = input.check ?? "read the file and its callers, and run the tests that cover it if there are any";
const repairs = input.repairs ?? 2;
const most = input.most ?? 100;

let { files } = input;
if (!files) {
  phase("Files");
  const list = await agent(
    `Somebody wants this change: ${instruction}\n\nList every file of this project that has to change for it, as paths from its root. Change nothing.`,
    { label: "which files", schema: FILES },
  );
  if (list === null) throw new Error("the files were not found; name them in args.files");
  files = [...new Set(list.files)];
}
const left = files.slice(most);
if (left.length > 0) log(`${left.length} of ${files.length} files are left for another run: at most ${most} are changed`);

phase("Migrate");
const judge = (file) =>
  agent(
    `The file ${file} was changed as follows: ${instruction}\n\nCheck that the change is complete and right, and that nothing else was changed: ${check}. ` +
      "Report problems that another agent can repair from your words alone. Change no files.",
    { label: `check ${file}`, schema: CHECK },
  );
const results = await pipeline(
  files.slice(0, most),
  async (file) => {
    const done = await agent(`Change the file ${file}, and no other file: ${instruction}`, { label: `migrate ${file}` });
    if (done === null) throw new Error("the agent that changes it failed");
    return judge(file);
  },
  async (verdict, file) => {
    let tries = 0;
    for (; verdict !== null && !verdict.ok && tries < repairs; tries++) {
      const repaired = await agent(
        `The file ${file} was changed as follows: ${instruction}\n\nA check found:\n${verdict.problems.map((p) => `- ${p}`).join("\n")}\n\n` +
          "Repair it, and change no other file.",
        { label: `repair ${file} (${tries + 1})` },
      );
      verdict = repaired === null ? null : await judge(file);
    }
    if (verdict === null) throw new Error("an agent failed");
    return { file, ok: verdict.ok, repairs: tries, problems: verdict.ok ? [] : verdict.problems };
  },
);
const settled = results.filter(Boolean);
return {
  instruction,
  migrated: settled.filter((r) => r.ok).map(({ file, repairs }) => ({ file, repairs })),
  failed: settled.filter((r) => !r.ok).map(({ file, problems }) => ({ file, problems })),
  lost: files.slice(0, most).filter((_, i) => results[i] === null),
  left,
};
