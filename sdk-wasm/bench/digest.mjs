// From which size of a body on WebCrypto's digest beats that of WebAssembly, by the processor time of both: that of
// other processes does not count, so a busy machine measures it too. Started by `cargo xtask bench verify-edge`.

import { contenders } from "./contenders.mjs";

const SIZES = [1_024, 4_096, 6_144, 8_192, 12_288, 16_384, 32_768];
const ROUNDS = 12;
const CALLS = 150;

/** Microseconds of the processor for one call. */
async function cost(call) {
  const began = process.cpuUsage();
  for (let made = 0; made < CALLS; made++) await call();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / CALLS;
}

console.log(`\nleast of ${ROUNDS} rounds, µs of processor time per call: WebCrypto's digest alone; verifying with the digest in WebAssembly, and as the package chooses`);
for (const size of SIZES) {
  const [[, chosen], [, inWebAssembly]] = await contenders(size);
  const body = new Uint8Array(size).fill(97);
  const calls = [() => crypto.subtle.digest("SHA-256", body), inWebAssembly, chosen];
  const least = calls.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, call] of calls.entries()) least[index] = Math.min(least[index], await cost(call));
  }
  const [digest, wasm, ours] = least.map((microseconds) => microseconds.toFixed(1));
  console.log(`${size} bytes: ${digest}; ${wasm}, ${ours}`);
}
