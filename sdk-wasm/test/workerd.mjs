// Starts a worker in workerd, bundled as it would be deployed.

import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import workerd from "workerd";

import { serveFolder } from "./workerd-process.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Bundles a worker for workerd, and says how workerd is to load it. */
async function bundle(source, folder, env) {
  const inside = source.startsWith(ROOT);
  // What stands elsewhere is bundled as if it stood in this package, which may import itself by name.
  const entry = inside
    ? { entryPoints: [source] }
    : { stdin: { contents: await readFile(source, "utf8"), resolveDir: ROOT, sourcefile: "worker.mjs" } };
  await build({ ...entry, bundle: true, format: "esm", conditions: ["workerd"], loader: { ".wasm": "copy" }, outfile: join(folder, "worker.mjs"), logLevel: "error" });
  const modules = (await readdir(folder)).filter((name) => name.endsWith(".wasm"));
  if (modules.length !== 1) throw new Error(`one module was expected beside the script, not ${modules.length}`);
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

/** Starts it on a free port. */
export async function startWorker(source, env) {
  const folder = await mkdtemp(join(tmpdir(), "chronq-workerd-"));
  await bundle(source, folder, env);
  const { port, stop } = await serveFolder(workerd.default ?? workerd, folder);
  return { origin: `http://127.0.0.1:${port}`, stop };
}
