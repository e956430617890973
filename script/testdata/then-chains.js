// result: ["3","th","el"]
export const meta = {
  name: "then-chains",
  description: "then chains",
};

const out = await agent("Start => 1")
  .then((v) => agent(`Next to ${v} => ${Number(v) + 1}`))
  .then((v) => agent(`Next to ${v} => ${Number(v) + 1}`))
  .finally(() => agent("Finally => done"))
  .catch(() => "never");
const thenable = { then(ok) { agent("Thenable => th").then(ok); } };
const { promise, resolve } = Promise.withResolvers();
agent("Elsewhere => el").then(resolve);
return [out, await thenable, await promise];
