// result: {"memory":{"x":"about x","y":"about y","z":"about z"},"answers":["A1","B1","A2"]}
export const meta = {
  name: "closures",
  description: "closures",
};

const memory = {};
const remember = (key) => (value) => ((memory[key] = value), value);
await Promise.all(["x", "y", "z"].map((key) => agent(`Tell about ${key} => about ${key}`).then(remember(key))));
const makeAsker = (prefix) => {
  let n = 0;
  return async (what) => agent(`${prefix} ${++n}: ${what} => ${prefix}${n}`);
};
const first = makeAsker("A"), second = makeAsker("B");
const answers = [await first("one"), await second("one"), await first("two")];
return { memory: Object.fromEntries(Object.entries(memory).sort()), answers };
