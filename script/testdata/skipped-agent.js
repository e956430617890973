// result: {"skipped":null}
export const meta = {
  name: "skipped-agent",
  description: "skipped agent",
};

const skipped = await agent("Skip => !skip");
return { skipped };
