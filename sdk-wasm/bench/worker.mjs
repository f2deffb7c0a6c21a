// Runs the contenders inside workerd. Its clock stands still while code runs, so each request runs one
// contender so many times, and whoever asks takes the time.

import { contenders } from "./contenders.mjs";

export default {
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const [size, index, calls] = ["size", "index", "calls"].map((name) => Number(searchParams.get(name)));
    const [, call] = (await contenders(size))[index];
    for (let made = 0; made < calls; made++) {
      if (!(await call())) throw new Error("a call did not verify");
    }
    return new Response("verified");
  },
};
