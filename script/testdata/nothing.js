// result: undefined
export const meta = {
  name: "nothing",
  description: "nothing",
};

log("nothing to do");
