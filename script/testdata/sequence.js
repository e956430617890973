// result: {"steps":3,"done":["did one","did two","did three"]}
export const meta = {
  name: "sequence",
  description: "one agent after the other",
};

const plan = await agent("Make a plan => one, two, three");
const steps = plan.split(", ");
let done = [];
for (const step of steps) {
  done.push(await agent(`Do the step ${step} => did ${step}`));
}
return { steps: steps.length, done };
