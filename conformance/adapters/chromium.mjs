// The adapter of the edge package in Chromium: a page that fetches its questions one by one and posts the answers.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

import { serve } from "./lines.mjs";

const tree = join(dirname(fileURLToPath(import.meta.url)), "../..");
const PAGE = `<!doctype html><script type="module" src="/conformance/adapters/chromium_page.mjs"></script>`;
// An adapter is killed when it is no longer needed: the guard's standard input closes with it, and then the
// browser is ended and its profile removed.
const GUARD = `
profile=$1
shift
"$@" </dev/null >/dev/null 2>&1 &
child=$!
cat >/dev/null
kill -KILL "$child"
wait "$child" 2>/dev/null
rm -rf "$profile"
`;
const SERVED = ["/conformance/adapters/", "/sdk-wasm/dist/", "/sdk-wasm/wasm/"];
const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };

/** Where the page's next request for a question is answered, and who waits for its answer. */
let asked = deferred();
let answered = deferred();

function deferred() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const server = createServer(async (request, response) => {
  const path = new URL(request.url, "http://page").pathname;
  if (path === "/") return response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
  if (path === "/question") return asked.resolve(response);
  if (path === "/answer") {
    answered.resolve(JSON.parse((await buffer(request)).toString()));
    return response.writeHead(204).end();
  }
  if (!SERVED.some((folder) => path.startsWith(folder))) return response.writeHead(404).end();
  try {
    response.writeHead(200, { "content-type": TYPES[extname(path)] }).end(readFileSync(join(tree, path)));
  } catch {
    response.writeHead(404).end();
  }
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

const profile = mkdtempSync(join(tmpdir(), "chronq-chromium-"));
// Without web security, a page may call the scripted server as any other client does.
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-web-security"];
const page = `http://127.0.0.1:${server.address().port}/`;
const browser = ["chromium", ...flags, `--user-data-dir=${profile}`, page];
const guard = spawn("sh", ["-c", GUARD, "chromium-guard", profile, ...browser], {
  stdio: ["pipe", "ignore", "inherit"],
  detached: true,
});

await serve(async (question) => {
  const response = await asked.promise;
  asked = deferred();
  answered = deferred();
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(question));
  return answered.promise;
});
guard.stdin.end();
await once(guard, "exit");
process.exit(0);
