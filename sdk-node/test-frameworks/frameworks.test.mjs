// The examples for Next.js and SvelteKit, built and served by their own servers, with the package as packed.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { packAll } from "../scripts/pack.mjs";
import { bodyClaim, claimsFor, KEY, sign } from "../test/suites/signing.mjs";

const ROOT = dirname(fileURLToPath(import.meta.url));
const EXAMPLES = join(ROOT, "../../examples");
// Below the folder of node_modules, as an app is.
const BUILD = join(ROOT, "dist");
const PUBLIC_URL = "https://app.example/prefix";
const BODY = '{"orderId": 42}';

const run = promisify(execFile);

before(async () => {
  const packed = mkdtempSync(join(tmpdir(), "chronq-packed-"));
  try {
    // What an install does with a tarball, without asking a registry for the other platforms.
    for (const tarball of Object.values(packAll(packed))) {
      const name = basename(tarball).replace(/^chronq-(.*)-\d+\.\d+\.\d+\.tgz$/, "$1");
      const folder = join(ROOT, "node_modules/@chronq", name);
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      await run("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
    }
  } finally {
    rmSync(packed, { recursive: true });
  }
  rmSync(BUILD, { recursive: true, force: true });
});

/** Copies an example to where it is built, and writes what is an app's own. */
function app(name, files = {}) {
  const folder = join(BUILD, name);
  cpSync(join(EXAMPLES, name), folder, { recursive: true });
  const manifest = { private: true, type: "module", dependencies: { "@chronq/sdk": "*" } };
  for (const [file, text] of Object.entries({ "package.json": JSON.stringify(manifest), ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

/** A build has no keys, and no public URL. */
const BARE = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" };

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a server, and waits until it says that it listens. */
async function serve(t, folder, command, port) {
  const env = { ...BARE, PORT: String(port), HOST: "127.0.0.1", CHRONQ_CURRENT_SIGNING_KEY: KEY, PUBLIC_URL };
  const child = spawn(process.execPath, command, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill());
  for await (const text of child.stdout.setEncoding("utf8")) {
    if (/Ready|Listening/.test(text)) return `http://127.0.0.1:${port}`;
  }
  return assert.fail("it ended before it listened");
}

function signed(target, body) {
  const now = Math.floor(Date.now() / 1_000);
  return sign(claimsFor(body, { sub: PUBLIC_URL + target, iat: now, nbf: now - 5, exp: now + 300, jti: "jwt_1", body: bodyClaim(body) }));
}

async function exercise(origin, hook) {
  const post = async (signature, { target = hook, body = BODY, type = "application/json" } = {}) => {
    const headers = { "content-type": type, ...(signature ? { "chronq-signature": signature } : {}) };
    const answer = await fetch(origin + target, { method: "POST", headers, body });
    const text = await answer.text();
    return [answer.status, text.startsWith("{") ? JSON.parse(text) : text];
  };
  const signature = signed(hook, BODY);
  assert.deepEqual(await post(signature), [200, { attempt: "jwt_1", orderId: 42 }]);
  assert.deepEqual(await post(signature, { type: "application/octet-stream" }), [200, { attempt: "jwt_1", orderId: 42 }]);
  assert.deepEqual(await post(null), [401, { error: "signature_missing" }]);
  assert.deepEqual(await post(signature, { body: '{"orderId": 43}' }), [401, { error: "body_mismatch" }]);
  assert.deepEqual(await post(signature, { target: `${hook}1` }), [401, { error: "url_mismatch" }]);
  return { post, signature };
}

test("Next.js", async (t) => {
  const folder = app("next");
  const next = join(ROOT, "node_modules/next/dist/bin/next");
  await run(process.execPath, [next, "build"], { cwd: folder, env: BARE });
  const port = await freePort();
  const origin = await serve(t, folder, [next, "start", "--hostname", "127.0.0.1", "--port", String(port)], port);
  const { post } = await exercise(origin, "/hooks?x=a%2Fb&y=+");
  // Next.js writes a query anew, `%20` as `+`, and hands no one what came.
  assert.deepEqual(await post(signed("/hooks?x=%20", BODY), { target: "/hooks?x=%20" }), [401, { error: "url_mismatch" }]);
});

test("SvelteKit", async (t) => {
  const folder = app("sveltekit", {
    "src/app.html": "<html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n",
    "svelte.config.js": 'import adapter from "@sveltejs/adapter-node";\nexport default { kit: { adapter: adapter() } };\n',
    "vite.config.js": 'import { sveltekit } from "@sveltejs/kit/vite";\nexport default { plugins: [sveltekit()] };\n',
  });
  await run(process.execPath, [join(ROOT, "node_modules/vite/bin/vite.js"), "build"], { cwd: folder, env: BARE });
  const { post, signature } = await exercise(await serve(t, folder, ["build/index.js"], await freePort()), "/hooks?x=%2f&y=%20");
  // SvelteKit's own guard against forgery across sites knows no sender but a browser.
  assert.equal((await post(signature, { type: "text/plain" }))[0], 403);
});
