// result: "done"
export const meta = {
  name: "unawaited",
  description: "unawaited",
};

agent("Nobody waits for this => x");
parallel([() => agent("Nor for this => y")]);
return "done";
