// result: ["a1","b1","a2","b2",["c1"]]
// order: matters
export const meta = {
  name: "thenables",
  description: "objects that are promises in their own way",
};

const two = (name) => ({
  then(ok, no) {
    agent(`First ${name} => ${name}1`).then((x) => agent(`Second ${name} => ${name}2`).then((y) => ok([x, y])), no);
  },
});
const [[a1, a2], [b1, b2]] = await Promise.all([Promise.resolve(two("a")), new Promise((ok) => ok(two("b")))]);
class Own extends Promise {}
const own = Own.resolve(agent("Own => c1"));
return [a1, b1, a2, b2, [await own]];
