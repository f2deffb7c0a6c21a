// The adapter of the edge package in workerd: starts a real one on a free port and hands it the questions.

import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { serveFolder } from "../../sdk-wasm/test/workerd-process.mjs";
import { serve } from "./lines.mjs";

const here = dirname(fileURLToPath(import.meta.url));
// workerd and the bundler are the package's own.
const require = createRequire(join(here, "../../sdk-wasm/package.json"));
const folder = mkdtempSync(join(tmpdir(), "chronq-workerd-"));

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "workerd_worker.js"),
    (name = "chronq_bg.wasm", wasm = embed "chronq_bg.wasm"),
  ],
  compatibilityDate = "2026-01-01",
);
`;

async function bundle() {
  await require("esbuild").build({
    entryPoints: [join(here, "workerd_worker.mjs")],
    outdir: folder,
    bundle: true,
    format: "esm",
    target: "es2022",
    loader: { ".wasm": "copy" },
    assetNames: "[name]",
    logLevel: "error",
  });
  writeFileSync(join(folder, "config.capnp"), CONFIG);
}

await bundle();
const { port, stop } = await serveFolder(require.resolve("workerd/bin/workerd"), folder);
await serve(async (question) => {
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: JSON.stringify(question) });
  return response.json();
});
await stop();
process.exit(0);
