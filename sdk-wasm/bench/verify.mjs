// The edge package in Node's WebAssembly, beside jose; also finds the size from which WebCrypto's digest wins,
// which `ts/digest.ts` holds.
//
//     cargo xtask bench verify-edge

import { arch, cpus, platform, release } from "node:os";

import { contenders } from "./contenders.mjs";
import { SIZES } from "./sizes.mjs";

const ROUNDS = 7;
const SLICE_MS = 30;

async function slice(call) {
  const began = performance.now();
  let calls = 0;
  do {
    if (!(await call())) throw new Error("a call did not verify");
    calls += 1;
  } while (performance.now() - began < SLICE_MS);
  return ((performance.now() - began) * 1_000) / calls;
}

console.log(`${cpus().length} × ${cpus()[0]?.model}, ${platform()} ${release()} ${arch()}, Node ${process.version}`);
console.log(`medians of ${ROUNDS} rounds, µs per call\n`);
for (const size of SIZES) {
  const entries = await contenders(size);
  const samples = entries.map(() => []);
  for (let round = -1; round < ROUNDS; round++) {
    for (const [index, [, call]] of entries.entries()) {
      const sample = await slice(call);
      if (round >= 0) samples[index].push(sample);
    }
  }
  const medians = samples.map((each) => each.sort((a, b) => a - b)[ROUNDS >> 1]);
  console.log(`${size} bytes: ${entries.map(([name], index) => `${name} ${medians[index].toFixed(1)}`).join(", ")}; jose takes ${(medians[2] / medians[0]).toFixed(2)} × as long`);
}
