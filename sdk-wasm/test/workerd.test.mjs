// The package in workerd, the runtime of Workers: the example as it would be deployed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import workerd from "workerd";

import { fakeServer } from "../../sdk-node/test/suites/fake-server.mjs";
import { bodyClaim, KEY, sign } from "../../sdk-node/test/suites/signing.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const EXAMPLE = join(ROOT, "../examples/edge/worker.mjs");
const PUBLIC_URL = "https://worker.example";

/** Bundles the example for workerd, and says how workerd is to load it. */
async function bundle(folder, env) {
  // As if the example stood in this package, which may import itself by name.
  const stdin = { contents: await readFile(EXAMPLE, "utf8"), resolveDir: ROOT, sourcefile: "worker.mjs" };
  await build({ stdin, bundle: true, format: "esm", conditions: ["workerd"], loader: { ".wasm": "copy" }, outfile: join(folder, "worker.mjs"), logLevel: "error" });
  const modules = (await readdir(folder)).filter((name) => name.endsWith(".wasm"));
  assert.equal(modules.length, 1, "one module, and no copy of it in the script");
  const bindings = Object.entries(env).map(([name, value]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)})`);
  await writeFile(join(folder, "config.capnp"), `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [
        (name = "worker", esModule = embed "worker.mjs"),
        (name = ${JSON.stringify(`./${modules[0]}`)}, wasm = embed ${JSON.stringify(modules[0])}),
      ],
      bindings = [${bindings.join(", ")}],
      compatibilityDate = "2025-01-01",
      globalOutbound = "loopback",
    )),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`);
}

async function serve(t, env) {
  const folder = await mkdtemp(join(tmpdir(), "chronq-workerd-"));
  t.after(() => rm(folder, { recursive: true }));
  await bundle(folder, env);
  const child = spawn(workerd.default ?? workerd, ["serve", "--control-fd=3", join(folder, "config.capnp")], { stdio: ["ignore", "inherit", "inherit", "pipe"] });
  t.after(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const event = JSON.parse(line);
    if (event.event === "listen") return `http://127.0.0.1:${event.port}`;
  }
  return assert.fail("workerd did not start");
}

function signed(target, body) {
  const now = Math.floor(Date.now() / 1_000);
  return sign({ iss: "chronq", sub: PUBLIC_URL + target, iat: now, nbf: now - 5, exp: now + 300, jti: "jwt_1", body: bodyClaim(body) });
}

test("the example worker verifies, publishes and refuses in workerd", async (t) => {
  const server = await fakeServer(t, (_, index) =>
    index === 0 ? { status: 503, body: { error: "try again" } } : { body: { messageId: "m1", queue: "default", deduplicated: false } });
  const origin = await serve(t, {
    CHRONQ_CURRENT_SIGNING_KEY: KEY,
    CHRONQ_URL: server.url,
    CHRONQ_TOKEN: "chronq_this-is-not-a-real-token",
    NEXT_DESTINATION: "https://app.example/next",
    PUBLIC_URL,
  });
  const deliver = (body, signature) =>
    fetch(`${origin}/orders?x=1`, { method: "POST", body, headers: signature ? { "chronq-signature": signature } : {} });

  const body = '{"orderId":42}';
  const accepted = await deliver(body, signed("/orders?x=1", body));
  assert.deepEqual([accepted.status, await accepted.json()], [200, { attempt: "jwt_1", published: "m1" }]);
  assert.equal(server.requests.length, 2, "a 503 is repeated at the edge too");
  assert.deepEqual([server.requests[1].target, server.requests[1].body], ["/v2/publish/https://app.example/next", '{"shipped":42}']);

  // Above the size from which the platform's digest is used.
  const large = JSON.stringify({ orderId: 43, padding: "x".repeat(200_000) });
  assert.equal((await deliver(large, signed("/orders?x=1", large))).status, 200);
  const cases = [
    [body, undefined, "signature_missing"],
    [body, signed("/other", body), "url_mismatch"],
    [`${body} `, signed("/orders?x=1", body), "body_mismatch"],
    [large.replace("43", "44"), signed("/orders?x=1", large), "body_mismatch"],
  ];
  for (const [sent, signature, code] of cases) {
    const refused = await deliver(sent, signature);
    assert.deepEqual([refused.status, await refused.json()], [401, { error: code }]);
  }
});
