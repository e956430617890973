// result: {"tried":5,"found":[2,1]}
export const meta = {
  name: "labelled-breaks",
  description: "labelled breaks",
};

let tried = 0, found = null;
outer: for (let x = 0; x < 4; x++) {
  for (let y = 0; y < 4; y++) {
    if (y > x) continue outer;
    tried++;
    const r = await agent(`Try ${x},${y} => ${x === 2 && y === 1 ? "hit" : "miss"}`);
    switch (r) {
      case "hit":
        found = [x, y];
        break outer;
      default:
    }
  }
}
block: {
  if (found) break block;
  throw new Error("nothing found");
}
return { tried, found };
