// What runs inside Chromium: one question after the other.

import * as sdk from "../../sdk-wasm/dist/index.browser.js";

import { answering } from "./face.mjs";

const answer = answering(sdk, { isEdge: true });

for (;;) {
  const question = await (await fetch("/question")).json();
  await fetch("/answer", { method: "POST", body: JSON.stringify(await answer(question)) });
}
