// result: {"good":"good","err":"RangeError: never h2"}
export const meta = {
  name: "retry-helper",
  description: "retry helper",
};

const retry = async (f, times = 3) => {
  let last;
  for (let i = 1; i <= times; i++) {
    try { return await f(i); } catch (e) { last = e; log("attempt", i, "failed:", e); }
  }
  throw last;
};
const good = await retry(async (i) => { const t = await agent(`Attempt ${i} => ${i === 3 ? "good" : "bad"}`); if (t === "bad") throw new Error(`bad ${i}`); return t; });
const err = await retry(async (i) => { throw new RangeError(`never ${await agent(`Hopeless ${i} => h${i}`)}`); }, 2).catch((e) => `${e}`);
return { good, err };
