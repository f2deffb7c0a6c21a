// Verification beside @upstash/qstash, a hand-written floor, and SHA-256 alone.
//
//     cargo xtask bench verify-node
//
// Contenders take turns within each round; what counts is the ratio of their medians within this one run.
// Every call is checked to have verified. Exits 1 where a goal is missed.

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createRequire } from "node:module";
import { arch, cpus, platform, release } from "node:os";

import { Receiver } from "@chronq/sdk";
import { Receiver as QstashReceiver } from "@upstash/qstash";

const ROUNDS = 9;
const SLICE_MS = 50;
const KEY = "sig_this-is-not-a-real-signing-key-current-00";
const OTHER_KEY = "sig_this-is-not-a-real-signing-key-next-00000";
const URL_SIGNED = "https://app.example.com/hook";
const SIZES = [["1 KiB", 1_024], ["64 KiB", 65_536], ["1 MiB", 1_048_576]];
const HEADER = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString("base64url");

function sign(body, iss, key) {
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss, sub: URL_SIGNED, iat: now, nbf: now - 5, exp: now + 3_600, jti: "jwt_01936b0e-8d2c-7c3a-9f00-000000000001",
    body: createHash("sha256").update(body).digest("base64url"),
  };
  const signed = `${HEADER}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
}

/** Verifies as a careful user would by hand, with node:crypto; less strict than the contract. */
function floor(signature, body) {
  const [header, payload, mac] = signature.split(".");
  if (JSON.parse(Buffer.from(header, "base64url")).alg !== "HS256") throw new Error("alg");
  const given = Buffer.from(mac, "base64url");
  const matches = [KEY, OTHER_KEY].map((key) => timingSafeEqual(given, createHmac("sha256", key).update(`${header}.${payload}`).digest()));
  if (!matches.includes(true)) throw new Error("signature");
  const claims = JSON.parse(Buffer.from(payload, "base64url"));
  const now = Math.floor(Date.now() / 1_000);
  if (claims.iss !== "chronq" || claims.sub !== URL_SIGNED || now >= claims.exp || now < claims.nbf) throw new Error("claims");
  if (!timingSafeEqual(Buffer.from(claims.body, "base64url"), createHash("sha256").update(body).digest())) throw new Error("body");
  return claims;
}

const receiver = new Receiver({ currentSigningKey: KEY, nextSigningKey: OTHER_KEY });
const qstash = new QstashReceiver({ currentSigningKey: KEY, nextSigningKey: OTHER_KEY });

/** Microseconds of one call, over a slice of time. */
async function slice(call) {
  const until = performance.now() + SLICE_MS;
  const began = performance.now();
  let calls = 0;
  let now;
  do {
    if (!(await call())) throw new Error("a call did not verify");
    calls += 1;
    now = performance.now();
  } while (now < until);
  return ((now - began) * 1_000) / calls;
}

async function measure(contenders) {
  const samples = contenders.map(() => []);
  for (const [, call] of contenders) await slice(call);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, [, call]] of contenders.entries()) samples[index].push(await slice(call));
  }
  return Object.fromEntries(contenders.map(([name], index) => [name, samples[index].sort((a, b) => a - b)[ROUNDS >> 1]]));
}

const version = (name) => createRequire(import.meta.url)(`../node_modules/${name}/package.json`).version;
console.log(`${cpus().length} × ${cpus()[0]?.model}, ${platform()} ${release()} ${arch()}, Node ${process.version}, @upstash/qstash ${version("@upstash/qstash")}`);
console.log(`medians of ${ROUNDS} rounds, µs per call\n`);

let missed = 0;
function goal(what, ratio, wanted, atMost = false) {
  const met = atMost ? ratio <= wanted : ratio >= wanted;
  if (!met) missed += 1;
  console.log(`  ${met ? "met   " : "MISSED"}  ${what}: ${ratio.toFixed(2)} × (${atMost ? "at most" : "at least"} ${wanted})`);
}

const GOALS = { "1 KiB": [28, 2.2], "64 KiB": [5, 1.15], "1 MiB": [3.2, 1.0] };
for (const [label, size] of SIZES) {
  const body = Buffer.alloc(size, "a");
  const text = body.toString();
  const first = sign(body, "chronq", KEY);
  const second = sign(body, "chronq", OTHER_KEY);
  const theirs = sign(body, "Upstash", KEY);
  const medians = await measure([
    ["chronq, Buffer", () => receiver.verify({ signature: first, body, url: URL_SIGNED })],
    // It takes text alone, and a server has bytes: whoever uses it decodes them.
    ["qstash", () => qstash.verify({ signature: theirs, body: body.toString(), url: URL_SIGNED })],
    ["qstash, text", () => qstash.verify({ signature: theirs, body: text, url: URL_SIGNED })],
    ["node:crypto by hand", () => floor(first, body)],
    ["chronq, second key", () => receiver.verify({ signature: second, body, url: URL_SIGNED })],
    ["chronq, text", () => receiver.verify({ signature: first, body: text, url: URL_SIGNED })],
    ["SHA-256 alone", () => createHash("sha256").update(body).digest()],
  ]);
  console.log(label);
  for (const [name, median] of Object.entries(medians)) console.log(`  ${median.toFixed(1).padStart(9)}  ${name}`);
  const ours = medians["chronq, Buffer"];
  goal("goal 2, against qstash", medians.qstash / ours, GOALS[label][0]);
  goal("goal 3, against node:crypto by hand", medians["node:crypto by hand"] / ours, GOALS[label][1]);
  if (size === 1_048_576) goal("goal 4, time over SHA-256 alone", ours / medians["SHA-256 alone"], 1.05, true);
  goal("goal 5, second key against first", ours / medians["chronq, second key"], 0.8);
  if (size === 1_048_576) goal("goal 6, text against bytes", ours / medians["chronq, text"], 0.65);
  console.log();
}
process.exitCode = missed === 0 ? 0 : 1;
