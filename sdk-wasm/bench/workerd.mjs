// The edge package in workerd, beside jose. Started by `cargo xtask bench verify-edge`.

import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import workerd from "workerd";

import { startWorker } from "../test/workerd.mjs";
import { SIZES } from "./sizes.mjs";

const ROUNDS = 7;
const NAMES = ["chronq", "chronq, digest in WebAssembly", "jose and WebCrypto's digest"];
const here = dirname(fileURLToPath(import.meta.url));

const { origin, stop } = await startWorker(join(here, "worker.mjs"), {});
try {
  console.log(`\n${execFileSync(workerd.default, ["--version"], { encoding: "utf8" }).trim()}`);
  console.log(`medians of ${ROUNDS} rounds, µs per call; the time of an empty request is taken off\n`);
  for (const size of SIZES) {
    const calls = Math.max(20, Math.min(2_000, Math.floor(20_000_000 / size)));
    const samples = NAMES.map(() => []);
    for (let round = -1; round < ROUNDS; round++) {
      for (const index of NAMES.keys()) {
        const ask = async (count) => {
          const began = performance.now();
          const answer = await fetch(`${origin}/?size=${size}&index=${index}&calls=${count}`);
          if ((await answer.text()) !== "verified") throw new Error(`workerd answered ${answer.status}`);
          return performance.now() - began;
        };
        const empty = await ask(0);
        const full = await ask(calls);
        if (round >= 0) samples[index].push(((full - empty) * 1_000) / calls);
      }
    }
    const medians = samples.map((each) => each.sort((a, b) => a - b)[ROUNDS >> 1]);
    console.log(`${size} bytes: ${NAMES.map((name, index) => `${name} ${medians[index].toFixed(1)}`).join(", ")}; jose takes ${(medians[2] / medians[0]).toFixed(2)} × as long`);
  }
} finally {
  await stop();
}
