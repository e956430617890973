// result: ["j1","j2","j3","j4","j5"]
export const meta = {
  name: "semaphore",
  description: "semaphore",
};

class Semaphore {
  constructor(n) { this.free = n; this.queue = []; }
  async run(f) {
    if (this.free > 0) this.free--;
    else await new Promise((ok) => this.queue.push(ok));
    try { return await f(); } finally {
      const next = this.queue.shift();
      if (next) next(); else this.free++;
    }
  }
}
const gate = new Semaphore(2);
return Promise.all([1, 2, 3, 4, 5].map((n) => gate.run(() => agent(`Job ${n} => j${n}`))));
