// result: ["a","b","c","d",["e","no","agent()"]]
export const meta = {
  name: "promise-all",
  description: "promise all",
};

const [a, [b, c], d] = await Promise.all([
  agent("A => a"),
  Promise.all([agent("B => b"), agent("C => c")]),
  Promise.resolve("d"),
]);
const settled = await Promise.allSettled([agent("E => e"), Promise.reject(new Error("no")), agent("")]);
return [a, b, c, d, settled.map((s) => s.value ?? s.reason.message.slice(0, 7))];
