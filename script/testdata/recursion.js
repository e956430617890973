// result: {"name":"t","kids":[{"name":"tl","kids":["tlll tllr","tlrl tlrr"]},{"name":"tr","kids":["trll trlr","trrl trrr"]}]}
export const meta = {
  name: "recursion",
  description: "recursion",
};

const tree = async (name, depth) => {
  const text = await agent(`Split ${name} => ${name}l ${name}r`);
  if (depth === 0) return text;
  const kids = await parallel(text.split(" ").map((k) => () => tree(k, depth - 1)));
  return { name, kids };
};
return tree("t", 2);
