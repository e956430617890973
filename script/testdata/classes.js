// result: {"quiet":{"ann":"ann says peace","bob":"bob says peace"},"loud":{"CY":"CY says noise"},"short":[["ann","14"],["bob","14"]],"size":2}
export const meta = {
  name: "classes",
  description: "classes",
};

class Team {
  #members = new Map();
  static size = 2;
  constructor(topic) { this.topic = topic; }
  async add(name) {
    const voice = await agent(`${name} on ${this.topic} => ${name} says ${this.topic}`);
    this.#members.set(name, voice);
    return this;
  }
  get voices() { return Object.fromEntries([...this.#members].sort()); }
  async *[Symbol.asyncIterator]() { for (const [name, v] of this.#members) yield [name, await agent(`Shorten ${v} => ${v.length}`)]; }
}
class Loud extends Team {
  async add(name) { await super.add(name.toUpperCase()); return this; }
  static async of(...names) { const t = new this("noise"); for (const n of names) await t.add(n); return t; }
}
const quiet = await (await new Team("peace").add("ann")).add("bob");
const loud = await Loud.of("cy");
const short = [];
for await (const pair of quiet) short.push(pair);
return { quiet: quiet.voices, loud: loud.voices, short, size: Loud.size };
