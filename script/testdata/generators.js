// result: {"out":[["1","4","9"],["16","25","36"],["49"]],"fib":[0,1,1,2,3,5]}
export const meta = {
  name: "generators",
  description: "generators",
};

function* batches(list, size) {
  for (let i = 0; i < list.length; i += size) yield list.slice(i, i + size);
}
const out = [];
for (const batch of batches([1, 2, 3, 4, 5, 6, 7], 3)) {
  out.push(await parallel(batch.map((n) => () => agent(`Square ${n} => ${n * n}`))));
}
const fib = (function* () { let [a, b] = [0, 1]; for (;;) { yield a; [a, b] = [b, a + b]; } })();
return { out, fib: Array.from({ length: 6 }, () => fib.next().value) };
