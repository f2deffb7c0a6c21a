// What runs inside workerd: one question per request.

import * as sdk from "../../sdk-wasm/dist/index.workerd.js";

import { answering } from "./face.mjs";

const answer = answering(sdk, { isEdge: true });

export default {
  async fetch(request) {
    return Response.json(await answer(await request.json()));
  },
};
