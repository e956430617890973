// result: {"alive":2,"all":["1",null,null,"4"]}
// status: unproven
export const meta = {
  name: "dead-agents",
  description: "dead agents",
};

const all = await parallel([() => agent("One => 1"), () => agent("Two => !die"), () => agent("Three => !empty"), () => agent("Four => 4")]);
return { alive: all.filter(Boolean).length, all };
