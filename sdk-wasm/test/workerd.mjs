// Starts a worker in workerd, bundled as it would be deployed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import workerd from "workerd";

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
  const child = spawn(workerd.default ?? workerd, ["serve", "--control-fd=3", join(folder, "config.capnp")], { stdio: ["ignore", "inherit", "inherit", "pipe"] });
  const stop = async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await rm(folder, { recursive: true });
  };
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const event = JSON.parse(line);
    if (event.event === "listen") return { origin: `http://127.0.0.1:${event.port}`, stop };
  }
  await stop();
  throw new Error("workerd ended before it listened");
}
