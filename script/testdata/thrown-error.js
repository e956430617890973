// fails: the state is broken (thrown-error.js:9:
export const meta = {
  name: "thrown-error",
  description: "thrown error",
};

const text = await agent("Check the state => broken");
if (text !== "fine") {
  throw new Error(`the state is ${text}`);
}
return text;
