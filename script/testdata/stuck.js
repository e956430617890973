// fails: waits for a promise that nothing will settle
export const meta = {
  name: "stuck",
  description: "stuck",
};

await new Promise(() => {});
