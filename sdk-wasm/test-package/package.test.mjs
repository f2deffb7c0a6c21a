// The package as users install it: packed, installed into tiny projects, and run in each runtime.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, sign as signEd25519 } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { claimsFor, KEY, NOW, sign } from "../../sdk-node/test/suites/signing.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const MODULES = join(ROOT, "node_modules");
const folder = mkdtempSync(join(tmpdir(), "chronq-package-"));
let tarball;

before(() => {
  execFileSync("npm", ["pack", "--pack-destination", folder], { cwd: ROOT, stdio: "ignore" });
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")));
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
});
after(() => rmSync(folder, { recursive: true }));

const run = (program, ...args) =>
  execFileSync(program, args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" } });

function write(name, text) {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const NAMES = "{ Chronq, InvalidInput, Receiver, SIGNATURE_HEADER }";
const pair = generateKeyPairSync("ed25519");
const PUBLIC_KEY = `whpk_${Buffer.from(pair.publicKey.export({ format: "jwk" }).x, "base64url").toString("base64")}`;
const WEBHOOK = {
  "webhook-id": "msg_1",
  "webhook-timestamp": String(NOW),
  "webhook-signature": `v1a,${signEd25519(null, Buffer.from(`msg_1.${NOW}.x`), pair.privateKey).toString("base64")}`,
};
const USE = `
const receiver = new Receiver({ currentSigningKey: ${JSON.stringify(KEY)} });
const claims = receiver.verifySync({ signature: ${JSON.stringify(sign(claimsFor("x")))}, body: "x", now: ${NOW} });
const client = new Chronq({ url: "http://127.0.0.1:9", token: "chronq_fake", retry: false });
client.publish("https://app.example/", { retries: 101 }).catch((error) => {
  if (error instanceof InvalidInput) console.log(claims.key, error.option, SIGNATURE_HEADER);
}).then(async () => {
  // Ed25519 is the platform's.
  const receiver = new Receiver({ dialect: "standard-webhooks", currentSigningKey: ${JSON.stringify(PUBLIC_KEY)} });
  const webhook = { headers: ${JSON.stringify(WEBHOOK)}, now: ${NOW} };
  console.log((await receiver.verifyHeaders({ ...webhook, body: "x" })).jti);
  await receiver.verifyHeaders({ ...webhook, body: "y" }).catch((error) => console.log(error.code));
});
`;
const ESM = `import ${NAMES} from "@chronq/edge";\n${USE}`;
const SAID = "current retries chronq-signature\nmsg_1\nsignature_mismatch\n";

test("Node, as ESM", () => {
  assert.equal(run(process.execPath, write("use.mjs", ESM)), SAID);
});

test("Node, required", () => {
  assert.equal(run(process.execPath, write("use.cjs", `const ${NAMES} = require("@chronq/edge");\n${USE}`)), SAID);
});

test("it brings its licences and its README", () => {
  const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" });
  for (const name of ["LICENSE-APACHE", "LICENSE-MIT", "README.md"]) assert.ok(files.includes(`package/${name}\n`), name);
});

test("strict TypeScript takes every entry", () => {
  write("types.mts", `
import { Chronq, Receiver, type Claims, type Published } from "@chronq/edge";
import { Receiver as Alone } from "@chronq/edge/receiver";
import { Receiver as Inline } from "@chronq/edge/inline";
import { Receiver as AloneInline } from "@chronq/edge/receiver/inline";
import { verified } from "@chronq/edge/workers";
interface Env { readonly KEY: string }
export default {
  fetch: verified((env: Env) => ({ receiver: new Receiver({ currentSigningKey: env.KEY }), publicUrl: null }),
    (request, delivery) => Response.json(delivery.claims)),
};
export const published: Promise<Published> = new Chronq().publish("https://app.example/", { json: 1 });
export const claims: Claims[] = [Receiver, Alone, Inline, AloneInline].map((each) => new each().verifySync({ signature: "", body: "" }));
`);
  write("tsconfig.json", JSON.stringify({
    compilerOptions: { module: "nodenext", target: "es2022", lib: ["es2023", "dom", "dom.iterable"], types: [], strict: true, exactOptionalPropertyTypes: true, noEmit: true },
    files: ["types.mts"],
  }));
  run(process.execPath, join(MODULES, "typescript/bin/tsc"), "-p", folder);
});

test("every entry loads", () => {
  const entries = ["", "/receiver", "/inline", "/receiver/inline", "/workers", "/hono", "/next", "/sveltekit"].map((path) => `@chronq/edge${path}`);
  run(process.execPath, write("entries.mjs", entries.map((entry, index) => `import * as e${index} from "${entry}"; if (Object.keys(e${index}).length === 0) throw 0;`).join("\n")));
});

test("a bundle by esbuild for no runtime in particular", async () => {
  const outfile = join(folder, "bundle.mjs");
  await build({ entryPoints: [write("bundled.mjs", ESM)], bundle: true, platform: "neutral", format: "esm", conditions: ["import"], outfile, logLevel: "error" });
  assert.equal(run(process.execPath, outfile), SAID);
});

for (const [runtime, args] of [["deno", ["run", "--allow-env", "--no-lock", "--node-modules-dir=manual"]], ["bun", ["run"]]]) {
  const program = join(MODULES, ".bin", runtime);
  test(runtime, { skip: !existsSync(program) }, () => {
    assert.equal(run(program, ...args, write(`use.${runtime}.mjs`, ESM)), SAID);
  });
}

test("publint and attw find nothing", () => {
  run(process.execPath, join(MODULES, "publint/src/cli.js"), tarball, "--strict");
  run(process.execPath, join(MODULES, "@arethetypeswrong/cli/dist/index.js"), tarball, "--no-color", "--profile", "esm-only");
});
