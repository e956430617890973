// result: {"rounds":8,"total":1000,"left":0,"over":"budget_exhausted"}
export const meta = {
  name: "budget-loop",
  description: "budget loop",
};

let rounds = 0;
const parts = [];
while (budget.total === null ? rounds < 3 : budget.remaining() > 250) {
  rounds++;
  parts.push(await agent(`Write part ${rounds} => part ${rounds}`));
}
let over = "";
try {
  for (let i = 0; i < 50; i++) await agent(`More ${i} => more`);
} catch (e) {
  over = e.code;
}
return { rounds, total: budget.total, left: budget.remaining(), over };
