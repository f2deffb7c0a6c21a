// The adapter of the edge package in workerd: starts a real one on a free port and hands it the questions.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

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

/** Starts workerd, and says on which port it listens. */
function start() {
  const program = require.resolve("workerd/bin/workerd");
  const child = spawn(program, ["serve", "--control-fd=3", join(folder, "config.capnp")], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const stop = () => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", stop);
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdio[3].on("data", (chunk) => {
      said += chunk;
      const port = /"port":(\d+)/.exec(said)?.[1];
      if (port) resolve(Number(port));
    });
    child.on("exit", (code) => reject(new Error(`workerd ended with ${code}`)));
  });
}

await bundle();
const port = await start();
await serve(async (question) => {
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: JSON.stringify(question) });
  return response.json();
});
process.exit(0);
