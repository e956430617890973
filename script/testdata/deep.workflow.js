export const meta = { name: "deep", description: "calls on, which is one too deep" };
return workflow("helper", { word: "no", times: 1 });
