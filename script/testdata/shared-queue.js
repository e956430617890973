// result: {"workers":[1,2,3],"done":"a!b!c!d!e!f!g!"}
// order: matters
export const meta = {
  name: "shared-queue",
  description: "shared queue",
};

const queue = ["a", "b", "c", "d", "e", "f", "g"];
const done = {};
const worker = async (n) => {
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
    done[job] = await agent(`Worker ${n} does ${job} => ${job}!`);
  }
  return n;
};
const workers = await Promise.all([1, 2, 3].map(worker));
return { workers, done: Object.keys(done).sort().map((k) => done[k]).join("") };
