export const meta = { name: "helper", description: "says a word some times" };
const out = [];
for (let i = 0; i < args.times; i++) out.push(await agent(`Say ${args.word} ${i} => ${args.word}${i}`));
return out;
