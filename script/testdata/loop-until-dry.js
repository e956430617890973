// result: {"round":4,"bugs":["bug1","bug2","bug3","bug4"]}
export const meta = {
  name: "loop-until-dry",
  description: "rounds until nothing new is found",
};

const seen = new Set();
let round = 0;
let fresh;
do {
  round++;
  const text = await agent(`Round ${round}: find what is not in [${[...seen].join()}] => ${round < 4 ? `bug${round},bug${round + 1}` : "bug1"}`);
  fresh = text.split(",").filter((b) => !seen.has(b));
  fresh.forEach((b) => seen.add(b));
  log(`round ${round}: ${fresh.length} new`);
} while (fresh.length > 0 && round < 10);
return { round, bugs: [...seen] };
