// args: {"now":"2026-02-03T04:05:06Z","seed":42}
// result: {"year":2026,"iso":"2026-02-03T04:05:06.000Z","text":"ok","clock":true,"dice":true}
export const meta = {
  name: "dates-and-seeds",
  description: "dates and seeds",
};

const day = new Date(args.now);
const seed = { n: args.seed };
const random = () => (seed.n = (seed.n * 1103515245 + 12345) % 2147483648) / 2147483648;
const picks = Array.from({ length: 3 }, () => Math.floor(random() * 10));
let clock, dice;
try { Date.now(); } catch (e) { clock = e.message.includes("pass the time in args"); }
try { Math.random(); } catch (e) { dice = e.message.includes("seed in args"); }
return { year: day.getFullYear(), iso: day.toISOString(), text: await agent(`On ${day.toDateString()} pick ${picks} => ok`), clock, dice };
