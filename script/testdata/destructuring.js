// result: {"title":"T","head":"a","tail":["b","c"],"length":3,"swapped":["a","T"]}
export const meta = {
  name: "destructuring",
  description: "destructuring",
};

const [{ title, tags: [head, ...tail] = [] }, second = "none"] = await Promise.all([
  agent("Describe => {\"title\":\"T\",\"tags\":[\"a\",\"b\",\"c\"]}", { schema: { type: "object" } }),
  agent("Second => two"),
]);
const { length } = second;
const swap = ([a, b]) => [b, a];
return { title, head, tail, length, swapped: swap([title, head]) };
