// The package as users install it: packed, installed into tiny projects, and run.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { packAll } from "../scripts/pack.mjs";
import { KEY, claimsFor, NOW, sign } from "../test/suites/signing.mjs";
import { listenWeb } from "../test/suites/web-server.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BIN = join(ROOT, "node_modules");
const folder = mkdtempSync(join(tmpdir(), "chronq-package-"));
let tarballs;

before(() => {
  tarballs = packAll(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", tarballs.main, tarballs.native], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
});
before(() => {
  cpSync(join(ROOT, "../examples/node"), join(folder, "examples"), { recursive: true });
  for (const framework of ["express", "fastify", "hono"]) symlinkSync(join(BIN, framework), join(folder, "node_modules", framework));
});
after(() => rmSync(folder, { recursive: true }));

const run = (...args) => execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });

function write(name, text) {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const SIGNATURE = sign(claimsFor("x"));
const USE = `
const receiver = new Receiver({ currentSigningKey: ${JSON.stringify(KEY)} });
const claims = receiver.verifySync({ signature: ${JSON.stringify(SIGNATURE)}, body: "x", now: ${NOW} });
const client = new Chronq({ url: "http://127.0.0.1:9", token: "chronq_fake", retry: false });
client.publish("https://app.example/", { retries: 101 }).catch((error: unknown) => {
  if (error instanceof InvalidInput) console.log(claims.key, error.option, SIGNATURE_HEADER);
});
`;
const NAMES = "{ Chronq, InvalidInput, Receiver, SIGNATURE_HEADER }";
const SAID = "current retries chronq-signature\n";

test("ESM", () => {
  assert.equal(run(write("use.mjs", `import ${NAMES} from "@chronq/sdk";\n${USE.replace(": unknown", "")}`)), SAID);
});

test("CommonJS", () => {
  assert.equal(run(write("use.cjs", `const ${NAMES} = require("@chronq/sdk");\n${USE.replace(": unknown", "")}`)), SAID);
});

test("each package brings its licences, and the main one its README", () => {
  const files = (tarball) => execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" });
  for (const tarball of Object.values(tarballs)) assert.match(files(tarball), /LICENSE-APACHE\n.*LICENSE-MIT\n/s);
  assert.match(files(tarballs.main), /README\.md\n/);
});

test("every entry loads as ESM and as CommonJS", () => {
  const entries = ["", "/testing", "/express", "/fastify", "/hono", "/next", "/sveltekit"].map((path) => `@chronq/sdk${path}`);
  const esm = entries.map((entry, index) => `import * as e${index} from "${entry}"; if (Object.keys(e${index}).length === 0) throw 0;`).join("\n");
  run(write("entries.mjs", esm));
  run(write("entries.cjs", entries.map((entry) => `if (Object.keys(require("${entry}")).length === 0) throw 0;`).join("\n")));
});

test("strict TypeScript, as ESM and as CommonJS, with results that can be exhausted", () => {
  const types = `
import type { CancelResult, Claims, Published } from "@chronq/sdk";
import { startServer } from "@chronq/sdk/testing";
import { verifyDeliveries as forExpress } from "@chronq/sdk/express";
import { verified as forNext } from "@chronq/sdk/next";
export const url: Promise<string> = startServer().then((server) => server.url);
export const middleware = forExpress({ receiver, publicUrl: null });
export const POST = forNext({ receiver, publicUrl: "https://app.example" }, (request: Request, delivery) => Response.json(delivery.claims));
export const published: Promise<Published> = client.publish("https://app.example/", { delay: { milliseconds: 5 }, queue: null });
export const all: Claims = claims;
export function say(result: CancelResult): string {
  switch (result.status) {
    case "cancelled": { const ok: true = result.ok; return result.txn + ok; }
    case "absent": { const ok: false = result.ok; void result.settle(); return String(ok); }
    case "too_late": return result.timerKey;
    default: { const never: never = result; return never; }
  }
}
// @ts-expect-error a bare number has no unit
void client.publish("https://app.example/", { delay: 5 });
// @ts-expect-error a typo is no option
void client.publish("https://app.example/", { retires: 5 });
// @ts-expect-error a parsed body is not raw
void receiver.verify({ signature: "", body: { n: 1 } });
`;
  const source = `import ${NAMES} from "@chronq/sdk";\n${USE}\n${types}`;
  write("types.mts", source);
  write("types.cts", source);
  write("tsconfig.json", JSON.stringify({
    compilerOptions: {
      module: "nodenext", target: "es2022", strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: false,
      types: ["node"], typeRoots: [join(BIN, "@types")],
    },
    files: ["types.mts", "types.cts"],
  }));
  run(join(BIN, "typescript/bin/tsc"), "-p", folder);
});

test("a bundle by esbuild", async () => {
  const source = write("bundle.mjs", `import ${NAMES} from "@chronq/sdk";\n${USE.replace(": unknown", "")}`);
  const outfile = join(folder, "bundle.cjs");
  await build({ entryPoints: [source], bundle: true, platform: "node", format: "cjs", outfile, logLevel: "error" });
  assert.equal(run(outfile), SAID);
});

test("several threads", () => {
  const worker = write("worker.mjs", `import ${NAMES} from "@chronq/sdk";\n${USE.replace(": unknown", "")}`);
  run(write("threads.mjs", `
import { Worker } from "node:worker_threads";
import { once } from "node:events";
import "@chronq/sdk";
const workers = Array.from({ length: 4 }, () => new Worker(${JSON.stringify(worker)}, { stdout: true }));
const codes = await Promise.all(workers.map(async (worker) => (await once(worker, "exit"))[0]));
if (codes.some((code) => code !== 0)) throw new Error(String(codes));
`));
});

test("publint and attw find nothing", () => {
  run(join(BIN, "publint/src/cli.js"), tarballs.main, "--strict");
  run(join(BIN, "@arethetypeswrong/cli/dist/index.js"), tarballs.main, "--no-color", "--profile", "node16");
});

test("the examples publish and receive", async (t) => {
  const { startServer } = await import("@chronq/sdk/testing");
  const server = await startServer();
  t.after(() => server.stop());
  const env = {
    PATH: process.env.PATH,
    CHRONQ_URL: server.url,
    CHRONQ_TOKEN: server.token,
    CHRONQ_CURRENT_SIGNING_KEY: server.signingKeys.currentSigningKey,
    PORT: "0",
    PUBLIC_URL: "http://public.example/hook",
  };
  const start = (file, ...args) => spawn(process.execPath, [join(folder, "examples", file), ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });

  const publisher = start("publish.mjs", server.inbox("example").url);
  const said = [];
  for await (const line of createInterface({ input: publisher.stdout })) said.push(line);
  assert.match(said[0], /^published \S+ into default$/);
  assert.equal(said[1], "delivered after 0 retries");

  const receiver = start("receiver.mjs");
  t.after(() => receiver.kill());
  const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
  const port = /^listening on port (\d+)$/.exec((await lines.next()).value)[1];
  const now = Math.floor(Date.now() / 1_000);
  const signature = sign(claimsFor("x", { sub: env.PUBLIC_URL, iat: now, nbf: now - 5, exp: now + 300 }), env.CHRONQ_CURRENT_SIGNING_KEY);
  const deliver = (body) => fetch(`http://127.0.0.1:${port}/hook`, { method: "POST", body, headers: { "chronq-signature": signature } });
  assert.equal((await deliver("x")).status, 204);
  assert.match((await lines.next()).value, /^delivered: /);
  assert.equal((await deliver("y")).status, 401);
  assert.match((await lines.next()).value, /^refused: the body is not the one that was signed/);
});

const PUBLIC_URL = "https://app.example/prefix";

async function takesVerifiedOrders(origin) {
  const target = "/hooks/orders?x=%20";
  const body = '{"orderId": 42}';
  const now = Math.floor(Date.now() / 1_000);
  const signature = sign(claimsFor(body, { sub: PUBLIC_URL + target, iat: now, nbf: now - 5, exp: now + 300, jti: "jwt_1" }));
  const post = async (headers, sent = body) => {
    const answer = await fetch(origin + target, { method: "POST", body: sent, headers: { "content-type": "application/json", ...headers } });
    return [answer.status, await answer.json()];
  };
  assert.deepEqual(await post({ "chronq-signature": signature }), [200, { attempt: "jwt_1", orderId: 42 }]);
  assert.deepEqual(await post({}), [401, { error: "signature_missing" }]);
  assert.deepEqual(await post({ "chronq-signature": signature }, '{"orderId": 43}'), [401, { error: "body_mismatch" }]);
}

for (const framework of ["express", "fastify"]) {
  test(`the example for ${framework} takes verified deliveries only`, async (t) => {
    const env = { PATH: process.env.PATH, CHRONQ_CURRENT_SIGNING_KEY: KEY, PUBLIC_URL, PORT: "0" };
    const app = spawn(process.execPath, [join(folder, "examples", `${framework}.mjs`)], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => app.kill());
    const lines = createInterface({ input: app.stdout })[Symbol.asyncIterator]();
    const port = /^listening on port (\d+)$/.exec((await lines.next()).value)[1];
    await takesVerifiedOrders(`http://127.0.0.1:${port}`);
  });
}

test("the example for hono takes verified deliveries only", async (t) => {
  Object.assign(process.env, { CHRONQ_CURRENT_SIGNING_KEY: KEY, PUBLIC_URL });
  t.after(() => {
    delete process.env.CHRONQ_CURRENT_SIGNING_KEY;
    delete process.env.PUBLIC_URL;
  });
  const { default: app } = await import(join(folder, "examples/hono.mjs"));
  await takesVerifiedOrders(await listenWeb(t, (request) => app.fetch(request)));
});

test("the example of a test passes", () => {
  // The runner that runs this file would have the inner one skip its own.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ["--test", "--test-reporter=tap", join("examples", "seven-days.test.mjs")];
  const said = execFileSync(process.execPath, args, { cwd: folder, env, encoding: "utf8" });
  assert.match(said, /^# pass 1$/m);
});
