// The package in a page of headless Chromium: as its files are, and as bundlers ship them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { chromium } from "playwright-core";

import { startServer } from "../../sdk-node/dist/esm/testing.js";
import { claimsFor, KEY, NOW, sign } from "../../sdk-node/test/suites/signing.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

const folder = mkdtempSync(join(tmpdir(), "chronq-browser-"));
const profile = mkdtempSync(join(tmpdir(), "chronq-chromium-"));
let browser;

before(async () => {
  const tarball = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", folder], { cwd: ROOT, encoding: "utf8" }));
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const { filename } = (Array.isArray(tarball) ? tarball : Object.values(tarball))[0];
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, filename)], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  browser = await chromium.launchPersistentContext(profile, { executablePath: "/usr/bin/chromium", args: FLAGS });
});
after(async () => {
  await browser?.close();
  for (const each of [folder, profile]) rmSync(each, { recursive: true, force: true });
});

/** Serves the folder; what is published to it is answered with 503 first. */
async function serve(t, modules) {
  const published = [];
  const page = (map, source) => `<!doctype html><script type="importmap">${JSON.stringify({ imports: map })}</script><script type="module">${source}</script>`;
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    if (request.method === "POST") {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      published.push([request.url, Buffer.concat(chunks).toString(), request.headers["chronq-deduplication-id"]]);
      const answer = published.length === 1 ? { error: "try again" } : { messageId: "m1", queue: "default", deduplicated: false };
      return response.writeHead(published.length === 1 ? 503 : 200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    }
    try {
      const body = pathname === "/" ? page(...modules) : readFileSync(join(folder, pathname));
      return response.writeHead(200, { "content-type": TYPES[extname(pathname)] ?? "text/html" }).end(body);
    } catch {
      return response.writeHead(404).end();
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}/`, published };
}

/** Opens the page, and answers with what it leaves in `window.seen`. */
async function seenBy(url) {
  const page = await browser.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  await page.goto(url);
  await page.waitForFunction(() => globalThis.seen !== undefined).catch((error) => assert.fail(`${error.message} ${faults.join(", ")}`));
  const seen = await page.evaluate(() => globalThis.seen);
  await page.close();
  return seen;
}

const verify = `
const receiver = new Receiver({ currentSigningKey: ${JSON.stringify(KEY)} });
const delivery = { signature: ${JSON.stringify(sign(claimsFor("x")))}, body: "x", now: ${NOW} };
const claims = await receiver.verify(delivery);
const refused = await receiver.verify({ ...delivery, body: "y" }).catch((error) => [error instanceof SignatureError, error.code]);
`;
const VERIFIED = { key: "current", refused: [true, "body_mismatch"] };

const publish = `
const client = new Chronq({ url: location.origin, token: "chronq_this-is-not-a-real-token", retry: { base: "1ms" } });
const published = await client.publish("https://app.example/hook?a=%20", { json: { n: 1 } });
`;

test("a page imports the files as they are, verifies, and publishes to a server of its own origin", async (t) => {
  const source = `import { Chronq, Receiver, SignatureError } from "@chronq/edge";${verify}${publish}
globalThis.seen = { key: claims.key, refused, published };`;
  const { url, published } = await serve(t, [{ "@chronq/edge": "/node_modules/@chronq/edge/dist/index.browser.js" }, source]);
  assert.deepEqual(await seenBy(url), { ...VERIFIED, published: { messageId: "m1", queue: "default", deduplicated: false } });
  assert.equal(published.length, 2, "a 503 is repeated in a browser too");
  assert.deepEqual(published[1].slice(0, 2), ["/v2/publish/https://app.example/hook?a=%20", '{"n":1}']);
  assert.equal(published[0][2], published[1][2], "under the same deduplication id");
});

test("a page imports the receiver alone", async (t) => {
  const source = `import { Receiver, SignatureError } from "@chronq/edge/receiver";${verify}globalThis.seen = { key: claims.key, refused };`;
  const { url } = await serve(t, [{ "@chronq/edge/receiver": "/node_modules/@chronq/edge/dist/receiver.browser.js" }, source]);
  assert.deepEqual(await seenBy(url), VERIFIED);
});

for (const entry of ["", "/receiver"]) {
  test(`esbuild bundles @chronq/edge${entry}/inline into one file`, async (t) => {
    const source = join(folder, "source.mjs");
    writeFileSync(source, `import { Receiver, SignatureError } from "@chronq/edge${entry}/inline";${verify}globalThis.seen = { key: claims.key, refused };`);
    await build({ entryPoints: [source], bundle: true, platform: "browser", format: "esm", outfile: join(folder, "bundle.js"), logLevel: "error" });
    const { url } = await serve(t, [{}, 'import "/bundle.js";']);
    assert.deepEqual(await seenBy(url), VERIFIED);
  });
}

test("a page of another origin cannot publish: the server grants it nothing", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const inbox = server.inbox("from-a-page");
  const source = `import { Chronq, Transport } from "@chronq/edge";
const client = new Chronq({ url: ${JSON.stringify(server.url)}, token: ${JSON.stringify(server.token)}, retry: false });
globalThis.seen = await client.publish(${JSON.stringify(inbox.url)}, { body: "x" }).catch((error) => [error instanceof Transport, error.code]);`;
  const { url } = await serve(t, [{ "@chronq/edge": "/node_modules/@chronq/edge/dist/index.browser.js" }, source]);
  assert.deepEqual(await seenBy(url), [true, "transport"]);
  assert.deepEqual(await inbox.requests(), []);
});
